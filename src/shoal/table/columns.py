"""Decoding of numbers into columns of a frame: the inverse of `shoal.table.cells`.

A column gets back its original type if that can hold the values, and otherwise the nearest that can: integers that
noise moved out of the range of their type get a wider one, numbers with a fraction become floats, new categories become
text. A type of pandas without missing cells (bool, int64) becomes its nullable counterpart once a cell is missing.
"""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.kernels.arrays import Floats
from shoal.table.frames import has_no
from shoal.table.variable import Variable

RESOLUTION = {"s": 1_000_000, "ms": 1000}
"""Microseconds in each unit of time."""

WITHOUT_LIMITS = (nw.Int128,)
WITHOUT_SIGN = (nw.UInt64, nw.UInt128)
"""Unsigned integer types that hold every non-negative integer that a float64 holds exactly."""


def decode(
    variable: Variable, like: nw.Series[Any] | None, backend: Any, *, decimals: int | None, labels: tuple[Any, ...]
) -> nw.Series[Any]:
    """The column that a variable stands for.

    `like`: the original column, whose type is restored if it can hold the values; None for a new column. `backend`: the
    library of the new column, as narwhals names it. `decimals`: decimals to which numbers are rounded. `labels`:
    categories of the original column: only these keep its type, others become text.
    """
    if not variable.continuous:
        return _categories(variable, like, backend, labels)
    values = np.array(variable.values, dtype=np.float64)
    if decimals is not None:
        values = np.round(values, decimals)
    if like is not None and like.dtype.is_temporal():
        return _times(variable.name, values, like.dtype, backend)
    return _numbers(variable.name, values, like, backend)


def no_negative_zero(series: nw.Series[Any]) -> nw.Series[Any]:
    """The column with -0.0 replaced by 0.0: the two are equal, but would be written differently."""
    if not series.dtype.is_float() or has_no(series, lambda cells: (cells == 0.0) & np.signbit(cells)):
        return series
    return series.zip_with(~(series == 0.0).fill_null(False), series.abs())


def _times(name: str, values: Floats, dtype: Any, backend: Any) -> nw.Series[Any]:
    """Dates from days, time stamps and spans from microseconds, rounded to the resolution of their type."""
    missing = np.isnan(values)
    step = RESOLUTION.get(getattr(dtype, "time_unit", ""), 1)
    whole = (np.round(np.where(missing, 0, values) / step) * step).astype(np.int64)
    if dtype == nw.Duration:
        cells = [None if lacks else timedelta(microseconds=span) for lacks, span in zip(missing, whole.tolist())]
        return nw.new_series(name, cells, nw.Duration("us"), backend=backend).cast(dtype)
    stamps = whole.astype(f"datetime64[{'D' if dtype == nw.Date else 'us'}]").astype("datetime64[us]")
    cells = [None if is_missing else stamp for is_missing, stamp in zip(missing, stamps.tolist())]
    series = nw.new_series(name, cells, nw.Datetime("us"), backend=backend)
    zone = dtype.time_zone if isinstance(dtype, nw.Datetime) else None
    return (series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else series).cast(dtype)


def _numbers(name: str, values: Floats, like: nw.Series[Any] | None, backend: Any) -> nw.Series[Any]:
    missing = np.isnan(values)
    dtype = None if like is None else like.dtype
    if dtype is not None and dtype.is_integer() and (values[~missing] == np.floor(values[~missing])).all():
        if missing.any():
            cells = [None if is_missing else int(value) for is_missing, value in zip(missing, values)]
            return _with_missing(name, cells, like, nw.Int64, backend, fits=_fits(values[~missing], dtype))
        integers = nw.new_series(name, values.astype(np.int64), nw.Int64, backend=backend)
        return integers.cast(dtype) if _fits(values, dtype) else integers
    if missing.any():
        numbers = [None if is_missing else float(value) for is_missing, value in zip(missing, values)]
        return nw.new_series(name, numbers, nw.Float64, backend=backend)
    out = nw.new_series(name, values, nw.Float64, backend=backend)
    return out.cast(dtype) if dtype is not None and dtype.is_float() else out


def _fits(values: Floats, dtype: Any) -> bool:
    """True if integers fit into an integer type; noise can move them out of its range."""
    if dtype in WITHOUT_LIMITS or not len(values):
        return True
    if dtype in WITHOUT_SIGN:
        return bool(values.min() >= 0)
    limits = np.iinfo(type(dtype).__name__.lower() if not isinstance(dtype, type) else dtype.__name__.lower())
    return bool(values.min() >= limits.min and values.max() <= limits.max)


def _categories(
    variable: Variable, like: nw.Series[Any] | None, backend: Any, labels: tuple[Any, ...]
) -> nw.Series[Any]:
    if like is None or not (_of_type(variable.categories, like.dtype) or set(variable.categories) <= {*labels, None}):
        texts = [*(None if category is None else str(category) for category in variable.categories), None]
        return nw.new_series(
            variable.name, [texts[code] for code in variable.values.tolist()], nw.String, backend=backend
        )
    number = next((kind for is_such, kind in _numbers_of(like.dtype) if is_such), None)
    categories = [*(number(c) if number and c is not None else c for c in variable.categories), None]
    values = [categories[code] for code in variable.values.tolist()]
    if None in values and (like.dtype == nw.Boolean or like.dtype.is_integer()):
        return _with_missing(variable.name, values, like, like.dtype, backend)
    series = nw.new_series(variable.name, values, None, backend=backend)
    return series if series.dtype == like.dtype else series.cast(like.dtype)


def _numbers_of(dtype: Any) -> tuple[tuple[bool, type], ...]:
    """The kinds of numbers in Python, and which of them a type has."""
    return (dtype.is_integer(), int), (dtype.is_float(), float), (dtype == nw.Decimal, Decimal)


def _of_type(categories: Sequence[Any], dtype: Any) -> bool:
    """True if a type holds categories, whichever of them the original has."""
    if isinstance(dtype, nw.Enum):
        return set(categories) <= set(dtype.categories)
    if dtype == nw.Categorical:
        return all(isinstance(category, str) for category in categories)
    if dtype == nw.Boolean:
        return all(type(category) is bool for category in categories)
    if not dtype.is_numeric() or dtype == nw.Decimal or any(type(c) not in (int, float) for c in categories):
        return False
    values = np.array(categories, dtype=np.float64)
    return bool(dtype.is_float() or ((values == np.floor(values)).all() and _fits(values, dtype)))


def _with_missing(
    name: str, cells: Sequence[Any], like: nw.Series[Any] | None, dtype: Any, backend: Any, *, fits: bool = True
) -> nw.Series[Any]:
    """Integers or truth values, some of which are missing, as a column.

    `fits`: the original column's type can hold them.
    """
    if like is None or not like.implementation.is_pandas():
        return nw.new_series(name, cells, dtype, backend=backend)
    import pandas as pd

    native = like.to_native().dtype
    if isinstance(native, np.dtype) or not fits:  # which has no missing cells, or no such numbers
        native = "boolean" if dtype == nw.Boolean else "Int64"
    return nw.from_native(pd.Series(cells, name=name, dtype=native), series_only=True)
