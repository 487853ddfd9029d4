"""CSV: delimiter and encoding found out, codes kept as they are written, numbers exact both ways."""

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

import polars as pl

from shoal.errors import DataError, FileError, not_unique, plural, quoted

DELIMITERS = ",;\t|"
NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d\x00")
MISSING_AMONG_NUMBERS = ("NA", "NaN", "nan", "NULL", "null", ".")
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?[Ii]nf(inity)?$"
WRITTEN_CODE = r"^[+-]?0\d"
"""Numbers do not start with a spare zero; such a column holds codes."""
DECIMAL_COMMA = r"^[+-]?\d*,?\d+$"
DATE = r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([ T]\d{1,2}:\d{2}.*)?$"
FORMULA_STARTS = r"^[=+\-@\t\r]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str

    def __str__(self) -> str:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
        return f"{names.get(self.delimiter, self.delimiter)}-separated, {self.encoding}"


def read_csv(
    path: Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    apart: Collection[str] = (),
) -> tuple[pl.DataFrame, Dialect]:
    """Read a CSV file with a header row, compressed by gzip or not.

    Columns become integers, floats or ISO dates only where every cell is one; numbers written with a leading
    zero are codes and stay text. Blank lines at the end count for nothing.

    Raises
    ------
    FileError
        If the file is empty, its encoding cannot be told, or a record has more or fewer cells than the header.
    DataError
        If a column has no name, or the name of another.
    """
    if delimiter and (len(delimiter.encode()) > 1 or delimiter in '"\r\n'):
        raise FileError("A delimiter must be one plain character, as in --delimiter ';'; no quote and no line break.")
    if decimal not in (".", ","):
        raise FileError(f"The decimal mark must be '.' or ','; got {decimal!r}.")
    text, encoding = _decode(_content(path), encoding, path)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # how old Macintosh programs end lines
    delimiter = delimiter or max(DELIMITERS, key=text.partition("\n")[0].count)
    names = _names(text, delimiter, path)
    if len(names) > 1:
        text = text.rstrip("\r\n")
    frame = _cells(text, names, delimiter, path)
    if decimal == ",":
        frame = frame.with_columns(_with_points(column) for column in frame)
    typed = [_kept_apart(column) if column.name in apart else _typed(column) for column in frame]
    return frame.with_columns(typed), Dialect(delimiter=delimiter, encoding=encoding)


def _content(path: Path) -> bytes:
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise FileError(f"File '{path}' is no whole gzip file. Compress it again.") from None
    if not raw.strip():
        raise FileError(f"File '{path}' is empty. A table needs a header row and records.")
    return raw


