"""Equivalence classes of records, and the distinct values of a column (native/classes/)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoal.kernels._native as _native
from shoal.kernels.arrays import Ints, Longs, ints, longs

READ_AS_THEY_ARE = frozenset(map(np.dtype, ("f8", "i8", "i4", "i2", "i1", "u4", "u2", "u1")))


def classes(columns: Sequence[NDArray[Any]], n: int) -> tuple[Longs, Longs]:
    """Number records so that two have the same number exactly where all columns agree.

    Parameters
    ----------
    columns
        Each of shape (n,), of integers or floating-point numbers; 0 and -0 differ, all NaNs are one value. No
        columns make one class of all records.

    Returns
    -------
    Shape (n,) and (C,); class of each record, counted from 0 in the order of the values, column after column
    (floating-point ones in that of their bits where not all are whole), and the sizes of the classes.
    """
    grouping: tuple[Longs, Longs] = _native.classes([_readable(column) for column in columns], n)
    return grouping


def class_sizes(columns: Sequence[NDArray[Any]], n: int) -> Longs:
    """The sizes that `classes` gives, in half the time."""
    sizes: Longs = _native.class_sizes([_readable(column) for column in columns], n)
    return sizes


def first_rows(ids: Longs, count: int) -> Longs:
    """Shape (count,); where each of the numbers 0 to count - 1 stands first among `ids`, which has them all."""
    rows: Longs = _native.first_rows(longs(ids), count)
    return rows


def renumber(codes: Ints, table: Ints) -> None:
    """Replace each code, shape (n,), by the entry of `table` at it; -1 stays."""
    _native.renumber(codes, ints(table))


def _readable(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype in READ_AS_THEY_ARE:
        return np.ascontiguousarray(column)
    return np.ascontiguousarray(column, dtype=np.float64 if column.dtype.kind == "f" else np.int64)


def distinct(values: Longs) -> tuple[Longs, Ints, Longs]:
    """Distinct values in ascending order, where each record's value stands among them, and how often each occurs.

    Parameters
    ----------
    values
        Shape (n,).

    Returns
    -------
    Shapes (C,), (n,) and (C,): what `np.unique(values, return_inverse=True, return_counts=True)` gives, in
    O(n + C log C).
    """
    categories, places, counts = _native.distinct(longs(values))
    return categories, places, counts


def text_codes(stream: object) -> tuple[Ints, Longs] | None:
    """Number the texts of a column in the order in which they first appear (native/classes/text_codes.cpp).

    Parameters
    ----------
    stream
        What `__arrow_c_stream__` gives for the column.

    Returns
    -------
    Shape (n,), codes from 0, -1 for missing cells; and the row where each code first appears. None where the
    stream holds something else than text or categories that are text.
    """
    coded: tuple[Ints, Longs] | None = _native.text_codes(stream)
    return coded
