"""SPSS, Stata and SAS files: cells, labels of columns and codes, and reasons for missing cells.

Each of these formats has several kinds of missing cell. SPSS declares some codes of a column as missing (97, 98, 99),
Stata has the letters .a to .z beside the point, SAS .A to .Z and ._. All are missing as cells. The reasons are kept
beside the cells (`Table.reasons`), so that a release can write them back and the judgement of a table can tell them
apart.
"""

from collections.abc import Callable, Mapping
from datetime import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.files.clock import stop_clock
from shoal.table.files.limits import LIMITS
from shoal.table.files.missing_codes import declared_in, is_declared, still_missing
from shoal.table.files.spelling import spelling
from shoal.table.files.table import ReadOptions, Table, library, unreadable
from shoal.table.files.transport import LETTERS, numbers_as_written, reasons_of, write_reasons
from shoal.table.files.value_labels import code_text, labels_of_cells
from shoal.table.number_range import numbers_of
from shoal.vocabulary.errors import FileError

FORMATS = "SPSS, Stata and SAS"
DESCRIBED = {"sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "dta": "Stata"}
READERS = {
    "sav": "read_sav",
    "zsav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "xpt": "read_xport",
    "sas7bdat": "read_sas7bdat",
}
TELLS_REASONS = ("sav", "zsav", "dta", "sas7bdat")
"""Formats whose reasons the library reads; those of transport files are read by `transport`."""

TOO_FULL = "the disk is full, or takes no more of the file"
"""Reason for a failed write that a library does not name."""

MEASURES = ("nominal", "ordinal", "scale")
"""Levels of measurement in SPSS."""


def read_statistical(path: Path, options: ReadOptions) -> Table:
    """Read a file of SPSS, Stata or SAS."""
    pyreadstat = library("pyreadstat", FORMATS)
    ending = path.suffix.lower().lstrip(".")
    if options.judged and ending == "por":
        raise FileError(f"File '{path}' is portable, and its codes for missing cannot be told apart. Save it as .sav.")
    try:
        kept = {"user_missing": True} if ending in TELLS_REASONS else {}
        data, meta = getattr(pyreadstat, READERS[ending])(str(path), output_format="dict", **kept)
    except pyreadstat.ReadstatError as error:
        raise unreadable(path, ending, error) from None
    columns, reasons = {}, {}
    missing_codes = {name: declared_in(ranges) for name, ranges in meta.missing_ranges.items()}
    for name, values in data.items():
        declared = missing_codes.get(name, [])
        cells, codes = _divided(list(values), declared, letters=name in meta.missing_user_values)
        columns[name] = _whole(pl.Series(name, cells))
        if any(code is not None for code in codes):
            reasons[name] = pl.Series(name, codes, dtype=pl.String)
    frame = pl.DataFrame(columns)
    written: Mapping[str, pl.Series] = reasons
    if ending == "xpt" and len(frame):
        numbers = numbers_as_written(path, frame)
        letters = {name: pl.Series(name, reasons_of(cells), dtype=pl.String) for name, cells in numbers.items()}
        reasons = {name: codes for name, codes in letters.items() if codes.null_count() < len(codes)}
        written = {name: _bits(name, cells) for name, cells in numbers.items()}
    ways = {name: spelling(frame[name], codes) for name, codes in written.items()} if options.judged else {}
    return Table(
        frame=frame,
        described=DESCRIBED.get(ending, "SAS"),
        labels={name: label for name, label in meta.column_names_to_labels.items() if label},
        value_labels=labels_of_cells(frame, meta.variable_value_labels, reasons),
        spellings={name: way for name, way in ways.items() if way is not None},
        reasons=reasons,
        missing_codes=missing_codes,
        title=(meta.file_label or "").strip(),
        measures={name: level for name, level in meta.variable_measure.items() if level in MEASURES},
    )


def _divided(cells: list[Any], declared: list[Any], *, letters: bool) -> tuple[list[Any], list[str | None]]:
    """The cells without codes that say why a cell is missing, and these codes as text (empty if there are none)."""
    if letters:
        reasons = [cell if isinstance(cell, str) else None for cell in cells]
    elif declared:
        reasons = [code_text(cell) if is_declared(cell, declared) else None for cell in cells]
    else:
        return cells, []
    return [cell if reason is None else None for cell, reason in zip(cells, reasons)], reasons


def _bits(name: str, cells: NDArray[np.uint8]) -> pl.Series:
    """The bytes of numbers as text; null for the plain missing value, a point."""
    plain = (cells[:, 0] == ord(".")) & (cells[:, 1:] == 0).all(axis=1)
    padded = np.zeros((len(cells), 8), dtype=np.uint8)
    padded[:, : cells.shape[1]] = cells
    return pl.Series(name, padded.view(np.uint64).ravel()).cast(pl.String).set(pl.Series(plain), None)


def _whole(column: pl.Series) -> pl.Series:
    """The column with integers, dates and missing text restored.

    Statistical formats store integers as doubles, dates as times and missing text as empty text.
    """
    if column.dtype == pl.String:
        return column.set(column == "", None)
    if column.dtype == pl.Datetime and (column.drop_nulls().dt.time() == time(0)).all():
        return column.cast(pl.Date)
    return whole_numbers(column.fill_nan(None)) if column.dtype == pl.Float64 else column


def whole_numbers(column: pl.Series) -> pl.Series:
    """Doubles as integers if all of them are whole, and there is any."""
    present = column.drop_nulls()
    whole = len(present) and (present == present.floor()).all() and (present.abs() < 2**53).all()
    return column.cast(pl.Int64) if whole else column


def write_statistical(table: Table, path: Path, guard: bool) -> None:
    """Write a file of SPSS, Stata, or the transport format of SAS."""
    pyreadstat = library("pyreadstat", FORMATS)
    library("pandas", FORMATS)
    import pandas as pd

    ending = path.suffix.lower().lstrip(".")
    reasons = {name: codes for name, codes in table.reasons.items() if _writable(table, name, ending)}
    letters = {name: letters_of(codes) for name, codes in reasons.items()} if ending != "sav" else {}
    columns = {}
    for column in table.frame:
        name = column.name
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        if column.dtype.is_numeric() and column.null_count():  # numbers of these formats are double anyway
            column = column.cast(pl.Float64).fill_null(float("nan"))
        if name in reasons and ending != "xpt":
            columns[name] = pd.Series(_with_reasons(column, reasons[name], letters.get(name)), dtype=object)
        else:
            plain = column.null_count() or column.dtype.is_temporal()
            columns[name] = pd.Series(column.to_list(), dtype=object) if plain else column.to_numpy()
    limits = LIMITS[ending]
    metadata: dict[str, Any] = {"column_labels": [limits.cut("label", table.labels.get(name, "")) for name in columns]}
    metadata["file_label"] = limits.cut("title", table.title)
    if ending in LABELLED:
        metadata |= LABELLED[ending](table, reasons, letters)
    try:
        getattr(pyreadstat, WRITERS[ending])(pd.DataFrame(columns), str(path), **metadata)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError) as error:
        if "write" in str(error).lower():
            raise OSError(TOO_FULL) from None
        raise FileError(
            f"The format {ending} cannot hold the table ({type(error).__name__}); it takes short names "
            f"of letters, digits and underscores. Rename the columns, or choose csv or parquet."
        ) from None
    stop_clock(path, ending)
    if ending == "xpt":
        capitals = {name: {code: letter.upper() for code, letter in known.items()} for name, known in letters.items()}
        write_reasons(path, table.frame, {name: codes.replace(capitals[name]) for name, codes in reasons.items()})


