"""The lattice of full-domain generalisation as a map: what each combination of levels would lose and leave at risk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import classes
from shoal.mask._generalisation.task import GeneralisationTask

Levels = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A combination of levels.

    Parameters
    ----------
    levels
        Level of each column.
    small
        Records in classes of fewer than k, which are dropped.
    smallest
        Size of the smallest class of those that are left; 0 if none are.
    average, highest
        Average and highest risk of a record that is left: one over the size of its class.
    loss
        Mean loss of a cell, that of a dropped record 1.
    """

    levels: Levels
    small: int
    smallest: int
    average: float
    highest: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """Nodes of a lattice: all, or those around one of them.

    Parameters
    ----------
    of
        Number of nodes of the whole lattice.
    ranges
        Least and greatest level of each column.
    """

    nodes: tuple[Node, ...]
    of: int
    ranges: tuple[tuple[int, int], ...]


def lattice(task: GeneralisationTask, k: int, around: Levels, most_nodes: int, most_work: int) -> Lattice:
    """The nodes of a task's lattice, or the nearest ones around a node.

    Parameters
    ----------
    around
        Level of each column; the nodes nearest to it, counted in levels, are taken where not all are.
    most_nodes, most_work
        Largest number of nodes, and of nodes times combinations of values.
    """
    ranges = tuple(column.levels for column in task.columns)
    of = int(np.prod([high - low + 1 for low, high in ranges], dtype=object))
    most = max(1, min(most_nodes, most_work // max(len(task.table.leaves), 1)))
    chosen = product(*(range(low, high + 1) for low, high in ranges)) if of <= most else _nearest(ranges, around, most)
    costs = [column.weight * column.cell_loss(task.loss) for column in task.columns]
    counts = np.bincount(task.table.rows, weights=task.times, minlength=len(task.table.leaves))
    nodes = tuple(_node(task, levels, k, counts, costs) for levels in sorted(chosen))
    return Lattice(nodes=nodes, of=of, ranges=ranges)


def _nearest(ranges: Sequence[tuple[int, int]], around: Levels, most: int) -> Iterator[Levels]:
    """The nodes nearest to one, by the number of levels between; the last distance is cut off where it must be."""
    seen, ring = {around}, [around]
    while ring and len(seen) <= most:
        yield from ring
        further = sorted({step for levels in ring for step in _steps(ranges, levels)} - seen)
        ring = further[: most - len(seen)]
        seen |= set(ring)


def _steps(ranges: Sequence[tuple[int, int]], levels: Levels) -> Iterator[Levels]:
    for j, (low, high) in enumerate(ranges):
        for level in (levels[j] - 1, levels[j] + 1):
            if low <= level <= high:
                yield (*levels[:j], level, *levels[j + 1 :])


def _node(task: GeneralisationTask, levels: Levels, k: int, counts: Floats | Longs, costs: Sequence[Floats]) -> Node:
    leaves = task.table.leaves
    apart = [leaves[:, -1]] if task.apart is not None else []
    codes = [column.labels[level][leaves[:, j]] for j, (column, level) in enumerate(zip(task.columns, levels))]
    of_class = classes([*codes, *apart], len(leaves))[0]
    sizes = np.bincount(of_class, weights=counts)
    kept = sizes[of_class] >= k
    lost = sum((cost[level][leaves[:, j]] for j, (cost, level) in enumerate(zip(costs, levels))), np.zeros(len(leaves)))
    records = float(counts.sum())
    left = sizes[sizes >= k]
    return Node(
        levels=levels,
        small=int(counts[~kept].sum()),
        smallest=int(left.min()) if len(left) else 0,
        average=float(len(left) / left.sum()) if len(left) else 0.0,
        highest=float(1 / left.min()) if len(left) else 0.0,
        loss=float((counts * np.where(kept, lost / task.whole, 1.0)).sum() / records),
    )
