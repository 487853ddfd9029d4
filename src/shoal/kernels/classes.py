"""Equivalence classes of records, the distinct values of a column, and laws of two columns (native/classes/)."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels._native import distinct, first_rows, law_support, lone_cells, renumber, text_codes
from shoal.kernels.arrays import Column, Longs

__all__ = ["class_sizes", "classes", "distinct", "first_rows", "law_support", "lone_cells", "lone_without"]
__all__ += ["renumber", "text_codes"]

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


def lone_without(columns: Sequence[Column], n: int) -> list[int]:
    """For each of two or more columns, the number of rows that are alone on all others."""
    if (ranges := _ranges(columns, n)) is None:
        others = ([other for k, other in enumerate(columns) if k != j] for j in range(len(columns)))
        return [int((class_sizes(rest, n) == 1).sum()) for rest in others]
    half = len(columns) // 2
    turned = [*columns[half:], *columns[:half]], [*ranges[half:], *ranges[:half]]
    with ThreadPoolExecutor(1) as thread:
        earlier = thread.submit(_lone_without_last, *turned, half, n)
        later = _lone_without_last(columns, ranges, len(columns) - half, n)
        return [*earlier.result(), *later]


def _lone_without_last(columns: Sequence[Column], ranges: Sequence[tuple[int, int]], last: int, n: int) -> list[int]:
    """For each of the last columns, the number of rows that are alone without it."""
    numbers, worth, lone = _numbered(columns, ranges, n), 1, []
    numbers.sort()
    for _, width in reversed(ranges[-last:]):
        lone.append(_native.lone_without(numbers, worth, width))
        worth *= width
    return lone[::-1]


def _keys(columns: Sequence[Column], n: int) -> Longs | None:
    """Shape (n,); one number a row, which ascend as rows do; None where that is not quicker, or there is no room."""
    return None if (ranges := _ranges(columns, n)) is None else _numbered(columns, ranges, n)


def _ranges(columns: Sequence[Column], n: int) -> list[tuple[int, int]] | None:
    """The least value of each column and how many there may be; None where rows are not to be numbered by them."""
    if not MANY <= n <= MOST_ROWS or not all(column.dtype.name in WHOLE for column in columns):
        return None
    lows = [int(np.min(column)) for column in columns]
    ranges = [(low, int(np.max(column)) - low + 1) for column, low in zip(columns, lows)]
    return ranges if SPARSE * n < math.prod(width for _, width in ranges) < 1 << 62 else None


def _numbered(columns: Sequence[Column], ranges: Sequence[tuple[int, int]], n: int) -> Longs:
    keys = np.zeros(n, dtype=np.int64)
    for column, (low, width) in zip(columns, ranges):
        keys *= width
        keys += column
        keys -= low
    return keys


def _begins(keys: Longs) -> Longs:
    """Shape (C,); where each number begins among sorted ones."""
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
