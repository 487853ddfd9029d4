"""Recoding of categories over hierarchies (native/generalisation/)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats, ints, longs
from shoal.kernels.requirement.requirement_partition import RequirementCheck

MOST_NODES = 2_000_000
"""Nodes of a lattice that one search looks at, however large the lattice."""

MOST_CELLS = 2_000_000_000
"""Cells that one search looks at, some ten seconds' worth; for a thinned lattice as many again."""

MOST_STEPS = 2_000_000_000
"""Rows that one search for cheapest nodes looks at, some ten seconds' worth."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodingTable:
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

    ladders: Sequence[Ladder]
    leaves: Ints
    rows: Ints
    times: Longs | None = None

    @cached_property
    def counts(self) -> Longs:
        """Shape (m,); records of each combination."""
        return np.bincount(self.rows, weights=self.times, minlength=len(self.leaves)).astype(np.int64)

    @cached_property
    def native(self) -> Any:
        return _native.RecodingTable(
            ints([ladder.labels.shape[1] for ladder in self.ladders]),
            ints([ladder.height for ladder in self.ladders]),
            ints(np.concatenate([ladder.labels.ravel() for ladder in self.ladders])),
            floats(np.concatenate([ladder.loss.ravel() for ladder in self.ladders])),
            ints(self.leaves),
            longs(self.counts),
            ints(self.rows),
        )

    @property
    def nodes(self) -> int:
        """Combinations of levels."""
        return int(np.prod([ladder.height + 1 for ladder in self.ladders], dtype=object))


class Walked(NamedTuple):
    """The outcome of a walk.

    Parameters
    ----------
    labels
        Shape (n,); class of each record, from 0, numbers may have gaps; -1 for suppressed records.
    nodes
        Nodes visited.
    """

    labels: Ints
    nodes: int


def walk(
    table: RecodingTable,
    k: int,
    check: RequirementCheck,
    *,
    suppressed: float,
    most: int,
    most_nodes: int = MOST_NODES,
    most_cells: int = MOST_CELLS,
    progress: Progress = None,
) -> Walked:
    """Classes of `k` or more without excess, by visiting the lattice's nodes in the order of their mean loss.

    Parameters
    ----------
    check
        What every class must satisfy; no columns for nothing but k.
    suppressed
        What a suppressed record loses.
    most
        Records that may be suppressed where they would cost others more than that. Records that no class can take,
        since some column has no label in common with any, are suppressed beyond it.
    most_nodes, most_cells
        After so many the walk goes on through a thinned lattice, with as many again; what is left then is looked at on
        the way to the top and joins the classes there are.

    Notes
    -----
    Deterministic. Ties go to the node met first and to the class made first.
    """
    return Walked(
        *_native.walk_lattice(
            table.native,
            k,
            ints(check.bins),
            list(check.requirements),
            suppressed,
            most,
            most_nodes,
            most_cells,
            progress,
        )
    )


def anneal(
    table: RecodingTable,
    k: int,
    check: RequirementCheck,
    labels: Ints,
    *,
    suppressed: float,
    most: int,
    proposals: int,
    seed: int,
    progress: Progress = None,
) -> Ints:
    """Shape (n,); classes that lose no more than those given, every one of `k` or more and without excess.

    Parameters
    ----------
    labels
        Shape (n,); the classes to start from, which satisfy the requirement; -1 for suppressed records.
    suppressed
        What a suppressed record loses.
    most
        Records that may be suppressed.
    proposals
        Changes to propose; the result depends on the arguments only.
    """
    refined: Ints = _native.anneal_classes(
        table.native,
        k,
        ints(check.bins),
        list(check.requirements),
        ints(labels),
        suppressed,
        most,
        proposals,
        seed,
        progress,
    )
    return refined


def cheapest_nodes(
    table: RecodingTable, k: int, start: Floats, *, most_steps: int = MOST_STEPS, progress: Progress = None
) -> Floats:
    """What each record loses at least, shape (n,): at the cheapest node at which `k` records share its labels.

    Parameters
    ----------
    start
        Shape (n,); what the records lose in some recoding with classes of `k` or more, or infinity.
    most_steps
        Rows to look at; where that is too few, some columns are taken to lose nothing, after as many again.
    """
    best = np.full(len(table.leaves), np.inf)
    np.minimum.at(best, table.rows, start)
    losses: Floats = _native.cheapest_nodes(table.native, k, best, most_steps, progress)
    return losses[table.rows]


class BestNode(NamedTuple):
    """The outcome of a full-domain search.

    Parameters
    ----------
    levels
        One a column; empty where no node was allowed.
    classes
        Shape (m,); the class there of each combination, numbers may have gaps; -1 where its records are suppressed.
    loss
        Summed over all records; infinite where no node was allowed.
    bound
        No node of the lattice that is allowed loses less; the loss itself where the search was finished.
    finished
        Whether the search came to its end.
    looked
        Nodes at which classes were formed.
    """

    levels: list[int]
    classes: Ints
    loss: float
    bound: float
    finished: bool
    looked: int


def best_node(
    table: RecodingTable,
    k: int,
    check: RequirementCheck,
    *,
    suppressed: float,
    most: int,
    ask: Callable[[list[int], Ints], int] | None = None,
    most_nodes: int = MOST_NODES,
    most_cells: int = MOST_CELLS,
    progress: Progress = None,
) -> BestNode:
    """The node of least loss; classes under `k` or with an excess are suppressed.

    Parameters
    ----------
    suppressed
        What a suppressed record loses.
    most
        Records that may be suppressed.
    ask
        Called with the levels of a node that would be the best so far and its classes, as of the outcome: 1 allows
        it, 0 does not, -1 says that no node below is allowed either. Where it does not, the smallest classes are
        suppressed, as few as it takes by bisection.
    most_nodes, most_cells
        After so many the search goes on in a thinned lattice, with as many again, and among the neighbours of the best
        node; the bound is that of the first part.
    """
    return BestNode(
        *_native.best_node(
            table.native,
            k,
            ints(check.bins),
            list(check.requirements),
            suppressed,
            most,
            ask,
            most_nodes,
            most_cells,
            progress,
        )
    )


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


def node_scores(
    table: RecodingTable, worth: Longs, slope: int, *, suppressed: float, unit: int, progress: Progress = None
) -> Longs:
    """What every node of the lattice is expected to leave, the levels of the last column running fastest.

    Parameters
    ----------
    worth
        Shape (c + 1,); what a class of so many records is worth.
    slope
        What each record beyond c adds.
    suppressed
        What a suppressed record loses.
    unit
        What a record without loss counts.
    """
    scores: Longs = _native.node_scores(table.native, longs(worth), slope, suppressed, unit, progress)
    return scores
