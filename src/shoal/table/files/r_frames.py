"""Data frames of R: `.rds` files, read and written, and `.RData` files with one data frame, read.

Columns of the package haven keep what SPSS, Stata and SAS say beside the cells: labels of codes, codes declared as
missing (`na_values`, `na_range`), and letters that say why a number is missing (`tagged_na`). R itself tells a missing
number (NA) from one that is none (NaN), and a text from the same text in another encoding: a table that is judged keeps
them apart.
"""

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.table.files.missing_codes import is_declared
from shoal.table.files.r_values import (
    DOUBLE,
    INTEGER,
    LETTER,
    LOGICAL,
    NO_DOUBLE,
    NO_INTEGER,
    PAIRS,
    SECOND,
    TEXT,
    Reader,
    RValue,
    UnsupportedError,
)
from shoal.table.files.spelling import spelling
from shoal.table.files.statistical import whole_numbers
from shoal.table.files.table import ReadOptions, Table, unreadable
from shoal.table.files.value_labels import code_text, labels_of_cells
from shoal.vocabulary.errors import FileError, ShoalError, quoted

ENDINGS = ("rds", "rdata", "rda")
COMPRESSED: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
BROKEN = (struct.error, EOFError, IndexError, AttributeError, TypeError, ValueError, OverflowError, RecursionError,
          zlib.error, lzma.LZMAError)  # fmt: skip
"""Errors that a file gives which is none of R's, or is not whole."""

OF_FRAME = {"names", "class", "row.names", "label"}
OF_COLUMN = {"class", "label", "levels", "labels", "tzone", "units", "na_values", "na_range", "display_width"}
"""Attributes that are read, or say how to print, as those do that begin with `format.`."""


def read_r(path: Path, options: ReadOptions) -> Table:
    """Read a data frame of R."""
    try:
        return _read(path, options)
    except ShoalError:
        raise
    except UnsupportedError as error:
        raise FileError(f"File '{path}' {error}. Write the data frame by itself in R: saveRDS(x, 'x.rds').") from None
    except UnicodeError:
        raise FileError(
            f"File '{path}' has text of an encoding that it does not name. Mark it in R: enc2utf8."
        ) from None
    except BROKEN as error:
        raise unreadable(path, "R", error) from None


def _read(path: Path, options: ReadOptions) -> Table:
    frame, beside = _data_frame(path)
    columns = dict(zip(map(str, frame.texts("names")), frame.data))
    cells, reasons, codes, missing_codes, notes = {}, {}, {}, {}, {}
    for name, value in columns.items():
        if (kind := _kind_of(value)) not in CELLS or "dim" in value.attributes:
            raise FileError(
                f"Column '{name}' of file '{path}' is a list, a matrix, a POSIXlt or of numbers that a table does not "
                f"hold. Turn it into a vector in R (as.POSIXct, unlist), or leave it out."
            )
        cells[name], reasons[name], missing_codes[name] = _divided(CELLS[kind](value).alias(name), value)
        codes[name] = _value_labels(value)
        if kind == "POSIXct" and not _zone(value):
            notes[name] = f"Column '{name}' has times without a time zone, which are read as UTC."
    if rows := _named_rows(frame):
        notes[""] = (
            f"File '{path}' has {rows}, which are left out. Make a column of them in R (rownames) if they count."
        )
    reasons = {name: column for name, column in reasons.items() if column.null_count() < len(column)}
    table = pl.DataFrame(cells)
    if options.judged and (more := [*beside, *_residue(frame, columns)]):
        raise FileError(
            f"File '{path}' holds more than cells ({'; '.join(more)}), by which records could be told apart. Write the "
            f"cells alone, or as csv or parquet."
        )
    judged = columns if options.judged else {}
    ways = {n: spelling(table[n], way) for n, v in judged.items() if (way := _as_written(v)) is not None}
    return Table(
        frame=table,
        described="R",
        labels={name: str(text) for name, value in columns.items() for text in value.texts("label") if text},
        value_labels=labels_of_cells(table, {name: labels for name, labels in codes.items() if labels}, reasons),
        notes=notes,
        spellings={name: way for name, way in ways.items() if way is not None},
        reasons=reasons,
        missing_codes={name: declared for name, declared in missing_codes.items() if declared},
        title="".join(str(text) for text in frame.texts("label")[:1]),
    )