def _writable(table: Table, name: str, ending: str) -> bool:
    """True if a format can write the reasons for missing cells of a column in their original codes."""
    if ending == "sav":
        return name in still_missing(table.frame.select(name), table.missing_codes)
    return table.frame[name].dtype.is_numeric() and table.reasons[name].drop_nulls().n_unique() < len(LETTERS)


def letters_of(codes: pl.Series) -> dict[str, str]:
    """Letters for the codes of reasons: the same letter if they are letters, else letters in the order of the codes."""
    present = codes.drop_nulls().unique().to_list()
    if all(code.lower() in LETTERS.lower()[1:] for code in present):
        return {code: code.lower() for code in present}
    in_order = sorted(present, key=lambda code: (*(numbers_of([code]) or [np.inf]), code))
    return dict(zip(in_order, LETTERS.lower()[1:]))


def _with_reasons(column: pl.Series, codes: pl.Series, letters: Mapping[str, str] | None) -> list[Any]:
    """The cells with the codes of reasons among them: letters for Stata, codes of the column's type for SPSS."""
    number = column.dtype.is_numeric()

    def written(code: str) -> Any:
        return letters[code] if letters is not None else float(code) if number else code

    return [cell if code is None else written(code) for cell, code in zip(column.to_list(), codes.to_list())]


def _labels_of_spss(table: Table, reasons: Mapping[str, pl.Series], letters: Any) -> dict[str, Any]:
    return {
        "variable_value_labels": _cut("sav", labels_of_cells(table.frame, table.value_labels, reasons)),
        "missing_ranges": still_missing(table.frame, table.missing_codes),
        "variable_measure": {name: level for name, level in table.measures.items() if name in table.frame.columns},
    }


def _labels_of_stata(
    table: Table, reasons: Mapping[str, pl.Series], letters: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Labels of codes for Stata, which labels only integers, and letters beside them."""
    labels = {}
    for name, codes in labels_of_cells(table.frame, table.value_labels, reasons).items():
        letter_of = letters.get(name, {})
        if table.frame[name].dtype.is_integer():
            labels[name] = {letter_of.get(code_text(code), code): label for code, label in codes.items()}
    missing = {name: sorted(letter_of.values()) for name, letter_of in letters.items()}
    return {"variable_value_labels": _cut("dta", labels), "missing_user_values": missing}


def _cut(ending: str, labels: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[Any, str]]:
    """The labels of codes, each cut to the limit of a format."""
    cut = partial(LIMITS[ending].cut, "value_label")
    return {name: {code: cut(label) for code, label in codes.items()} for name, codes in labels.items()}


LABELLED: Mapping[str, Callable[..., dict[str, Any]]] = {"sav": _labels_of_spss, "dta": _labels_of_stata}
WRITERS = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}
