"""Equivalence classes of records, the distinct values of a column, and laws of two columns (native/classes/)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import shoal.kernels._native as _native
from shoal.kernels._native import (
    class_sizes,
    classes,
    distinct,
    first_rows,
    law_support,
    lone_cells,
    renumber,
    text_codes,
)
from shoal.kernels.arrays import Column, Longs

__all__ = ["class_sizes", "classes", "distinct", "first_rows", "law_support", "lone_cells", "lone_without"]
__all__ += ["renumber", "text_codes"]


def lone_without(columns: Sequence[Column], n: int) -> tuple[Longs, list[int]]:
    """Sizes of the classes, shape (C,), and for each of two or more columns the number of rows alone on all others."""
    half = len(columns) // 2
    with ThreadPoolExecutor(1) as thread:
        earlier = thread.submit(_lone_without, columns[half:], columns[:half], n)
        sizes, later = _lone_without(columns[:half], columns[half:], n)
        return sizes, [*earlier.result()[1], *later]


def _lone_without(before: Sequence[Column], last: Sequence[Column], n: int) -> tuple[Longs, list[int]]:
    """For each of the last columns, where they are too many for one order of the rows by two of them."""
    if (alone := _native.lone_without(before, last, n)) is not None:
        return alone
    half = len(last) // 2
    _, earlier = _lone_without([*before, *last[half:]], last[:half], n)
    sizes, later = _lone_without([*before, *last[:half]], last[half:], n)
    return sizes, [*earlier, *later]
