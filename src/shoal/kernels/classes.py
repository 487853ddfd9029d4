"""Equivalence classes of records, the distinct values of a column, and laws of two columns (native/classes/)."""

import math
from collections.abc import Sequence

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels._native import distinct, first_rows, law_support, lone_cells, renumber, text_codes
from shoal.kernels.arrays import Column, Longs

__all__ = ["class_sizes", "classes", "distinct", "first_rows", "law_support", "lone_cells", "renumber", "text_codes"]

MANY, SPARSE = 1 << 16, 4
"""Rows, and possible rows for each, from which a sort of numbers of rows is quicker than a table of them."""

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
"""Types of columns whose cells are numbers to be put together."""

MOST_ROWS = 1 << 23
"""Rows whose numbers are held at once."""


def classes(columns: Sequence[Column], n: int) -> tuple[Longs, Longs]:
    """Shapes (n,) and (C,); class of each row, and size of each class, numbered as rows ascend column after column.

    As the kernel of this name, by a sort where there are many different rows.
    """
    keys = _keys(columns, n)
    if keys is None:
        return _native.classes(columns, n)
    order = np.argsort(keys)
    begins = _begins(keys[order])
    ids, sizes = np.empty(n, dtype=np.int64), np.diff(begins, append=n)
    ids[order] = np.repeat(np.arange(len(begins)), sizes)
    return ids, sizes


def class_sizes(columns: Sequence[Column], n: int) -> Longs:
    """Shape (C,); the sizes of the classes, as from `classes`."""
    keys = _keys(columns, n)
    if keys is None:
        return _native.class_sizes(columns, n)
    keys.sort()
    return np.diff(_begins(keys), append=n)


def _keys(columns: Sequence[Column], n: int) -> Longs | None:
    """Shape (n,); one number a row, which ascend as rows do; None where that is not quicker, or there is no room."""
    if not MANY <= n <= MOST_ROWS or not all(column.dtype.name in WHOLE for column in columns):
        return None
    lows = [int(np.min(column)) for column in columns]
    widths = [int(np.max(column)) - low + 1 for column, low in zip(columns, lows)]
    if not SPARSE * n < math.prod(widths) < 1 << 62:
        return None
    keys = np.zeros(n, dtype=np.int64)
    for column, low, width in zip(columns, lows, widths):
        keys *= width
        keys += column
        keys -= low
    return keys


def _begins(keys: Longs) -> Longs:
    """Shape (C,); where each number begins among sorted ones."""
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
