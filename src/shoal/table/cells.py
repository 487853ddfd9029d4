"""Encoding of a column's cells as numbers: the contents of a `Variable` for each type of data.

In a continuous column numbers stay as they are, dates become days, and times and durations become microseconds. In any
other column cells become codes into its categories. `shoal.table.columns` decodes them.
"""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Floats, Ints, floats, ints, longs
from shoal.kernels.classes import distinct, first_rows, renumber, text_codes
from shoal.table.frames import nanoseconds
from shoal.table.records import EXACT_INTEGERS
from shoal.table.schema import WITHOUT_CATEGORIES, Column, Level
from shoal.table.standardisation import check_magnitude
from shoal.table.variable import Unit, Variable
from shoal.vocabulary.errors import DataError, SchemaError, plural

BEYOND_INT64 = (nw.UInt64, nw.Int128, nw.UInt128)
NO_CELLS = (nw.List, nw.Array, nw.Struct, nw.Binary, nw.Unknown)
"""Types that no cell of a table of records may have."""

UNCOMPARED = ("identifier", "other")
"""Roles whose cells are compared only by guarantees that name the column; such cells must then be exact, too."""

SIMPLE = {str, int, float, bool, Decimal, date, datetime, time, timedelta}


def encode(series: nw.Series[Any], column: Column, folder: Path) -> Variable:
    """A column in numbers as its description says, with missing cells kept missing.

    Hierarchy files are looked up in `folder`. Numbers that need no conversion are views of the table's own memory.
    """
    dtype = series.dtype
    _check_cells(series, dtype)
    inexact = _inexactness(series, dtype)
    if inexact and column.role not in UNCOMPARED:
        raise DataError(inexact)
    level = column.level or _default_level(dtype, column)
    common: dict[str, Any] = {
        "name": series.name,
        "role": column.role,
        "level": level,
        "weight": column.weight,
        "scale": column.scale,
        "inexact": inexact,
    }
    if level == "continuous":
        values = _numbers(series, dtype)
        if column.role == "weight" and (wrong := int((values <= 0).sum())):
            raise DataError(
                f"The weight column '{series.name}' has {plural(wrong, 'weight')} of zero or less; a "
                f"record stands for a positive number of persons. Correct them."
            )
        return Variable(values=values, unit=_unit(dtype), **common)
    codes, categories = _categories(series, dtype, column)
    if column.hierarchy is not None:
        categories = tuple(map(_as_leaf, categories))
    try:
        hierarchy = column.load_hierarchy(_counts(codes, categories), folder)
    except SchemaError as error:
        if not any(category is not None for category in categories):
            raise SchemaError(
                f"Column '{series.name}' has no value of which its hierarchy could be made. Drop the column."
            ) from None
        raise SchemaError(f"Column '{series.name}': {error}") from None
    return Variable(values=codes, categories=categories, hierarchy=hierarchy, **common)


def _as_leaf(category: Any) -> Any:
    """A whole number as hierarchies write it: 10 for 10.0, as pandas holds integers in columns with missing cells."""
    whole = isinstance(category, (float, Decimal)) and isfinite(category) and category == int(category)
    return int(category) if whole and not str(category).startswith("-0") else category


def value_counts(series: nw.Series[Any]) -> dict[str, int]:
    """Number of records with each value of a column, written as categories are and in the data's own order."""
    column = encode(series, Column(role="other", level="nominal"), Path())
    return _counts(column.values, column.categories)


def _counts(codes: Ints, categories: tuple[Any, ...]) -> dict[str, int]:
    records = np.bincount(codes[codes >= 0], minlength=len(categories)).tolist()
    return {str(category): n for category, n in zip(categories, records) if category is not None}


def _check_cells(series: nw.Series[Any], dtype: Any) -> None:
    """Refuse a column whose cells are no single simple type, as a column of objects may be."""
    if dtype.is_numeric() or dtype == nw.String:
        return
    if dtype == nw.Object:
        types = {type(v) for v, is_missing in zip(series.to_list(), _missing(series)) if not is_missing}
        fits = not types or (len(types) == 1 and types <= SIMPLE)
    else:
        fits = dtype not in NO_CELLS or (dtype == nw.Unknown and bool(series.is_null().all()))
    if not fits:
        raise _unfit(series, dtype)


def _unfit(series: nw.Series[Any], dtype: Any) -> DataError:
    return DataError(
        f"Column '{series.name}' holds {type(dtype).__name__.lower()} cells, or cells of several types; a column "
        f"must hold numbers, text, dates or truth values. Convert it, or take it out of the table."
    )


