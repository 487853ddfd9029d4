"""Reading and writing of tables, in the format that the file name's ending says."""

import glob
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from shoal.table.files.atomic import atomic_file
from shoal.table.files.csv_text import read_csv, with_stamps, write_csv
from shoal.table.files.excel import read_excel, write_excel
from shoal.table.files.folders import kind_of, refuse_logged
from shoal.table.files.limits import refuse_beyond
from shoal.table.files.r_frames import ENDINGS as OF_R
from shoal.table.files.r_frames import read_r
from shoal.table.files.r_output import write_r
from shoal.table.files.residue import refuse_residue
from shoal.table.files.statistical import READERS as STATISTICAL
from shoal.table.files.statistical import TOO_FULL, read_statistical, write_statistical
from shoal.table.files.statistical import WRITERS as WRITTEN
from shoal.table.files.table import MOST_DIGITS, ReadOptions, Table, too_many_digits, unreadable
from shoal.vocabulary.errors import (
    DataError,
    FileError,
    InputError,
    MissingDependency,
    not_unique,
    plural,
    quoted,
    unknown,
)


def read(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
) -> pl.DataFrame:
    """The cells of a file as a polars frame; a warning names columns that may have been meant otherwise.

    Parameters are those of `read_table`.
    """
    table = read_table(path, delimiter=delimiter, encoding=encoding, decimal=decimal, sheet=sheet)
    for note in table.notes.values():
        warnings.warn(note, stacklevel=2)
    return table.frame


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
    absent: str | None = None,
    judged: bool = False,
) -> Table:
    """Read CSV, Parquet, Excel, SPSS, Stata, SAS or R by the ending of the name.

    Parameters
    ----------
    path
        A file; or a folder of Parquet or CSV files, or a pattern as in `data/*.parquet`, read as one table.
    delimiter, encoding
        Delimiter and encoding of a text file; detected by default.
    decimal
        Decimal mark of a text file.
    sheet
        Sheet of an Excel file; by default the first.
    absent
        For a folder or pattern: `missing` takes columns that some Parquet files lack as missing there; by default
        (`refuse`) all files must have the same columns.
    judged
        True if the table is to be judged: its `spellings` then say where the file writes equal cells differently (34
        and 34.0, two codes for missing), and a file with a second table is refused, as is a format that cannot be read
        so finely.

    Raises
    ------
    FileError
        If the file does not exist, is empty, is of an unknown kind, or belongs to a table with a log.
    DataError
        If two columns have one name.
    """
    if not Path(path).is_file() and (Path(path).is_dir() or glob.has_magic(str(path))):
        reading = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "absent": absent}
        return _read_together(path, reading, judged=judged)
    path = Path(path)
    _check_file(path)
    refuse_logged(path)
    ending = path.suffix.lower().lstrip(".")
    text_ending = Path(path.stem).suffix.lower().lstrip(".") if ending == "gz" else ending
    if text_ending in ("csv", "tsv", "asc", "txt", ""):
        _check_text(path)
        mark = delimiter or ("\t" if text_ending == "tsv" else None)
        table = read_csv(path, mark, encoding, decimal, judged=judged)
    elif ending in READERS:
        try:
            table = READERS[ending](path, ReadOptions(judged=judged, sheet=sheet))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            if isinstance(error, (FileError, DataError, MissingDependency)):
                raise
            raise unreadable(path, ending, error) from None
    else:
        raise FileError(unknown("kind of file", ending, ["csv", "csv.gz", "tsv", "asc", *READERS]))
    if repeated := sorted(name for name, times in Counter(table.frame.columns).items() if times > 1):
        raise DataError(not_unique(repeated))
    return table


def _read_together(path: str | Path, reading: Mapping[str, str | None], *, judged: bool) -> Table:
    """Read the files of a folder or pattern as one table, in the order of their names."""
    from shoal.table.parts.session import half_of_memory, session
    from shoal.table.parts.source import Source, plain

    with tempfile.TemporaryDirectory(prefix="shoal-") as spill:
        source = Source.of(path, session(half_of_memory(), Path(spill)), reading, judged=judged)
        chunks = [plain(chunk) for chunk in source.chunks()] or [pl.DataFrame(schema=source.columns)]
    described = f"{plural(len(source.files), 'file')}, {kind_of(Path(source.files[0].path))}"
    return Table(frame=pl.concat(chunks), described=described, types_from_cells=source.types_from_cells)