def _data_frame(path: Path) -> tuple[RValue, list[str]]:
    """The only data frame of a file, and a phrase for each thing beside it."""
    raw = path.read_bytes()
    for start, expanded in COMPRESSED.items():
        raw = expanded(raw) if raw.startswith(start) else raw
    named = raw[:5] in (b"RDX2\n", b"RDX3\n")
    reader = Reader(raw[5 * named :])
    value = reader.value()
    objects = value.data if named and value.kind == PAIRS else [("", value)]
    frames = [item for _, item in objects if isinstance(item, RValue) and "data.frame" in item.texts("class")]
    if len(frames) != 1:
        names = f": {quoted(sorted(name for name, _ in objects))}" if named and objects else ""
        raise FileError(
            f"File '{path}' holds {len(frames) or 'no'} data frame{'s' * (len(frames) > 1)}{names}. Write the one that "
            f"is meant by itself in R: saveRDS(x, 'x.rds'), of a matrix or list as.data.frame(x)."
        )
    others = [f"{len(objects) - 1} other objects"] * (len(objects) > 1)
    return frames[0], [*others, *["bytes after its end"] * (reader.at < len(reader.raw))]


def _kind_of(value: RValue) -> str | int:
    """The class of a column that decides how it is read, or else its type."""
    return next((name for name in map(str, value.texts("class")) if name in CELLS), value.kind)


def _numbers(value: RValue) -> pl.Series:
    """Numbers as doubles; missing where they are none."""
    if value.kind == DOUBLE:
        return pl.Series(value.data).fill_nan(None)
    return pl.Series(value.data.astype(np.float64)).set(pl.Series(value.data == NO_INTEGER), None)


def _factor(value: RValue) -> pl.Series:
    """Categories: of an ordered factor in their order."""
    levels = value.texts("levels")
    codes = pl.Series(value.data).set(pl.Series(value.data == NO_INTEGER), None)
    ordered = "ordered" in value.texts("class")
    dtype = pl.Enum([level for level in levels if level is not None]) if ordered else pl.Categorical
    return pl.Series(levels, dtype=pl.String).gather(codes - 1).cast(dtype)


def _dates(value: RValue) -> pl.Series:
    days = _numbers(value)
    return days.set(days.is_infinite(), None).floor().cast(pl.Int32).cast(pl.Date)


def _zone(value: RValue) -> str:
    return next((zone for zone in value.texts("tzone") if zone), "")


def _times(value: RValue) -> pl.Series:
    """Times as a clock in their zone shows them."""
    seconds = _numbers(value)
    times = (seconds.set(seconds.is_infinite(), None) * SECOND).round().cast(pl.Int64).cast(pl.Datetime("us"))
    if (zone := _zone(value)) in ("", "UTC", "GMT"):
        return times
    return times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone).dt.replace_time_zone(None)


def _clock(value: RValue) -> pl.Series:
    """Times of day, which are seconds since midnight; numbers if some are beyond a day."""
    seconds = _numbers(value)
    of_day = seconds.drop_nulls().is_between(0, 86_400, closed="left").all()
    return (seconds * SECOND * 1000).round().cast(pl.Int64).cast(pl.Time) if of_day else whole_numbers(seconds)


def _long(value: RValue) -> pl.Series:
    """The whole numbers of the package bit64, whose bits are those of a double."""
    numbers = pl.Series(value.data.view(np.int64))
    return numbers.set(numbers == np.iinfo(np.int64).min, None)


CELLS: Mapping[str | int, Callable[[RValue], pl.Series]] = {
    "factor": _factor,
    "Date": _dates,
    "POSIXct": _times,
    "hms": _clock,
    "integer64": _long,
    LOGICAL: lambda value: pl.Series(value.data == 1).set(pl.Series(value.data == NO_INTEGER), None),
    INTEGER: lambda value: _numbers(value).cast(pl.Int64),
    DOUBLE: lambda value: whole_numbers(_numbers(value)),
    TEXT: lambda value: pl.Series(value.data, dtype=pl.String),
}
"""How columns are read, by class or type; others are no cells."""


