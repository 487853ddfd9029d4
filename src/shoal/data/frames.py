"""A frame with nothing in it but its cells.

What a frame carries beside its cells goes wherever the frame goes, into files above all, and no column of the plan
gave it a role: the index of a pandas frame (names of people, or the order of the records before they were
shuffled), its `attrs`, the metadata of an Arrow table, and the categories of which no cell is left (a diagnosis that
was suppressed still stands in the dictionary of its column). Two ways to be missing in one column, null and
not-a-number, are written differently and so tell records apart that count as equal; null is left.
"""

from typing import Any

import narwhals.stable.v2 as nw


def strip_metadata(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The same cells, and neither index, attributes, metadata nor categories that no cell has."""
    columns = [_stripped_column(frame[name]) for name in frame.columns]
    native = (frame.with_columns(*columns) if columns else frame).to_native()
    if frame.implementation.is_pandas_like():
        native = native.reset_index(drop=True)
        native.attrs = {}
    elif frame.implementation.is_pyarrow():
        native = type(native).from_arrays(native.columns, names=native.column_names)
    return nw.from_native(native, eager_only=True)


def _stripped_column(series: nw.Series[Any]) -> nw.Series[Any]:
    if series.dtype.is_float():
        return series.fill_nan(None)
    if series.dtype not in (nw.Categorical, nw.Enum):
        return series
    native = series.to_native()
    if series.implementation.is_pandas_like():
        native = native.cat.remove_unused_categories()
    elif series.implementation.is_pyarrow():
        native = native.cast(native.type.value_type).dictionary_encode()
    elif isinstance(series.dtype, nw.Enum):
        held = set(series.drop_nulls().unique().to_list())
        return series.cast(nw.Enum([c for c in series.cat.get_categories().to_list() if c in held]))
    kept: nw.Series[Any] = nw.from_native(native, series_only=True)
    return kept.alias(series.name)