def _check_file(path: Path) -> None:
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise FileError(f"'{path}' is no regular file. Tables are read from files, not from a pipe: save it first.")
    if not path.exists():
        raise FileError(f"There is no file '{path}'. Check the path.")
    if not os.access(path, os.R_OK):
        raise FileError(f"There is no permission to read file '{path}'. Ask for it.")


def _check_text(path: Path) -> None:
    """Refuse a file whose first bytes say that it is no text, whatever its name says."""
    with path.open("rb") as file:
        first = file.read(max(map(len, FIRST_BYTES)))
    for start, (program, ending) in FIRST_BYTES.items():
        if first.startswith(start):
            raise FileError(f"File '{path}' is no text but a file of {program}. Give it the ending .{ending}.")


def _read_parquet(path: Path, options: ReadOptions) -> Table:
    try:
        types = pl.scan_parquet(path, glob=False).collect_schema()
    except pl.exceptions.DuplicateError:
        raise DataError(f"Column names must differ; file '{path}' has one more than once. Rename them.") from None
    long = [name for name, dtype in types.items() if isinstance(dtype, pl.Decimal) and dtype.precision > MOST_DIGITS]
    if long:
        raise too_many_digits(path, long)
    return Table(frame=pl.read_parquet(path, glob=False), described="Parquet")


READERS: dict[str, Callable[[Path, ReadOptions], Table]] = {
    "parquet": _read_parquet,
    "xlsx": read_excel,
    "xls": read_excel,
    **dict.fromkeys(STATISTICAL, read_statistical),
    **dict.fromkeys(OF_R, read_r),
}


FIRST_BYTES = {
    b"PK\x03\x04": ("Excel", "xlsx"),
    b"\xd0\xcf\x11\xe0": ("Excel", "xls"),
    b"PAR1\x15": ("Parquet", "parquet"),
    b"$FL2@(#)": ("SPSS", "sav"),
    b"$FL3@(#)": ("SPSS", "zsav"),
    b"<stata_dta>": ("Stata", "dta"),
    b"HEADER RECORD*******": ("SAS", "xpt"),
}
"""First bytes of files that are no text, with the program that writes them and their proper ending."""

USUAL = (pl.String, pl.Boolean, pl.Date, pl.Categorical, pl.Enum)
"""Types, besides numbers, that every format holds."""

EXACT = 2**53
"""Largest integer up to which a double, the only number of most formats, is exact."""

HOLDING_INTEGERS = ("csv", "parquet")
"""Formats that hold larger integers."""

FOR_SPREADSHEETS = ("csv", "xlsx")
"""Formats in which text can be taken for a formula."""


