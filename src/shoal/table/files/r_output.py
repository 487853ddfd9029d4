"""Data frames of R, written as `.rds` files; `r_frames` reads them."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.files.missing_codes import still_missing
from shoal.table.files.r_values import (
    CLASSES,
    DOUBLE,
    INTEGER,
    LETTER,
    LIST,
    LOGICAL,
    NO_DOUBLE,
    NO_INTEGER,
    SECOND,
    TEXT,
    RValue,
    Writer,
    text_value,
)
from shoal.table.files.statistical import letters_of
from shoal.table.files.table import Table
from shoal.table.files.transport import LETTERS
from shoal.table.files.value_labels import code_text, labels_of_cells
from shoal.vocabulary.errors import FileError


def write_r(table: Table, path: Path, guard: bool) -> None:
    """Write a data frame, with what the package haven says of codes; the time of writing is left out."""
    still = still_missing(table.frame, table.missing_codes)
    labels = labels_of_cells(table.frame, table.value_labels, table.reasons)
    columns = []
    for column in table.frame:
        value = _described(column, table, still.get(column.name, []), labels.get(column.name, {}))
        if text := table.labels.get(column.name):
            value.attributes["label"] = text_value(text)
        columns.append(value)
    attributes = {
        "names": text_value(*table.frame.columns),
        "row.names": RValue(INTEGER, [NO_INTEGER, -len(table.frame)]),
        "class": text_value("data.frame"),
    }
    if table.title:
        attributes["label"] = text_value(table.title)
    content = gzip.compress(Writer().value(RValue(LIST, columns, attributes)), compresslevel=6, mtime=0)
    path.write_bytes(content[:9] + b"\xff" + content[10:])  # the system on which it was written, too


def _vector(column: pl.Series) -> RValue:
    """A column as a vector of R."""
    dtype, missing = column.dtype, column.is_null().to_numpy()
    if isinstance(dtype, pl.Enum) or dtype == pl.Categorical:
        used = column.drop_nulls().cast(pl.String).unique().sort().to_list()
        levels = [level for level in dtype.categories if level in set(used)] if isinstance(dtype, pl.Enum) else used
        places = {level: place + 1 for place, level in enumerate(levels)}
        codes = column.cast(pl.String).replace_strict(places, default=NO_INTEGER, return_dtype=pl.Int32)
        ordered = ["ordered"] * isinstance(dtype, pl.Enum)
        kind = {"levels": text_value(*levels), "class": text_value(*ordered, "factor")}
        return RValue(INTEGER, codes.to_numpy(), kind)
    if dtype == pl.String:
        if column.str.contains("\0", literal=True).any():
            raise FileError(f"Text of R has no character of the number 0, and column '{column.name}' has. Take it out.")
        return RValue(TEXT, column.to_list())
    if dtype in (pl.Boolean, pl.Null):
        return RValue(LOGICAL, np.where(missing, NO_INTEGER, column.cast(pl.Int32).fill_null(0).to_numpy()))
    if dtype.is_integer() and _short(column):
        return RValue(INTEGER, np.where(missing, NO_INTEGER, column.fill_null(0).to_numpy()))
    if dtype == pl.Date:
        return RValue(DOUBLE, _doubles(column.cast(pl.Int32)), {"class": text_value("Date")})
    if isinstance(dtype, pl.Datetime):
        seconds = column.cast(pl.Datetime("us", dtype.time_zone)).cast(pl.Int64) / SECOND
        zone = text_value(dtype.time_zone or "UTC")
        return RValue(DOUBLE, _doubles(seconds), {"class": text_value("POSIXct", "POSIXt"), "tzone": zone})
    if dtype == pl.Time:
        kind = {"class": text_value("hms", "difftime"), "units": text_value("secs")}
        return RValue(DOUBLE, _doubles(column.cast(pl.Int64) / (SECOND * 1000)), kind)
    if not dtype.is_numeric():
        raise TypeError(f"no vector of R holds {dtype}")
    return RValue(DOUBLE, _doubles(column))


def _short(column: pl.Series) -> bool:
    """True if integers of R hold the numbers."""
    return bool(column.is_between(NO_INTEGER + 1, -NO_INTEGER - 1).all())


def _doubles(column: pl.Series, letters: Sequence[str] = ()) -> NDArray[np.float64]:
    """Numbers as doubles; NA where they are missing, with the letter of the reason if there is any."""
    numbers = column.cast(pl.Float64).fill_null(0.0).to_numpy().copy()
    bits = numbers.view(np.uint64)
    bits[column.is_null().to_numpy()] = NO_DOUBLE
    for row, letter in enumerate(letters):
        if letter:
            bits[row] |= ord(letter) << LETTER
    return numbers


def _described(column: pl.Series, table: Table, declared: list[Any], labels: Mapping[Any, str]) -> RValue:
    """A column as a vector, with labels of codes and reasons for missing cells as haven has them."""
    reasons, number = table.reasons.get(column.name), column.dtype.is_numeric()
    lettered = number and reasons is not None and reasons.drop_nulls().n_unique() < len(LETTERS)
    if not (number or column.dtype == pl.String) or not (labels or declared or lettered):
        return _vector(column)
    letters: dict[str, str] = {}
    if declared:
        column = column.cast(pl.Float64) if number else column
        value = _vector(column if reasons is None else column.fill_null(reasons.cast(column.dtype)))
    elif reasons is not None and lettered:
        letters = letters_of(reasons)
        value = RValue(DOUBLE, _doubles(column, [letters.get(code, "") for code in reasons.to_list()]))
    else:
        value = _vector(column)
    if labels:
        named = {"names": text_value(*labels.values())}
        value.attributes["labels"] = RValue(value.kind, _codes(value.kind, [*labels], letters), named)
    ranges = [end for code in declared if isinstance(code, Mapping) for end in (code["lo"], code["hi"])]
    missing = {"na_values": [code for code in declared if not isinstance(code, Mapping)], "na_range": ranges}
    value.attributes |= {name: RValue(value.kind, codes) for name, codes in missing.items() if codes}
    names = [*["haven_labelled_spss"] * bool(declared), "haven_labelled", "vctrs_vctr", CLASSES[value.kind]]
    value.attributes["class"] = text_value(*names)
    return value


def _codes(kind: int, codes: list[Any], letters: Mapping[str, str]) -> Any:
    """The codes that labels belong to; letters among them for reasons that became such."""
    if kind != DOUBLE:
        return codes
    tags = [letters.get(code_text(code), "") for code in codes]
    return _doubles(pl.Series([None if tag else code for code, tag in zip(codes, tags)], dtype=pl.Float64), tags)
