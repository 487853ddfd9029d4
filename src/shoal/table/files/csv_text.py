"""CSV: detection of delimiter and encoding, with codes kept as text and numbers exact both ways."""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from shoal.table.files.doubts import DECIMAL_COMMA, FORMULA_STARTS, NUMBER, doubts
from shoal.table.files.spelling import spellings
from shoal.table.files.table import Table
from shoal.vocabulary.errors import DataError, FileError, plural, quoted, refuse_repeated

DELIMITERS = ",;\t|"
NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d\x00")
MISSING_AMONG_NUMBERS = ("NA", "NaN", "nan", "NULL", "null", ".")
WRITTEN_CODE = r"^[+-]?0\d"
"""Start of a code: numbers have no leading zero, so a column with one holds codes."""
TOO_LONG = r"^[+-]?\d{19,}$"
"""Integers of 19 digits or more; a column with one holds codes, too, unless all fit into 64 bits."""
DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d"
FRACTIONS = {"": "", r"\.\d{3}": "%.3f", r"\.\d{6}": "%.6f"}
STAMPS = {f"{DAY} {CLOCK}{form}": f"%Y-%m-%d %H:%M:%S{written}" for form, written in FRACTIONS.items()}
"""Date-times as pandas and databases write them, with the format string of each.

To the second, or to the millisecond or microsecond if needed.
"""

LOCAL = {form.replace(" ", "T"): written for form, written in STAMPS.items()}
"""The same with a T between, as ISO 8601 writes local times, each with the format in which it is written back."""

IN_UTC = {f"{DAY}T{CLOCK}{form}Z": f"%Y-%m-%dT%H:%M:%S{written}Z" for form, written in FRACTIONS.items()}
"""The same in Coordinated Universal Time, as ISO 8601 and exchanges of health records write them."""

UTC = "UTC"
"""The one time zone of times in a text file: any other would shift hours, or lose the offset that was written."""

MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""Names of the delimiters."""


def read_csv(
    path: Path, delimiter: str | None = None, encoding: str | None = None, decimal: str = ".", *, judged: bool = False
) -> Table:
    """Read a CSV file with a header row, compressed by gzip or not.

    Columns become integers, floats, ISO dates or date-times (2024-01-31 12:30:00, or 2024-01-31T12:30:00Z in UTC) only
    where every cell is one, and are written back in that form. Local times with a T between are written back with a
    blank. Times with another offset stay text, so that no hour shifts. Numbers written with a leading zero are codes
    and stay text. Blank lines at the end count for nothing.

    Raises FileError if the file is empty, its encoding cannot be told, or a record has more or fewer cells than the
    header; DataError if a column has no name, or the name of another.
    """
    if delimiter and (len(delimiter.encode()) > 1 or delimiter in '"\r\n'):
        raise FileError("A delimiter must be one plain character, as in --delimiter ';'; no quote and no line break.")
    if decimal not in (".", ","):
        raise FileError(f"The decimal mark must be '.' or ','; got {decimal!r}.")
    text, encoding = _decode(_content(path), encoding, path)
    if not text.strip():
        raise FileError(f"File '{path}' is empty. A table needs a header row and records.")
    if "\n" not in text:
        text = text.replace("\r", "\n")  # how old Macintosh programs end lines
    delimiter = delimiter or max(DELIMITERS, key=text.partition("\n")[0].count)
    names = header_names(StringIO(text, newline=""), delimiter, path)
    if len(names) > 1:
        text = text.rstrip("\r\n")
    frame = _cells(text, names, delimiter, path)
    cells = frame.with_columns(_with_points(column) for column in frame) if decimal == "," else frame
    cells = cells.with_columns(_typed(column) for column in cells)
    return Table(
        frame=cells,
        described=f"{MARKS.get(delimiter, delimiter)}-separated, {encoding}",
        types_from_cells=True,
        notes=doubts(cells),
        spellings=spellings(cells, _as_written(frame, text, delimiter, path)) if judged else {},
    )


def _as_written(frame: pl.DataFrame, text: str, delimiter: str, path: Path) -> pl.DataFrame:
    """The cells as text as they stand in the file, with a quotation mark before those that are quoted."""
    if '"' not in text or frame.is_empty():
        return frame
    mark = re.escape(delimiter)
    cell = rf'(?:(")(?:[^"]++|"")*+"(?=[{mark}\r\n])|[^{mark}\n]*)(?:{mark}|\n)'
    quotes = re.findall(cell, text if text.endswith("\n") else text + "\n")
    if len(quotes) != (len(frame) + 1) * frame.width:
        raise FileError(
            f"File '{path}' has quotation marks that do not pair, so that its cells cannot be told apart. Mend them."
        )
    quoted_cells = np.array(quotes).reshape(-1, frame.width)[1:] == '"'
    return frame.with_columns(
        pl.when(pl.Series(quoted_cells[:, j]))
        .then(pl.concat_str(pl.lit('"'), pl.col(name).fill_null("")))
        .otherwise(name)
        .alias(name)
        for j, name in enumerate(frame.columns)
        if quoted_cells[:, j].any()
    )


def _content(path: Path) -> bytes:
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise FileError(f"File '{path}' is no whole gzip file. Compress it again.") from None
    return raw


def header_names(lines: Iterable[str], delimiter: str, path: Path) -> list[str]:
    """The column names in the first record of a CSV file.

    Raises FileError if it cannot be read, or holds numbers; DataError if a column has no name, or a name occurs twice.
    """
    try:
        names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
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
    refuse_repeated(names)
    return names


def _cells(text: str, names: list[str], delimiter: str, path: Path) -> pl.DataFrame:
    """All cells as text, missing where they are empty. Raises FileError if a record is not as wide as the header."""
    try:
        frame = pl.read_csv(BytesIO(text.encode()), separator=delimiter, infer_schema=False, null_values=[""])
        suspect = (
            frame.columns != names
            or frame.is_empty()
            or (len(names) > 1 and frame[names[-1]].has_nulls())
            or text.endswith(delimiter)  # polars drops what follows it
            or ('"' in text and len(frame) != _records(text, delimiter))  # or lines, after an odd quotation mark
        )
    except (pl.exceptions.PolarsError, csv.Error):
        frame, suspect = pl.DataFrame(), True
    if not suspect:
        return frame
    rows = list(_rows(text, len(names), delimiter, path))  # slower, and tells what is wrong where
    if len(frame) == len(rows) and frame.columns == names:
        return frame
    columns = {name: [row[j] or None for row in rows] for j, name in enumerate(names)}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _records(text: str, delimiter: str) -> int:
    """Number of records, counted by Python's own reader."""
    return sum(1 for _ in csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)) - 1


