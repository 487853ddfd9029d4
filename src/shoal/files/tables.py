"""Read and write tables by the ending of their name."""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import DataError, FileError, InputError, MissingDependency, not_unique, quoted, unknown
from shoal.files.atomic import atomic_file
from shoal.files.clock import NO_TIME, stop_clock
from shoal.files.csv_text import doubts, escape_formulas, read_csv, write_csv
from shoal.files.residue import refuse_residue
from shoal.files.value_labels import labels_of_cells


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as it stood in a file.

    Parameters
    ----------
    frame
        The cells.
    described
        How the file was read, in words ("comma-separated, utf-8-sig").
    labels
        Descriptions of columns.
    value_labels
        For a column, what its codes mean.
    notes
        For a column, or '' for the file, what a person should look at; no cell's value.
    """

    frame: pl.DataFrame
    described: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


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
    apart: Collection[str] | None = None,
) -> Table:
    """Read CSV, Parquet, Excel, SPSS, Stata or SAS by the ending of the name.

    Parameters
    ----------
    delimiter, encoding
        Of a text file; found out where not given.
    decimal
        Decimal mark of a text file.
    sheet
        Of an Excel file; the first where not given.
    apart
        To read a table that is to be judged: columns whose cells must differ wherever the file writes them
        differently (34 and 34.0, two codes for missing). A file with a second table is then refused.

    Raises
    ------
    FileError
        If the file is not there, empty, or of no kind known.
    DataError
        If two columns have one name.
    """
    path = Path(path)
    _check_file(path)
    ending = path.suffix.lower().lstrip(".")
    text_ending = Path(path.stem).suffix.lower().lstrip(".") if ending == "gz" else ending
    if text_ending in ("csv", "tsv", "txt", ""):
        mark = delimiter or ("\t" if text_ending == "tsv" else None)
        frame, dialect = read_csv(path, mark, encoding, decimal, apart or ())
        table = Table(frame=frame, described=str(dialect), notes=doubts(frame))
    elif ending in READERS:
        try:
            table = READERS[ending](path, Reading(judged=apart is not None, sheet=sheet))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            if isinstance(error, (FileError, DataError, MissingDependency)):
                raise
            raise FileError(
                f"File '{path}' is no readable {ending} file ({type(error).__name__}). Check that it is whole."
            ) from None
    else:
        raise FileError(unknown("kind of file", ending, ["csv", "csv.gz", "tsv", *READERS]))
    if repeated := sorted(name for name, times in Counter(table.frame.columns).items() if times > 1):
        raise DataError(not_unique(repeated))
    return table


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise FileError(f"'{path}' is a directory. Name a file.")
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise FileError(f"'{path}' is no regular file. Tables are read from files, not from a pipe: save it first.")
    if not path.exists():
        raise FileError(f"There is no file '{path}'. Check the path.")
    if not os.access(path, os.R_OK):
        raise FileError(f"File '{path}' may not be read. Ask for the permission.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a file is read: as one to be judged, or not, and which of its sheets."""

    judged: bool
    sheet: str | None


def _read_parquet(path: Path, how: Reading) -> Table:
    return Table(frame=pl.read_parquet(path), described="Parquet")


def _read_excel(path: Path, how: Reading) -> Table:
    fastexcel = _needs("fastexcel", "Excel")
    try:
        sheets = fastexcel.read_excel(path).sheet_names
        if how.judged and len(sheets) > 1:
            raise FileError(
                f"File '{path}' has {len(sheets)} sheets, of which only one could be judged. "
                f"Put each into a file of its own."
            )
        sheet = how.sheet or sheets[0]
        if sheet not in sheets:
            raise FileError(f"File '{path}': {unknown('sheet', sheet, sheets)}")
        # every cell counts for a column's type, or some would be lost
        frame = pl.read_excel(path, sheet_name=sheet, infer_schema_length=None)
    except fastexcel.FastExcelError as error:
        raise FileError(
            f"File '{path}' is no readable Excel file ({type(error).__name__}). Check that it is whole."
        ) from None
    others = f"File '{path}' has {len(sheets)} sheets: {quoted(sheets)}; '{sheet}' is read."
    return Table(
        frame=frame,
        described=f"Excel, sheet '{sheet}'",
        notes=doubts(frame) | ({"": others} if len(sheets) > 1 and how.sheet is None else {}),
    )