def write_table(table: Table, path: str | Path, *, guard_formulas: bool = False) -> None:
    """Write by the ending of the name; an interrupted write leaves what was there before.

    Column and value labels go into SPSS, Stata and R files (Stata labels whole numbers only); the transport format of
    SAS keeps column labels only, the others none (the codebook has them). Labels longer than a format holds are cut.

    Raises
    ------
    Refused
        If the file would hold names that no record has.
    FileError
        If the format cannot hold the table, or the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower().lstrip(".")
    if ending not in WRITERS:
        raise FileError(unknown("kind of file to write", ending, WRITERS))
    refuse_residue(table.frame, table.value_labels, ending, table.reasons)
    refuse_beyond(table.frame, ending)
    if ending not in HOLDING_INTEGERS and (long := [c.name for c in table.frame if _beyond_doubles(c)]):
        raise FileError(
            f"The format {ending} holds whole numbers exactly up to 2^53 only, and {quoted(long)} "
            f"{'has' if len(long) == 1 else 'have'} larger ones. Choose csv or parquet, or make the column text."
        )
    if ending != "parquet" and any(column.dtype == pl.Duration for column in table.frame):
        raise _unheld(table.frame.select(c.name for c in table.frame if c.dtype == pl.Duration), ending)
    with atomic_file(path) as temporary:
        named = temporary.with_suffix(path.suffix)
        try:
            WRITERS[ending](table, named, guard_formulas)
            named.replace(temporary)
        except InputError:
            raise
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            if "(os error " in str(error):  # polars wraps what the system says
                raise OSError(str(error)) from None
            if "transport error" in str(error):  # what it says where the end of a file, its own table, does not fit
                raise OSError(TOO_FULL) from None
            raise _unheld(table.frame, ending) from None
        finally:
            named.unlink(missing_ok=True)


def _beyond_doubles(column: pl.Series) -> bool:
    """True if a column has integers too large for a double to hold exactly."""
    if not column.dtype.is_integer():
        return False
    least, greatest = column.min(), column.max()
    return any(isinstance(value, int) and abs(value) > EXACT for value in (least, greatest))


def _unheld(frame: pl.DataFrame, ending: str) -> FileError:
    """The error for columns whose types a format lacks; it names those of rarer types, if there are any."""
    rare = {c.name: c.dtype for c in frame if not (c.dtype.is_float() or c.dtype.is_integer() or c.dtype in USUAL)}
    named = rare or {column.name: column.dtype for column in frame}
    kinds = ", ".join(sorted({str(kind) for kind in named.values()}))
    return FileError(
        f"The format {ending} cannot hold a column of the table, which is one of {quoted(named)} (of the types "
        f"{kinds}). Choose parquet, or convert the column."
    )


def _write_csv(table: Table, path: Path, guard: bool) -> None:
    write_csv(table.frame, path, guard_formulas=guard)


def _write_parquet(table: Table, path: Path, guard: bool) -> None:
    table.frame.write_parquet(path)


WRITERS: dict[str, Callable[[Table, Path, bool], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsx": write_excel,
    **dict.fromkeys(WRITTEN, write_statistical),
    "rds": write_r,
}


def lost_columns(written: pl.DataFrame, reread: pl.DataFrame) -> list[str]:
    """Names of columns that differ when a written file is read back.

    Numbers may differ in the last digits that the format holds; text, dates and times may not. Formats without missing
    text return empty text.
    """
    return [
        column.name for column in written if column.name not in reread.columns or not _kept(column, reread[column.name])
    ]


def _kept(released: pl.Series, reread: pl.Series) -> bool:
    try:
        return _equal(released, reread)
    except pl.exceptions.PolarsError:  # cells of types that have nothing in common
        return False


def _equal(released: pl.Series, reread: pl.Series) -> bool:
    if released.dtype == pl.Float32 and reread.dtype.is_numeric():
        reread = reread.cast(pl.Float32)
    if released.dtype.is_temporal() and reread.dtype == pl.String:
        written = pl.read_csv(BytesIO(with_stamps(released.to_frame()).write_csv().encode()), infer_schema=False)
        return written.to_series().equals(reread, check_names=False)
    if released.dtype == pl.Boolean and reread.dtype.is_numeric():
        released = released.cast(pl.Int8)  # statistical formats hold truth as 1 and 0
    if released.dtype.is_numeric() and (reread.dtype.is_numeric() or reread.null_count() == len(reread)):
        numbers = [c.cast(pl.Float64).fill_null(float("nan")).to_numpy() for c in (released, reread)]
        return bool(np.allclose(numbers[0], numbers[1], rtol=1e-12, atol=0.0, equal_nan=True))
    if released.dtype == reread.dtype and released.dtype.is_temporal():
        return released.equals(reread, check_names=False)
    if released.dtype.is_temporal() and reread.dtype.is_temporal():
        return released.cast(pl.Datetime("us")).equals(reread.cast(pl.Datetime("us")), check_names=False)
    texts = [
        c.cast(pl.String).fill_null("").str.to_lowercase() if c.dtype == pl.Boolean else c.cast(pl.String).fill_null("")
        for c in (released, reread)
    ]
    return texts[0].equals(texts[1], check_names=False)