def _inexactness(series: nw.Series[Any], dtype: Any) -> str:
    """Reason why different cells may be equal as numbers and so compare as equal; empty if they cannot."""
    if dtype not in (nw.Decimal, nw.Time, nw.Datetime, nw.Duration):
        return ""
    present = series.drop_nulls()
    if dtype == nw.Decimal and any(Decimal(repr(float(cell))) != cell for cell in present.unique().to_list()):
        return (
            f"Column '{series.name}' has decimal numbers with more digits than a number holds exactly. "
            f"Round it to 15 digits, or make it text and nominal."
        )
    if dtype == nw.Time:
        finer = (nanoseconds(present) % 1000 != 0).any()
    elif isinstance(dtype, (nw.Datetime, nw.Duration)) and dtype.time_unit == "ns":
        counted = "datetime64[ns]" if isinstance(dtype, nw.Datetime) else "timedelta64[ns]"
        finer = (_clock(present, dtype).to_numpy().astype(counted).astype(np.int64) % 1000 != 0).any()
    else:
        return ""
    if finer:
        return (
            f"Column '{series.name}' has times finer than a microsecond, which are not told apart. "
            f"Round it to microseconds."
        )
    return ""


def _unit(dtype: Any) -> Unit | None:
    if dtype == nw.Date:
        return "date"
    return "datetime" if dtype == nw.Datetime else "duration" if dtype == nw.Duration else None


def _default_level(dtype: Any, column: Column) -> Level:
    if column.role in WITHOUT_CATEGORIES:
        return "nominal"
    if column.order is not None:
        return "ordinal"
    if column.hierarchy is not None:
        return "nominal"
    numeric = dtype.is_numeric() or dtype in (nw.Date, nw.Datetime, nw.Duration)
    return "continuous" if numeric else "nominal"


def _plain(series: nw.Series[Any], dtype: Any) -> NDArray[Any] | None:
    """The numbers of a column as a NumPy array without a copy (NaN for missing); None if NumPy cannot hold them."""
    kinds = "iu" if dtype.is_integer() and dtype not in BEYOND_INT64 else "f" if dtype.is_float() else ""
    if not kinds:
        return None
    values = series.to_native().to_numpy()
    if values.dtype.kind not in kinds:
        return None
    values = np.ascontiguousarray(values).view()
    values.flags.writeable = False
    return values


def _numbers(series: nw.Series[Any], dtype: Any) -> NDArray[Any]:
    """Shape (n,); float64, or integers as they are."""
    values = _plain(series, dtype)
    if values is None:
        values = _converted(series, dtype)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all() and (infinite := int(np.isinf(values).sum())):
            raise DataError(
                f"Column '{series.name}' has {plural(infinite, 'infinite value')}; numbers must be finite. "
                f"Replace them before the release."
            )
        check_magnitude(values, series.name)
        return floats(values)
    if values.dtype.itemsize == 8 and len(values) and max(int(values.max()), -int(values.min())) > EXACT_INTEGERS:
        raise _inexact(series)
    return values


def _clock(series: nw.Series[Any], dtype: Any) -> nw.Series[Any]:
    """Time stamps with a zone converted to UTC; any other column unchanged."""
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return series


def _inexact(series: nw.Series[Any]) -> DataError:
    return DataError(
        f"Column '{series.name}' has integers beyond 2^53, which are not exact as numbers. "
        f"Set level: nominal, or rescale it."
    )