def _letters(value: RValue) -> list[str | None]:
    """The letters that say why numbers are missing; no list if there are none."""
    bits = value.data.view(np.uint64)
    letters = (bits >> LETTER) & 0xFF
    tagged = np.isnan(value.data) & (bits & 0xFFFF_FFFF == NO_DOUBLE & 0xFFFF_FFFF) & (letters > 0)
    return [chr(letter) if is_tagged else None for letter, is_tagged in zip(letters.tolist(), tagged.tolist())]


def _divided(cells: pl.Series, value: RValue) -> tuple[pl.Series, pl.Series, list[Any]]:
    """The cells without codes for missing, these codes as text, and the declarations that make them such."""
    reasons = pl.Series(cells.name, [None] * len(cells), dtype=pl.String)
    declared = [part.data for name, part in value.attributes.items() if name == "na_values"]
    codes: list[Any] = [code for part in declared for code in (part if isinstance(part, list) else part.tolist())]
    if (ends := value.attributes.get("na_range")) is not None:
        low, high = ends.data if isinstance(ends.data, list) else ends.data.tolist()
        codes.append({"lo": low, "hi": high})
    if value.kind == DOUBLE and "haven_labelled" in value.texts("class"):
        reasons = pl.Series(cells.name, _letters(value), dtype=pl.String)
    present = cells.drop_nulls().unique().to_list() if codes else []
    named = {cell: code_text(cell) for cell in present if is_declared(cell, codes)}
    if named:
        of_codes = cells.replace_strict(named, default=None, return_dtype=pl.String)
        cells, reasons = cells.set(of_codes.is_not_null(), None), of_codes.zip_with(of_codes.is_not_null(), reasons)
    return cells, reasons, codes


def _value_labels(value: RValue) -> dict[Any, str]:
    """Labels of codes, and of letters that say why numbers are missing."""
    labels = value.attributes.get("labels")
    if labels is None or labels.kind not in (INTEGER, DOUBLE, TEXT):
        return {}
    codes = labels.data if isinstance(labels.data, list) else labels.data.tolist()
    letters = _letters(labels) if labels.kind == DOUBLE else [None] * len(codes)
    named = zip(codes, letters, labels.texts("names"))
    return {letter or code: str(text) for code, letter, text in named if letter or code == code}


def _named_rows(frame: RValue) -> str:
    """What a data frame says of its rows beside their order; empty if nothing."""
    rows = frame.attributes.get("row.names")
    if rows is None:
        return ""
    if rows.kind == TEXT:
        return "" if rows.data == [str(row + 1) for row in range(len(rows.data))] else "names of rows"
    numbers = rows.data.tolist()
    in_short = len(numbers) == 2 and numbers[0] == NO_INTEGER
    return "" if in_short or numbers == list(range(1, len(numbers) + 1)) else "numbers of rows that are not in order"


def _residue(frame: RValue, columns: Mapping[str, RValue]) -> Iterator[str]:
    """A phrase for each thing that a data frame holds beside its cells and what describes them."""
    if rows := _named_rows(frame):
        yield rows
    if more := sorted(set(frame.attributes) - OF_FRAME):
        yield f"attributes {quoted(more)}"
    for name, value in columns.items():
        if more := sorted(key for key in set(value.attributes) - OF_COLUMN if not key.startswith("format.")):
            yield f"attributes {quoted(more)} of column '{name}'"
        if any(set(of.attributes) - {"names"} for of in value.attributes.values() if isinstance(of, RValue)):
            yield f"attributes of attributes of column '{name}'"
        if "factor" in value.texts("class") and len(value.texts("levels")) > len(
            set(value.data.tolist()) - {NO_INTEGER}
        ):
            yield f"levels of column '{name}' that no record has"


def _as_written(value: RValue) -> pl.Series | None:
    """The cells as the file writes them, as text, null for a plain NA; None if equal cells are written alike."""
    if value.kind == DOUBLE:
        bits = pl.Series(value.data.view(np.uint64))
        return bits.cast(pl.String).set(bits == NO_DOUBLE, None)
    if value.written is not None:
        return pl.Series([cell.hex() if text is not None else None for cell, text in zip(value.written, value.data)])
    return (
        pl.Series(value.data).cast(pl.String).set(pl.Series(value.data == NO_INTEGER), None)
        if "factor" in value.texts("class")
        else None
    )
