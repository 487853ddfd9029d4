"""CSV: delimiter and encoding found out, codes kept as they are written, numbers exact both ways."""

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from shoal.errors import DataError, FileError, quoted

DELIMITERS = ",;\t|"
NOT_IN_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d\x00")
MISSING_AMONG_NUMBERS = ("NA", "NaN", "nan", "NULL", "null", ".")
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?[Ii]nf(inity)?$"
WRITTEN_CODE = r"^[+-]?0\d"
"""Numbers do not start with a spare zero; such a column holds codes."""
FORMULA_STARTS = r"^[=+\-@\t\r]"
SAMPLE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str

    def __str__(self) -> str:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
        return f"{names.get(self.delimiter, self.delimiter)}-separated, {self.encoding}"


def read_csv(
    path: Path, delimiter: str | None = None, encoding: str | None = None, apart: Collection[str] = ()
) -> tuple[pl.DataFrame, Dialect]:
    """Read a CSV file with a header row.

    Columns become integers, floats or ISO dates only where every cell is one; numbers written with a leading
    zero are codes and stay text.

    Raises
    ------
    FileError
        If the file is empty or its encoding cannot be told.
    DataError
        If a column name occurs twice.
    """
    if delimiter and (len(delimiter.encode()) > 1 or delimiter in '"\r\n'):
        raise FileError("A delimiter must be one plain character, as in --delimiter ';'; no quote and no line break.")
    raw = path.read_bytes()
    if not raw.strip():
        raise FileError(f"File '{path}' is empty. A table needs a header row and records.")
    text, encoding = _decode(raw, encoding, path)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # how old Macintosh programs end lines
    header = text[: text.find("\n") if "\n" in text else None]
    delimiter = delimiter or max(DELIMITERS, key=header.count)
    names = next(csv.reader([header.rstrip("\r")], delimiter=delimiter))
    numbers = [name for name in names if re.match(NUMBER, name.strip())]
    if len(numbers) == len(names) or any("." in number for number in numbers):
        raise FileError(f"File '{path}' has numbers where names of columns are expected. Put a header row first.")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"Column names must differ; {quoted(repeated)} occur more than once. Rename them.")
    try:
        frame = pl.read_csv(
            BytesIO(text.encode()), separator=delimiter, infer_schema=False, null_values=[""]
        )
    except pl.exceptions.PolarsError as error:
        raise FileError(
            f"File '{path}' is not a {Dialect(delimiter=delimiter, encoding=encoding)} table "
            f"({type(error).__name__}). Name its delimiter, or mend rows with more or fewer cells than the header."
        ) from None
    typed = [_kept_apart(column) if column.name in apart else _typed(column) for column in frame]
    return frame.with_columns(typed), Dialect(delimiter=delimiter, encoding=encoding)


def _decode(raw: bytes, encoding: str | None, path: Path) -> tuple[str, str]:
    guesses = [encoding] if encoding else _likely_encodings(raw)
    for guess in guesses:
        try:
            return raw.decode(guess), guess
        except (UnicodeDecodeError, LookupError):
            continue
    tried = quoted(guesses) or "UTF-8, UTF-16, windows-1252"
    raise FileError(f"File '{path}' cannot be read as text ({tried} tried). Name its encoding.")


def _likely_encodings(raw: bytes) -> list[str]:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ["utf-16"]
    return ["utf-8-sig"] if NOT_IN_WINDOWS_1252 & set(raw) else ["utf-8-sig", "windows-1252"]


def _kept_apart(column: pl.Series) -> pl.Series:
    typed = _typed(column)
    return typed if typed.n_unique() == column.n_unique() else column


def _typed(column: pl.Series) -> pl.Series:
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
    frame.pipe(guarded if guard_formulas else _unchanged).write_csv(path)


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it."""
    def safe(text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.contains(FORMULA_STARTS)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)

    if wrong := [name for name in frame.columns if re.match(FORMULA_STARTS, name)]:
        raise DataError(f"guard_formulas: a spreadsheet would run the names {quoted(wrong)} as formulas. Rename them.")
    texts = [c.name for c in frame if c.dtype in (pl.String, pl.Categorical, pl.Enum)]
    return frame.with_columns(safe(pl.col(name).cast(pl.String)).alias(name) for name in texts)


def _unchanged(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


