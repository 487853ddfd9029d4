"""Values that released labels stand for: those that a cell may have had.

A label of the column's hierarchy stands for the leaves under it, a value for itself, an interval for the leaves in it,
a set for its values. Intervals are ranges of numbers (`shoal.table.number_range`). A missing cell, or a label that
nothing explains, may have been anything, and which labels are so is told. Without a hierarchy the leaves are the values
of the original. Missing cells of the original are a leaf of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Floats, Ints, floats, ints
from shoal.table.hierarchy import SEPARATOR
from shoal.table.number_range import NumberRange, numbers_of
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure, plural

MOST_CELLS = 50_000_000
"""Labels times leaves of a column up to which there are figures: bytes of memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """The labels of one column in two versions of a table."""

    covers: Bools  # Shape (labels, leaves); the leaves that each label stands for
    before: Ints  # Shape (n,); leaf of each original record's cell
    after: Ints  # Shape (n',); label of each released record's cell
    # Shape (labels,); level of each label in the hierarchy over its height, in [0, 1]; 1 for what may have been
    # anything, 0 without a hierarchy and for intervals and sets
    level: Floats
    # Shape (labels,); labels that are no value, no node of a hierarchy, no interval of numbers and no set
    unexplained: Bools

    @classmethod
    def of(cls, before: Variable, after: Variable) -> Self:
        names = [str(c) for c in before.categories if c is not None]
        paths = before.hierarchy.paths if before.hierarchy is not None else tuple((name,) for name in names)
        width = len(paths) + 1  # the last leaf is a missing cell
        if (len(after.categories) + 1) * width > MOST_CELLS:
            raise NoFigure(f"Column '{before.name}' has too many categories for labels to be compared with values.")
        leaf_of = {path[0]: i for i, path in enumerate(paths)}
        values = numbers_of(leaf_of)  # with a leaf that is no number, no interval can be told to hold all it says
        numbers = None if values is None else floats(values)
        if absent := sum(c is not None and str(c) not in leaf_of for c in before.categories):
            raise NoFigure(
                f"Column '{before.name}' has {plural(absent, 'value')} that its hierarchy does not start from."
            )
        nodes: dict[str, tuple[set[int], float]] = {}
        for i, path in enumerate(paths):
            for height, node in enumerate(path):
                nodes.setdefault(node, (set(), height / max(len(path) - 1, 1)))[0].add(i)
        labels = [None if c is None else str(c) for c in after.categories]
        covers = np.zeros((len(labels) + 1, width), dtype=bool)
        level = np.ones(len(labels) + 1)
        unexplained = np.zeros(len(labels) + 1, dtype=bool)
        had_missing = None in before.categories or bool(before.missing.any())
        for row, label in enumerate([*labels, None]):
            read = None if label is None else _stands_for(label, nodes, numbers)
            unexplained[row] = label is not None and read is None
            leaves, level[row] = (list(leaf_of.values()), 1.0) if read is None else read
            covers[row, leaves] = True
            covers[row, -1] = had_missing and level[row] == 1
        places = ints([*(-1 if c is None else leaf_of[str(c)] for c in before.categories), -1]) % width
        cells = ints([*(-1 if label is None else row for row, label in enumerate(labels)), -1]) % len(covers)
        return cls(
            covers=covers,
            before=ints(places[before.values]),
            after=ints(cells[after.values]),
            level=level,
            unexplained=unexplained,
        )

    @property
    def leaves(self) -> int:
        """Values that a cell can have had."""
        return max(int(self.covers.any(axis=0).sum()), int(self.before.max(initial=0)) + 1, 1)

    @property
    def stands_for(self) -> Floats:
        """Shape (n',); how many leaves each cell stands for, at least one."""
        return floats(np.maximum(self.covers.sum(axis=1)[self.after], 1))


def _stands_for(
    label: str, nodes: dict[str, tuple[set[int], float]], numbers: Floats | None
) -> tuple[list[int], float] | None:
    """Leaves of a label, and its level over the height; None where nothing explains the label."""
    if label in nodes:
        leaves, level = nodes[label]
        return sorted(leaves), level
    if numbers is not None and (span := NumberRange.read(label)) is not None:
        return np.flatnonzero(span.holds(numbers)).tolist(), 0.0
    if SEPARATOR in label and all(part in nodes for part in label.split(SEPARATOR)):
        return sorted(set().union(*(nodes[part][0] for part in label.split(SEPARATOR)))), 0.0
    return None


def labels_of(pair: TablePair, names: Sequence[str]) -> list[Labels]:
    """The labels of some categorical columns."""
    return [Labels.of(pair.before[name], pair.released[name]) for name in names]


def suppressed(pair: TablePair) -> int:
    """Original records that the release does not have."""
    return max(len(pair.before) - len(pair.released), 0)