def _read_statistical(path: Path, how: Reading) -> Table:
    pyreadstat = _needs("pyreadstat", "SPSS, Stata and SAS")
    readers = {
        "sav": "read_sav",
        "zsav": "read_sav",
        "por": "read_por",
        "dta": "read_dta",
        "xpt": "read_xport",
        "sas7bdat": "read_sas7bdat",
    }
    ending = path.suffix.lower().lstrip(".")
    try:
        kept = {"user_missing": True} if how.judged and ending in ("sav", "zsav", "dta", "sas7bdat") else {}
        data, meta = getattr(pyreadstat, readers[ending])(str(path), output_format="dict", **kept)
    except pyreadstat.ReadstatError as error:
        raise FileError(
            f"File '{path}' is no readable {ending} file ({type(error).__name__}). Check that it is whole."
        ) from None
    frame = pl.DataFrame({name: _whole(_series(name, list(values))) for name, values in data.items()})
    return Table(
        frame=frame,
        described={"sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "dta": "Stata"}.get(ending, "SAS"),
        labels={name: label for name, label in meta.column_names_to_labels.items() if label},
        value_labels=labels_of_cells(frame, meta.variable_value_labels),
    )


def _series(name: str, cells: list[Any]) -> pl.Series:
    """A column; numbers among which letters say why a number is missing become text."""
    if any(isinstance(cell, str) for cell in cells) and any(isinstance(cell, (int, float)) for cell in cells):
        cells = [None if cell is None or cell != cell else str(cell) for cell in cells]
    return pl.Series(name, cells)


def _whole(column: pl.Series) -> pl.Series:
    """Statistical formats store integers as doubles and dates as times; whole columns come back as they were."""
    if column.dtype == pl.Datetime and (column.drop_nulls().dt.time() == time(0)).all():
        return column.cast(pl.Date)
    if column.dtype == pl.Float64:
        column = column.fill_nan(None)
        known = column.drop_nulls()
        if len(known) and (known == known.floor()).all() and (known.abs() < 2**53).all():
            return column.cast(pl.Int64)
    return column


READERS: dict[str, Callable[[Path, Reading], Table]] = {
    "parquet": _read_parquet,
    "xlsx": _read_excel,
    "xls": _read_excel,
    **dict.fromkeys(("sav", "zsav", "por", "dta", "xpt", "sas7bdat"), _read_statistical),
}


USUAL = (pl.String, pl.Boolean, pl.Date, pl.Categorical, pl.Enum)
"""Types beside numbers that every format holds."""

FOR_SPREADSHEETS = ("csv", "xlsx")
"""Formats in which text can be taken for a formula."""


def write_table(table: Table, path: str | Path, *, guard_formulas: bool = False) -> None:
    """Write by the ending of the name; an interrupted write leaves what was there before.

    Column and value labels go into SPSS and Stata files (Stata labels whole numbers only); the transport format of
    SAS keeps column labels only, the others none (the codebook has them).
    """
    path = Path(path)
    ending = path.suffix.lower().lstrip(".")
    if ending not in WRITERS:
        raise FileError(unknown("kind of file to write", ending, WRITERS))
    refuse_residue(table.frame, table.value_labels, ending)
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
            raise _unheld(table.frame, ending) from None
        finally:
            named.unlink(missing_ok=True)


def _unheld(frame: pl.DataFrame, ending: str) -> FileError:
    """The error for columns of types that a format lacks: the rarer types, if there are any."""
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


def _write_excel(table: Table, path: Path, guard: bool) -> None:
    _needs("xlsxwriter", "Excel")
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    content = BytesIO()  # so that a full disk is met by us, and not by the library as it is taken down
    try:
        with Workbook(content) as workbook:
            workbook.set_properties({"created": NO_TIME})
            (escape_formulas(table.frame) if guard else table.frame).write_excel(workbook, autofit=True)
    except FileCreateError as error:
        raise OSError(str(error).rpartition("] ")[2]) from None
    path.write_bytes(content.getvalue())


def _write_statistical(table: Table, path: Path, guard: bool) -> None:
    pyreadstat = _needs("pyreadstat", "SPSS, Stata and SAS")
    _needs("pandas", "SPSS, Stata and SAS")
    import pandas as pd

    ending = path.suffix.lower().lstrip(".")
    columns = {}
    for column in table.frame:
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        if column.dtype.is_numeric() and column.null_count():  # numbers of these formats are double anyway
            column = column.cast(pl.Float64).fill_null(float("nan"))
        plain = column.null_count() or column.dtype.is_temporal()
        columns[column.name] = pd.Series(column.to_list(), dtype=object) if plain else column.to_numpy()
    frame = pd.DataFrame(columns)
    labels = [table.labels.get(name, "") for name in frame.columns]
    values = labels_of_cells(table.frame, table.value_labels)
    if ending == "dta":  # which labels whole numbers only
        values = {name: codes for name, codes in values.items() if all(isinstance(code, int) for code in codes)}
    try:
        _write_with(pyreadstat, frame, path, labels, values)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError) as error:
        if "write" in str(error).lower():
            raise OSError("the disk is full, or takes no more of the file") from None
        raise FileError(
            f"The format {ending} cannot hold the table ({type(error).__name__}); it takes short names "
            f"of letters, digits and underscores. Rename the columns, or choose csv or parquet."
        ) from None