def _rows(text: str, width: int, delimiter: str, path: Path) -> Iterator[list[str]]:
    """The records. Raises FileError if one is not as wide as the header."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a long cell is no unpaired quotation mark
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
    tried: list[str] = []
    for guess in [encoding] if encoding else _likely_encodings(raw):
        tried.append(guess)
        try:
            codecs.lookup(guess)
            text = raw.decode(guess)
        except LookupError:
            raise FileError(
                f"There is no encoding '{guess}'. Choose utf-8, utf-16, windows-1252, latin-1 or any "
                f"other that Python has."
            ) from None
        except UnicodeError:
            continue
        if "\0" not in text.partition("\n")[0]:  # as letters of two bytes look where one is expected
            return text, guess
    raise FileError(f"File '{path}' cannot be read as text ({quoted(tried)} tried). Name its encoding.")


def _likely_encodings(raw: bytes) -> Iterator[str]:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield "utf-16"
        return
    yield "utf-8-sig"
    if not any(byte in raw for byte in NOT_IN_WINDOWS_1252):  # a look at all bytes, only where they are not UTF-8
        yield "windows-1252"


def _with_points(column: pl.Series) -> pl.Series:
    """A column of numbers with decimal commas (or marks for missing values) with points instead."""
    present = column.drop_nulls()
    numbers = present.str.contains(DECIMAL_COMMA) | present.str.contains(NUMBER) | present.is_in(MISSING_AMONG_NUMBERS)
    return column.str.replace(",", ".", literal=True) if numbers.all() else column


def _typed(column: pl.Series) -> pl.Series:
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count() < len(column):  # as most columns are that are many
        return column if column.str.contains(WRITTEN_CODE).any() else whole
    bare = column.str.strip_chars(" ")
    present = bare.drop_nulls()
    numbers = present.str.contains(NUMBER)
    if numbers.any() and (numbers | present.is_in(MISSING_AMONG_NUMBERS)).all():
        column = bare  # blanks around numbers mean nothing
    present = column.drop_nulls()
    numbers = present.str.contains(NUMBER)
    if len(present) and not numbers.all():
        others = present.filter(~numbers)
        if numbers.any() and others.is_in(MISSING_AMONG_NUMBERS).all():
            column = column.replace(dict.fromkeys(MISSING_AMONG_NUMBERS))
            present = column.drop_nulls()
        else:
            return _dated(column, present)
    if not len(present) or present.str.contains(WRITTEN_CODE).any():
        return column
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole
    return column if present.str.contains(TOO_LONG).any() else column.cast(pl.Float64)


def _dated(column: pl.Series, present: pl.Series) -> pl.Series:
    """A text column as dates or date-times; unchanged unless every cell is one and would be written back the same."""
    if present.str.contains(rf"^{DAY}$").all():
        dates = column.str.to_date("%Y-%m-%d", strict=False)
        return dates if dates.null_count() == column.null_count() else column
    for form, written in (STAMPS | LOCAL | IN_UTC).items():
        if present.str.contains(rf"^{form}$").all():
            blank = column.str.replace("T", " ", literal=True) if form in LOCAL else column
            dates = blank.str.to_datetime(written, strict=False, time_unit="us")
            dates = dates.dt.replace_time_zone(UTC if form in IN_UTC else None)
            return dates if dates.null_count() == column.null_count() and _form_of(dates) == written else column
    return column


def write_csv(frame: pl.DataFrame, file: Path | IO[bytes], *, guard_formulas: bool, header: bool = True) -> None:
    """Comma-separated UTF-8; floats in the shortest form that reads back as the same number.

    A missing cell of a sole column is written in quotes, as many programs skip blank lines.
    """
    written = with_stamps(frame)
    (escape_formulas(written) if guard_formulas else written).write_csv(
        file, include_header=header, null_value='""' if frame.width == 1 else ""
    )


def with_stamps(frame: pl.DataFrame, *, only_in_utc: bool = False) -> pl.DataFrame:
    """Date-times without a time zone, and those in UTC, as text in the format in which they are read back."""
    zones = (UTC,) if only_in_utc else (None, UTC)
    stamps = [column for column in frame if isinstance(column.dtype, pl.Datetime) and _zone(column) in zones]
    return frame.with_columns(column.dt.to_string(_form_of(column)) for column in stamps)


def _zone(stamps: pl.Series) -> str | None:
    return stamps.dtype.time_zone if isinstance(stamps.dtype, pl.Datetime) else None


def _form_of(stamps: pl.Series) -> str:
    """The coarsest format that loses nothing of a column."""
    parts = stamps.dt.microsecond()
    seconds, milliseconds, microseconds = (IN_UTC if _zone(stamps) == UTC else STAMPS).values()
    if not (parts != 0).any():
        return seconds
    return microseconds if (parts % 1000 != 0).any() else milliseconds


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run as a formula."""

    def safe(text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.contains(FORMULA_STARTS)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)

    if wrong := [name for name in frame.columns if re.match(FORMULA_STARTS, name)]:
        raise DataError(f"guard_formulas: a spreadsheet would run the names {quoted(wrong)} as formulas. Rename them.")
    texts = [c.name for c in frame if c.dtype in (pl.String, pl.Categorical, pl.Enum)]
    return frame.with_columns(safe(pl.col(name).cast(pl.String)).alias(name) for name in texts)