def _names(text: str, delimiter: str, path: Path) -> list[str]:
    """The names of the header row."""
    try:
        names = next(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        raise FileError(f"File '{path}' has quotation marks in its header row that do not pair. Mend them.") from None
    numbers = [name for name in names if re.match(NUMBER, name.strip())]
    if names and (len(numbers) == len(names) or any("." in number for number in numbers)):
        raise FileError(f"File '{path}' has numbers where names of columns are expected. Put a header row first.")
    if "" in names or not names:
        raise DataError(
            f"Column {names.index('') + 1 if names else 1} of file '{path}' has no name (R writes row "
            f"numbers into such a column). Name it in the header row, or take it out."
        )
    if repeated := sorted(name for name, times in Counter(names).items() if times > 1):
        raise DataError(not_unique(repeated))
    return names


def _cells(text: str, names: list[str], delimiter: str, path: Path) -> pl.DataFrame:
    """All cells as text, missing where they are empty; every record must be as wide as the header."""
    try:
        frame = pl.read_csv(BytesIO(text.encode()), separator=delimiter, infer_schema=False, null_values=[""])
        suspect = frame.columns != names or (len(names) > 1 and (frame.is_empty() or frame[names[-1]].has_nulls()))
    except pl.exceptions.PolarsError:
        frame, suspect = pl.DataFrame(), True
    if not suspect:
        return frame
    rows = list(_rows(text, len(names), delimiter, path))  # slower, and tells what is wrong where
    if len(frame) == len(rows) and frame.columns == names:
        return frame
    columns = {name: [row[j] or None for row in rows] for j, name in enumerate(names)}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _rows(text: str, width: int, delimiter: str, path: Path) -> Iterator[list[str]]:
    """The records, each checked against the header's width."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, row in enumerate(reader):
            row = row if row or width > 1 else [""]  # a blank line is an empty cell of a table with one column
            if len(row) != width:
                raise FileError(
                    f"Record {number:,} of file '{path}' (line {reader.line_num:,}) has "
                    f"{plural(len(row), 'cell')} where the header has {width}. Mend it, or name the "
                    f"delimiter if it is not {delimiter!r}."
                )
            if number:
                yield row
    except csv.Error:
        raise FileError(
            f"File '{path}' has quotation marks that do not pair, from record {number + 1:,} on. Mend them."
        ) from None


def _decode(raw: bytes, encoding: str | None, path: Path) -> tuple[str, str]:
    guesses = [encoding] if encoding else _likely_encodings(raw)
    for guess in guesses:
        try:
            codecs.lookup(guess)
            return raw.decode(guess), guess
        except LookupError:
            raise FileError(
                f"There is no encoding '{guess}'. Known are utf-8, utf-16, windows-1252, latin-1 and all "
                f"others that Python has."
            ) from None
        except UnicodeError:
            continue
    raise FileError(f"File '{path}' cannot be read as text ({quoted(guesses)} tried). Name its encoding.")


def _likely_encodings(raw: bytes) -> list[str]:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ["utf-16"]
    return ["utf-8-sig"] if NOT_IN_WINDOWS_1252 & set(raw) else ["utf-8-sig", "windows-1252"]


def doubts(frame: pl.DataFrame) -> dict[str, str]:
    """For each column of text that may have been meant otherwise, one sentence that says so and what to do."""
    doubts = {column.name: _doubt(column) for column in frame if column.dtype == pl.String}
    return {name: f"Column '{name}' {doubt}" for name, doubt in doubts.items() if doubt}


def _doubt(column: pl.Series) -> str:
    known = column.drop_nulls()
    numbers = known.str.contains(NUMBER)
    others = len(known) - int(numbers.sum())
    if 0 < others < len(known) / 2:
        first = int((~column.str.contains(NUMBER).fill_null(True)).arg_true()[0]) + 1
        return (
            f"is read as text, because {others:,} of {plural(len(known), 'cell')} "
            f"{'is no number' if others == 1 else 'are no numbers'} (the first in record {first:,}). Mend what is "
            f"wrong, leave missing values empty, or say level: nominal in the plan if these are codes."
        )
    if len(known) and known.str.contains(",", literal=True).any() and known.str.contains(DECIMAL_COMMA).all():
        return "holds numbers with a comma and is read as text. Read the file with decimal ',' if that is what it is."
    if len(known) and known.str.contains(DATE).all():
        return "looks like dates and is read as text, because only dates written YYYY-MM-DD are read as such."
    return ""


def _kept_apart(column: pl.Series) -> pl.Series:
    typed = _typed(column)
    return typed if typed.n_unique() == column.n_unique() else column


def _with_points(column: pl.Series) -> pl.Series:
    """A column of numbers with a decimal comma, or of marks for missing values, with points instead."""
    known = column.drop_nulls()
    numbers = known.str.contains(DECIMAL_COMMA) | known.str.contains(NUMBER) | known.is_in(MISSING_AMONG_NUMBERS)
    return column.str.replace(",", ".", literal=True) if numbers.all() else column


def _typed(column: pl.Series) -> pl.Series:
    bare = column.str.strip_chars(" ")
    if (bare.drop_nulls().str.contains(NUMBER) | bare.drop_nulls().is_in(MISSING_AMONG_NUMBERS)).all():
        column = bare  # blanks around numbers mean nothing
    known = column.drop_nulls()
    numbers = known.str.contains(NUMBER)
    if len(known) and not numbers.all():
        others = known.filter(~numbers)
        if numbers.any() and others.is_in(MISSING_AMONG_NUMBERS).all():
            column = column.replace(dict.fromkeys(MISSING_AMONG_NUMBERS))
            known = column.drop_nulls()
        elif known.str.contains(r"^\d{4}-\d{2}-\d{2}$").all():
            dates = column.str.to_date("%Y-%m-%d", strict=False)
            return dates if dates.null_count() == column.null_count() else column
        else:
            return column
    if not len(known) or known.str.contains(WRITTEN_CODE).any():
        return column
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole
    if known.str.contains(r"^[+-]?\d{19,}$").any():
        return column  # codes too long to be numbers
    return column.cast(pl.Float64)


def write_csv(frame: pl.DataFrame, path: Path, *, guard_formulas: bool) -> None:
    """Comma-separated UTF-8; floats in the shortest form that reads back as the same number."""
    frame.pipe(escape_formulas if guard_formulas else _unchanged).write_csv(path)


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it."""

    def safe(text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.contains(FORMULA_STARTS)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)

    if wrong := [name for name in frame.columns if re.match(FORMULA_STARTS, name)]:
        raise DataError(f"guard_formulas: a spreadsheet would run the names {quoted(wrong)} as formulas. Rename them.")
    texts = [c.name for c in frame if c.dtype in (pl.String, pl.Categorical, pl.Enum)]
    return frame.with_columns(safe(pl.col(name).cast(pl.String)).alias(name) for name in texts)


def _unchanged(frame: pl.DataFrame) -> pl.DataFrame:
    return frame
