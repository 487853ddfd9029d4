"""Quotation marks in large CSV files: whether cells with the same content are all written alike.

Whoever reads the bytes of a file tells `"x"` from `x` and `""` from nothing, though every reader of tables takes the
two for the same. They are alike here where a column's marks follow from what the cells hold: all of its cells have
them, or those alone that could not be read without. A column of which that is not so is left to memory, where each
cell's way of being written is kept beside it.
"""

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from shoal.table.files.csv_text import MISSING_AMONG_NUMBERS
from shoal.vocabulary.errors import FileError, quoted

PIECE = 2 << 20
"""Characters that are looked at together."""

IN_MEMORY = "That is judged only where one file is held whole (exact: true in the plan)."


@dataclass(slots=True)
class Marks:
    """Kinds of cells of one column that were seen with quotation marks, and without."""

    # marked, bare: among `cell`, `empty` and the ways to write a missing cell of numbers
    marked: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)

    @property
    def tell(self) -> bool:
        """True if two cells may differ in their marks alone."""
        return bool(self.marked & self.bare)


def refuse_marks_that_tell(files: Sequence[Path], names: Sequence[str], delimiter: str) -> None:
    """Refuse files in which two cells of a column may differ in their quotation marks alone.

    Raises FileError naming the columns.
    """
    columns = [Marks() for _ in names]
    for path in files:
        if _has_marks(path):
            header = True
            for piece in _pieces(path):
                _look(piece, columns, delimiter, path, header=header)
                header = False
        else:
            _look_unmarked(columns)
    if several := [name for name, marks in zip(names, columns) if marks.tell]:
        raise FileError(
            f"The files write some cells of {quoted(several)} with quotation marks and others without, by which "
            f"records can be told apart. {IN_MEMORY}"
        )


def _has_marks(path: Path) -> bool:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while piece := file.read(PIECE):
            if b'"' in piece:
                return True
    return False


def _look_unmarked(columns: Sequence[Marks]) -> None:
    """A file without any mark: whatever its cells are, they are bare."""
    for marks in columns:
        marks.bare |= {"cell", "empty", *MISSING_AMONG_NUMBERS}


def _pieces(path: Path) -> Iterator[str]:
    """The text of a file, cut where a record ends."""
    kept = ""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        while text := str(file.read(PIECE)):
            kept += text
            end = _last_end(kept)
            if end:
                yield kept[:end]
                kept = kept[end:]
    if kept := kept.rstrip("\r\n"):
        yield kept + "\n"


def _last_end(text: str) -> int:
    """End of the last record: behind a line's end that an even number of quotation marks stands before."""
    count, end = text.count('"'), len(text)
    while (line := text.rfind("\n", 0, end)) >= 0:
        count -= text.count('"', line, end)
        if count % 2 == 0:
            return line + 1
        end = line
    return 0


def _look(text: str, columns: Sequence[Marks], delimiter: str, path: Path, *, header: bool) -> None:
    """Note what some records are written like."""
    mark = re.escape(delimiter)
    cell = rf'(?:(")((?:[^"]++|"")*+)"(?=[{mark}\r\n])|([^{mark}\n"]*))(?:{mark}|\r?\n)'
    cells, end = [], 0
    for match in re.finditer(cell, text):
        if match.start() != end:
            break
        cells.append(match.groups(default=""))
        end = match.end()
    if end != len(text) or len(cells) % len(columns):
        raise FileError(
            f"File '{path}' has quotation marks inside cells without them, or empty lines, so that its cells cannot be "
            f"told apart in parts. {IN_MEMORY}"
        )
    frame = pl.DataFrame(cells[len(columns) * header :], schema=["mark", "inside", "bare"], orient="row")
    written = pl.col("inside") + pl.col("bare").str.strip_chars_end("\r")
    needed = pl.col("inside").str.contains(rf'[{mark}"\r\n]')
    kind = (
        pl.when(written == "")
        .then(pl.lit("empty"))
        .when(written.is_in(MISSING_AMONG_NUMBERS))
        .then(written)
        .when(needed)
        .then(None)
        .otherwise(pl.lit("cell"))
    )
    place = (pl.int_range(pl.len()) % len(columns)).alias("place")
    seen = frame.select(place, (pl.col("mark") != "").alias("marked"), kind.alias("kind")).unique().drop_nulls()
    for number, marked, what in seen.rows():
        (columns[number].marked if marked else columns[number].bare).add(what)