def _write_with(pyreadstat: Any, frame: Any, path: Path, labels: list[str], values: dict[str, Any]) -> None:
    ending = path.suffix.lower().lstrip(".")
    if ending == "sav":
        pyreadstat.write_sav(frame, str(path), column_labels=labels, variable_value_labels=values)
    elif ending == "dta":
        pyreadstat.write_dta(frame, str(path), column_labels=labels, variable_value_labels=values)
    else:
        pyreadstat.write_xport(frame, str(path), column_labels=labels, file_format_version=8)
    stop_clock(path, ending)


WRITERS: dict[str, Callable[[Table, Path, bool], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsx": _write_excel,
    "sav": _write_statistical,
    "dta": _write_statistical,
    "xpt": _write_statistical,
}


def lost_columns(written: pl.DataFrame, back: pl.DataFrame) -> list[str]:
    """Names of columns that a file does not give back as they were written.

    Numbers may differ in the last digits of what the format holds; text, dates and times may not. Formats
    without missing text give empty text back.
    """
    return [
        column.name for column in written if column.name not in back.columns or not _kept(column, back[column.name])
    ]


def _kept(one: pl.Series, other: pl.Series) -> bool:
    try:
        return _equal(one, other)
    except pl.exceptions.PolarsError:  # cells of types that have nothing in common
        return False


def _equal(one: pl.Series, other: pl.Series) -> bool:
    if one.dtype == pl.Float32 and other.dtype.is_numeric():
        other = other.cast(pl.Float32)
    if one.dtype.is_temporal() and other.dtype == pl.String:
        written = pl.read_csv(BytesIO(one.to_frame().write_csv().encode()), infer_schema=False)
        return written.to_series().equals(other, check_names=False)
    if one.dtype == pl.Boolean and other.dtype.is_numeric():
        one = one.cast(pl.Int8)  # statistical formats hold truth as 1 and 0
    if one.dtype.is_numeric() and (other.dtype.is_numeric() or other.null_count() == len(other)):
        numbers = [c.cast(pl.Float64).fill_null(float("nan")).to_numpy() for c in (one, other)]
        return bool(np.allclose(numbers[0], numbers[1], rtol=1e-12, atol=0.0, equal_nan=True))
    if one.dtype == other.dtype and one.dtype.is_temporal():
        return one.equals(other, check_names=False)
    if one.dtype.is_temporal() and other.dtype.is_temporal():
        return one.cast(pl.Datetime("us")).equals(other.cast(pl.Datetime("us")), check_names=False)
    texts = [
        c.cast(pl.String).fill_null("").str.to_lowercase() if c.dtype == pl.Boolean else c.cast(pl.String).fill_null("")
        for c in (one, other)
    ]
    return texts[0].equals(texts[1], check_names=False)


def _needs(package: str, what: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise MissingDependency(f"Reading or writing {what} files", package, "files") from None