def _converted(series: nw.Series[Any], dtype: Any) -> Floats:
    if dtype.is_temporal():
        days = dtype == nw.Date
        series = _clock(series, dtype)
        series = series.cast(nw.Datetime("us")) if days or dtype == nw.Datetime else series
        counted = "timedelta64[us]" if dtype == nw.Duration else "datetime64[D]" if days else "datetime64[us]"
        stamps = series.to_numpy().astype(counted)
        values = stamps.astype(np.int64).astype(np.float64)
        values[np.isnat(stamps)] = np.nan
        if np.nanmax(np.abs(values), initial=0.0) > EXACT_INTEGERS:
            raise DataError(
                f"Column '{series.name}' has times more than 285 years from 1970, which are not exact as "
                f"numbers of microseconds. Set level: nominal, or make it a date."
            )
        return np.ascontiguousarray(values)
    if not dtype.is_numeric() and dtype != nw.Boolean:
        raise DataError(
            f"Column '{series.name}' holds text but its level is continuous. "
            f"Set level: nominal or ordinal, or turn the text into numbers."
        )
    if dtype.is_integer():
        present = series.drop_nulls()
        if len(present) and max(abs(int(present.min())), abs(int(present.max()))) > EXACT_INTEGERS:
            raise _inexact(series)
    missing = _missing(series)
    values = np.array(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
    values[missing] = np.nan
    return values


def _missing(series: nw.Series[Any]) -> Bools:
    mask = series.is_null()
    if series.dtype.is_float():
        mask = mask | series.is_nan().fill_null(True)
    return np.asarray(mask.to_numpy(), dtype=bool)


def _categories(series: nw.Series[Any], dtype: Any, column: Column) -> tuple[Ints, tuple[Any, ...]]:
    """Codes into the categories, -1 for missing, and the categories in their order."""
    codes, present = _coded(series, dtype)
    kept = [c for c, cell in enumerate(present) if cell is not None]
    if column.order is not None:
        categories = tuple(column.order)
        if absent := sum(present[c] not in set(categories) for c in kept):
            raise DataError(
                f"Column '{series.name}' has an order that leaves out {plural(absent, 'value')} of the data. "
                f"Add them to order."
            )
        rank = {category: i for i, category in enumerate(categories)}
        signed = {str(category): i for i, category in enumerate(categories) if category == 0}  # -0.0 beside 0.0
        place = [-1 if cell is None else signed.get(str(cell), rank[cell]) for cell in present]
    else:
        if dtype == nw.Enum or (dtype == nw.Categorical and column.level == "ordinal"):
            rank = {category: i for i, category in enumerate(series.cat.get_categories().to_list())}
            kept.sort(key=lambda c: rank[present[c]])
        else:
            kept.sort(key=lambda c: (type(present[c]).__name__, present[c], str(present[c])))
        categories = tuple(present[c] for c in kept)
        place = [-1] * len(present)
        for i, c in enumerate(kept):
            place[c] = i
    renumber(codes, ints(place))
    return codes, categories


def _coded(series: nw.Series[Any], dtype: Any) -> tuple[Ints, list[Any]]:
    """Codes into a list of distinct cells; missing cells have -1, or the code of a None."""
    values = _plain(series, dtype)
    if values is not None and values.dtype.kind == "f":  # by their bits: -0.0 is not written as 0.0
        categories, codes, _ = distinct(np.where(np.isnan(values), np.nan, values).astype(np.float64).view(np.int64))
        return codes, [None if np.isnan(v) else v for v in categories.view(np.float64).tolist()]
    if values is not None:
        categories, codes, _ = distinct(longs(values))
        return codes, categories.tolist()
    if dtype in (nw.String, nw.Categorical, nw.Enum) and (coded := _text(series, dtype)):
        return coded
    numbers: dict[Any, int] = {}
    cells = [_python_cell(cell) for cell in series.to_list()]
    missing = _missing(series)
    codes = np.array(
        [-1 if is_missing else numbers.setdefault((type(v), v), len(numbers)) for v, is_missing in zip(cells, missing)],
        dtype=np.int32,
    )
    if len({kind for kind, _ in numbers}) > 1:
        raise _unfit(series, dtype)
    return codes, [value for _, value in numbers]


def _python_cell(cell: Any) -> Any:
    """A cell of NumPy, or a time stamp or span of pandas, as the type of Python's; any other cell unchanged."""
    if isinstance(cell, (np.str_, np.bool_, np.number)):
        return cell.item()
    if isinstance(cell, datetime) and hasattr(cell, "to_pydatetime"):
        return None if cell != cell else cell.to_pydatetime()
    return cell.to_pytimedelta() if isinstance(cell, timedelta) and hasattr(cell, "to_pytimedelta") else cell


def _text(series: nw.Series[Any], dtype: Any) -> tuple[Ints, list[Any]] | None:
    """As `_coded`, from the codes of the column's own library or from Arrow's text layout; None if it has neither."""
    native = series.to_native()
    if dtype != nw.String and series.implementation.is_pandas():
        return native.cat.codes.to_numpy().astype(np.int32), native.cat.categories.tolist()
    if dtype != nw.String and series.implementation.is_polars():
        numbers = native.to_physical().to_numpy()  # with missing cells they are floats
        categories, codes, _ = distinct(longs(np.nan_to_num(numbers, nan=-1) if numbers.dtype.kind == "f" else numbers))
        return codes, native[first_rows(longs(codes), len(categories))].to_list()
    in_arrow = not series.implementation.is_pandas() or getattr(native.dtype, "storage", None) == "pyarrow"
    if not in_arrow or not hasattr(native, "__arrow_c_stream__"):
        return None
    coded = text_codes(native.__arrow_c_stream__())
    return coded and (coded[0], series[coded[1]].to_list())
