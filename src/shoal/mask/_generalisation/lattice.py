"""Full-domain generalisation: the best node of the lattice of levels.

A node gives every column one level of its hierarchy. Two facts prune the search and keep it exact:

- Going up merges classes, so the records in classes under k become fewer: a node that leaves too many of them
  rules out all nodes below it.
- A node's loss without counting suppression is a lower bound of its loss and of that of every node above it,
  and costs no look at the records. Nodes are met in the order of that bound, and the search ends when the
  bound reaches the best loss found.

A node that is not yet ruled out starts a chain to the top, along which a binary search finds where nodes
become feasible (Kohlmayer et al. 2012, Flash): that rules out much at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.hierarchy import Hierarchy
from shoal.data.partition import Progress
from shoal.errors import ParameterError, Refused
from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.mask._suppression.task import row_ids

MOST_NODES = 3_000_000
"""Nodes of a lattice that are still listed; 12 columns of 3 levels have 531 441."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder:
    """One column's hierarchy in arrays.

    Parameters
    ----------
    codes
        Shape (levels, leaves); number of each leaf's label at each level.
    loss
        Shape (levels, leaves); loss of a cell of each leaf at each level, in [0, 1].
    """

    codes: Ints
    loss: Floats

    @classmethod
    def of(cls, hierarchy: Hierarchy, measure: str) -> "Ladder":
        codes = np.array([hierarchy.level_codes(level)[0] for level in range(hierarchy.height + 1)])
        leaves = codes.shape[1]
        if measure == "precision":
            height = np.arange(len(codes)) / hierarchy.height
            return cls(codes=codes, loss=np.repeat(height[:, None], leaves, axis=1))
        under = np.array([np.bincount(row)[row] for row in codes])
        return cls(codes=codes, loss=(under - 1) / max(leaves - 1, 1))

    @property
    def height(self) -> int:
        return len(self.codes) - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Distinct rows of leaves with their number of records.

    Parameters
    ----------
    leaves
        Shape (m, q); row of the hierarchy for each cell.
    counts
        Shape (m,).
    counted
        How many of the columns, from the first on, have a loss; the others only tell records apart.
    """

    leaves: Ints
    counts: Longs
    ladders: Sequence[Ladder]
    counted: int

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    def at(self, levels: Sequence[int]) -> Longs:
        """Shape (m,); class of each row at the levels of a node."""
        return row_ids(
            np.column_stack(
                [ladder.codes[level][self.leaves[:, j]] for j, (ladder, level) in enumerate(zip(self.ladders, levels))]
            )
        )

    def cell_loss(self, levels: Sequence[int]) -> Floats:
        """Shape (m,); sum of the cells' losses of one record of each row."""
        return np.asarray(
            sum(ladder.loss[level][self.leaves[:, j]] for j, (ladder, level) in enumerate(zip(self.ladders, levels)))
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """A node that keeps within the limit of suppression.

    Parameters
    ----------
    kept
        Shape (m,); rows whose class holds k.
    loss
        Mean loss of a cell; cells of suppressed records lose 1.
    """

    levels: tuple[int, ...]
    kept: Bools
    loss: float


def best_node(table: Table, k: int, limit: float, progress: Progress = None) -> tuple[Node, int, int]:
    """The feasible node of least loss, how many nodes were looked at, and how many there are."""
    heights = [ladder.height for ladder in table.ladders]
    total = int(np.prod([h + 1 for h in heights], dtype=np.float64))
    if total > MOST_NODES:
        raise ParameterError(
            f"generalise: these hierarchies make {total:,} combinations of levels, more than "
            f"{MOST_NODES:,}. Use fewer columns or levels, or recoding: local."
        )
    nodes = np.indices([h + 1 for h in heights]).reshape(len(heights), -1).T
    search = _Search(table, k, limit, nodes)
    order = np.argsort(search.bound, kind="stable")
    for place, v in enumerate(order.tolist()):
        if search.best is not None and search.bound[v] >= search.best.loss:
            break
        if progress is not None and place % 64 == 0:
            progress(place / total)
        if not search.out[v]:
            search.follow_chain(v)
    if search.best is None:
        raise Refused(
            f"generalise: even the topmost levels leave more than {limit:g} of the records in classes under "
            f"{k}. Lower k, or raise suppression."
        )
    return search.best, search.looked, total


class _Search:
    def __init__(self, table: Table, k: int, limit: float, nodes: Longs) -> None:
        self.table, self.k, self.nodes = table, k, nodes
        self.most = limit * table.records * (1 + 1e-12)
        self.out = np.zeros(len(nodes), dtype=bool)
        self.seen = np.zeros(len(nodes), dtype=bool)
        self.best: Node | None = None
        self.looked = 0
        self.strides = np.array(
            [
                np.prod([ladder.height + 1 for ladder in table.ladders[j + 1 :]], dtype=np.int64)
                for j in range(nodes.shape[1])
            ]
        )
        share = table.counts / table.records
        column = [
            [float((loss[table.leaves[:, j]] * share).sum()) for loss in ladder.loss]
            for j, ladder in enumerate(table.ladders)
        ]
        self.bound = (
            sum((np.array(column[j])[nodes[:, j]] for j in range(nodes.shape[1])), np.zeros(len(nodes)))
            / table.counted
            * (1 - 1e-12)
        )

    def follow_chain(self, v: int) -> None:
        """Look at v, and at enough nodes above it to know where its chain becomes feasible."""
        chain = [v]
        while (up := self._next(chain[-1])) is not None:
            chain.append(up)
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high) // 2
            if self.feasible(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1
        if not self.out[v]:
            self.feasible(v)

    def _next(self, v: int) -> int | None:
        """The successor of least bound that is not ruled out and could still be best."""
        ups = [
            v + int(self.strides[j])
            for j in range(self.nodes.shape[1])
            if self.nodes[v, j] < self.table.ladders[j].height
        ]
        ups = [u for u in ups if self.best is None or self.bound[u] < self.best.loss]
        return min(ups, key=lambda u: (self.bound[u], u)) if ups else None

    def feasible(self, v: int) -> bool:
        if self.out[v]:
            return False
        if self.seen[v]:
            return True
        self.looked += 1
        self.seen[v] = True
        levels = tuple(int(level) for level in self.nodes[v])
        ids = self.table.at(levels)
        kept = np.bincount(ids, weights=self.table.counts)[ids] >= self.k
        gone = int(self.table.counts[~kept].sum())
        if gone > self.most:
            self.out |= (self.nodes <= self.nodes[v]).all(axis=1)
            return False
        loss = (
            float((self.table.cell_loss(levels)[kept] * self.table.counts[kept]).sum()) + gone * self.table.counted
        ) / (self.table.records * self.table.counted)
        if self.best is None or loss < self.best.loss:
            self.best = Node(levels=levels, kept=kept, loss=loss)
        return True
