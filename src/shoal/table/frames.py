"""Frames reduced to their cells, in types that the package can compute with.

Whatever a frame carries beside its cells travels with it, above all into files, and no column of the plan gave it a
role: the index of a pandas frame (names of people, or the order of the records before they were shuffled), its `attrs`,
the metadata of an Arrow table, and categories that no cell has any more (a suppressed diagnosis still stands in its
column's dictionary). Two kinds of missing cell in one column, null and not-a-number, are written differently and so
tell records apart that count as equal; only null is kept.
"""

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.table.records import EXACT_INTEGERS
from shoal.vocabulary.errors import DataError


def plain_types(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The same cells, with Arrow's rarer types (views, half floats, dictionaries) cast to the usual ones.

    Raises DataError if the cells of a column do not fit into the usual type.
    """
    if frame.implementation.is_pyarrow():
        native = frame.to_native()
        for place, (name, kind) in enumerate(zip(native.column_names, native.schema.types)):
            if (plain := _plain_type(kind)) != kind:
                native = native.set_column(place, name, _cast(native.column(name), plain, name))
        return nw.from_native(native, eager_only=True)
    if not frame.implementation.is_pandas():
        return frame
    native = frame.to_native()
    changed = {}
    for name, kind in native.dtypes.items():
        arrow = getattr(kind, "pyarrow_dtype", None)
        if arrow is not None and (plain := _plain_type(getattr(arrow, "value_type", arrow))) != arrow:
            cells = _cast(native[name].array.__arrow_array__(), plain, name)
            changed[name] = type(native[name])(type(native[name].array)(cells), index=native.index)
    return nw.from_native(native.assign(**changed), eager_only=True) if changed else frame


def _plain_type(kind: Any) -> Any:
    """The usual type for a rarer one of Arrow."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_time32(kind):
        return pa.time64("us")
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_decimal256(kind):
        return pa.decimal128(38, kind.scale)
    return kind


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cast(cells: Any, kind: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        return cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{name}' is of the type {cells.type}, and its cells do not fit into {kind}. Convert it."
        ) from None


def nanoseconds(times: nw.Series[Any]) -> Longs:
    """Shape (n,); times of day, none missing, in nanoseconds since midnight."""
    if not times.implementation.is_polars():
        import pyarrow as pa

        in_arrow = pa.chunked_array(times.to_arrow()) if not times.implementation.is_pyarrow() else times.to_native()
        return np.asarray(in_arrow.cast(pa.time64("ns")).cast(pa.int64()).to_numpy())
    return np.asarray(times.cast(nw.Int64).to_numpy())


def ways_of_missing(series: nw.Series[Any]) -> Ints | None:
    """Shape (n,); 0 for null, from 1 the different bit patterns of not-a-number; None if there is one kind only."""
    if not series.dtype.is_float() or has_no(series, np.isnan):
        return None
    values = np.asarray(series.cast(nw.Float64).fill_null(0.0).to_numpy(), dtype=np.float64)
    strange = np.isnan(values)
    if not strange.any():
        return None
    bits, place = np.unique(values[strange].view(np.int64), return_inverse=True)
    ways = np.zeros(len(values), dtype=np.int32)
    ways[strange] = place + int(bool(series.is_null().any()))
    return ways if ways.any() else None


def has_no(series: nw.Series[Any], strange: Callable[[Floats], Any]) -> bool:
    """True if it is certain, without a conversion, that no cell of a float column is `strange`.

    A missing cell counts as not-a-number. Only polars columns are looked at; for others the result is False.
    """
    return series.implementation.is_polars() and not strange(series.to_numpy()).any()


def only_whole_numbers(series: nw.Series[Any]) -> bool:
    """True if all known cells of a float column are integers small enough to be exact."""
    present = series.drop_nulls()
    if not series.dtype.is_float() or not len(present):
        return False
    return bool((present.abs() <= EXACT_INTEGERS).all() and (present == present.round(0)).all())


def strip_metadata(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The same cells without index, attributes, metadata, and categories that no cell has."""
    columns = [_stripped_column(frame.get_column(name)) for name in frame.columns]
    native = (frame.with_columns(*columns) if columns else frame).to_native()
    if frame.implementation.is_pandas_like():
        native = native.reset_index(drop=True)
        native.attrs = {}
    elif frame.implementation.is_pyarrow():
        native = type(native).from_arrays(native.columns, names=native.column_names)
    return nw.from_native(native, eager_only=True)


def _stripped_column(series: nw.Series[Any]) -> nw.Series[Any]:
    if series.dtype.is_float():
        return series if has_no(series, np.isnan) else series.fill_nan(None)
    if series.dtype not in (nw.Categorical, nw.Enum):
        return series
    native = series.to_native()
    if series.implementation.is_pandas_like():
        native = native.cat.remove_unused_categories()
    elif series.implementation.is_pyarrow():
        native = native.cast(native.type.value_type).dictionary_encode()
    elif isinstance(series.dtype, nw.Enum):
        used = set(series.drop_nulls().unique().to_list())
        return series.cast(nw.Enum([c for c in series.cat.get_categories().to_list() if c in used]))
    kept: nw.Series[Any] = nw.from_native(native, series_only=True)
    return kept.alias(series.name)
