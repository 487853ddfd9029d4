"""Groups of equal rows, such as records that lack the same columns or are bound by the same rules; ranks of equals."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import classes

Cell = TypeVar("Cell", bound=np.generic)


def rows_by_number(numbers: Longs) -> list[Longs]:
    """The rows with each number, in ascending order; the groups are in the order of their numbers."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def patterns(table: NDArray[Cell]) -> list[tuple[NDArray[Cell], Longs]]:
    """Each distinct row of truth values or integers, shape (d,), and its positions in the table (n, d)."""
    if not len(table):
        return []
    ids, _ = classes(list(table.T.astype(np.int64)), len(table))
    return [(table[rows[0]], rows) for rows in rows_by_number(ids)]


def mean_ranks(cells: NDArray[Cell]) -> Floats:
    """Shape (n,); ranks from 1 of cells none of which is missing, equal ones sharing the mean of theirs."""
    ordered = np.sort(cells)
    return (np.searchsorted(ordered, cells, "left") + np.searchsorted(ordered, cells, "right") + 1) / 2
