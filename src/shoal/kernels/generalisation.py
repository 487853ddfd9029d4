"""Recoding of categories over hierarchies (native/generalisation/)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels._native import MOST_NODES, BestNode, Walked, anneal, best_node, cheapest_nodes, node_scores, walk
from shoal.kernels.arrays import Floats, Ints, Longs


class Ladder(NamedTuple):
    """One column's hierarchy, in arrays.

    Parameters
    ----------
    labels
        Shape (levels, leaves); number of each leaf's label at each level. Labels unite on the way up, not necessarily
        into one.
    loss
        Shape (levels, leaves); loss of a cell that is released by its label at that level: the same for all leaves
        under one label, and never smaller at a higher level.
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
        One hierarchy for each column.
    leaves
        Shape (m, q), m >= 1; the distinct combinations.
    rows
        Shape (n,); combination of each record.
    times
        Shape (n,); number of records that each entry of `rows` stands for; None for one each. Used only by `best_node`
        without requirements other than k.
    """

    def __init__(self, *, ladders: Sequence[Ladder], leaves: Ints, rows: Ints, times: Longs | None = None) -> None:
        super().__init__(ladders, leaves, rows, times)
        self.ladders, self.leaves, self.rows, self.times = ladders, leaves, rows, times

    @property
    def nodes(self) -> int:
        """Number of combinations of levels."""
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
