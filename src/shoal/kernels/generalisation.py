"""Recoding of categories over hierarchies (native/generalisation/)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels._native import MOST_NODES, BestNode, Walked, anneal, best_node, cheapest_nodes, node_scores, walk
from shoal.kernels.arrays import Floats, Ints, Longs


class Ladder(NamedTuple):
    """One column's hierarchy in arrays.

    Parameters
    ----------
    labels
        Shape (levels, leaves); number of each leaf's label at each level. Labels unite on the way up, and need not end
        in one.
    loss
        Shape (levels, leaves); what a cell loses whose label at that level is released: the same for all leaves under
        one label, and no less on the way up.
    """

    labels: Ints
    loss: Floats

    @property
    def height(self) -> int:
        return len(self.labels) - 1


class RecodingTable(_native.RecodingTable):
    """Distinct combinations of leaves, and the records that have them.

    Parameters
    ----------
    ladders
        One a column.
    leaves
        Shape (m, q), m >= 1; the distinct combinations.
    rows
        Shape (n,); combination of each record.
    times
        Shape (n,); how many records each entry of `rows` stands for; None for one each. Only `best_node` without
        requirements beside k heeds it.
    """

    def __init__(self, *, ladders: Sequence[Ladder], leaves: Ints, rows: Ints, times: Longs | None = None) -> None:
        super().__init__(ladders, leaves, rows, times)
        self.ladders, self.leaves, self.rows, self.times = ladders, leaves, rows, times

    @property
    def nodes(self) -> int:
        """Combinations of levels."""
        return int(np.prod([ladder.height + 1 for ladder in self.ladders], dtype=object))


def ancestor_levels(labels: Ints, leaves: Ints, classes: Ints | Longs, least: int = 0) -> Ints:
    """Shape (n,); the lowest level, `least` or above, at which all records of a class have one label.

    Parameters
    ----------
    labels
        Shape (levels, leaves).
    leaves, classes
        Shape (n,); classes are numbered from 0, numbers may have gaps.
    """
    if not len(leaves):
        return np.empty(0, dtype=np.int32)
    first = np.zeros(int(classes.max()) + 1, dtype=np.int64)
    first[classes[::-1]] = leaves[::-1]
    level = np.full(len(first), least, dtype=np.int32)
    for higher in range(least, len(labels) - 1):
        differ = labels[higher][leaves] != labels[higher][first][classes]
        level[classes[differ]] = higher + 1
    return level[classes]
