"""The parts that a released label stands for: what its cells would have been called one step finer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.judges.refinement import closed_interval
from shoal.kernels.arrays import Bools
from shoal.table.hierarchy import SEPARATOR, Hierarchy
from shoal.table.number_range import numbers_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelParts:
    """Parts that a label divides into."""

    # Number of the part of each leaf, by the leaf's row in the hierarchy; leaves that it does not stand for are left
    # out
    of_leaf: dict[int, int]
    named: Bools  # Shape (m,); parts that the label itself says occur: the values of a set, the ends of an interval

    def __len__(self) -> int:
        return len(self.named)


def parts_of(label: str, tree: Hierarchy, level: int | None = None) -> LabelParts | None:
    """The parts of a label; None of one that stands for one leaf, or that the hierarchy does not explain.

    `level`: the level at which it is a node; by default the lowest at which it is, and the parts are those at the
    highest level below at which there are several.
    """
    if level is not None:
        inside = {row: path[level - 1] for row, path in enumerate(tree.paths) if level and path[level] == label}
        return _numbered(inside, ())
    below = {row: path[: path.index(label)] for row, path in enumerate(tree.paths) if label in path}
    if below:
        return _numbered(_several(below), ())
    texts = label.split(SEPARATOR)
    if len(texts) > 1:
        of_text = {row: text for row, path in enumerate(tree.paths) for text in texts if text in path}
        return _numbered(of_text, texts)
    return _of_interval(label, tree)


def one_level(labels: Sequence[str], tree: Hierarchy) -> int | None:
    """The lowest level at which all of some labels are nodes; None if there is none."""
    levels = range(tree.height + 1)
    return next((level for level in levels if {path[level] for path in tree.paths}.issuperset(labels)), None)


def _several(below: dict[int, tuple[str, ...]]) -> dict[int, str]:
    """For each leaf its label at the highest level at which leaves differ; all paths end under one node."""
    for steps in range(1, max(map(len, below.values())) + 1):
        labels = {row: path[-min(steps, len(path))] for row, path in below.items() if path}
        if len(set(labels.values())) > 1:
            return labels
    return {}


def _of_interval(label: str, tree: Hierarchy) -> LabelParts | None:
    ends, numbers = closed_interval(label), numbers_of(tree.leaves)
    if ends is None or numbers is None:
        return None
    inside = {row: tree.paths[row][0] for row, x in enumerate(numbers) if ends[0] <= x <= ends[1]}
    return _numbered(inside, [leaf for row, leaf in inside.items() if numbers[row] in ends])


def _numbered(labels: dict[int, str], named: Sequence[str]) -> LabelParts | None:
    texts = list(dict.fromkeys(labels.values()))
    if len(texts) < 2:
        return None
    numbers = {text: number for number, text in enumerate(texts)}
    occurring = np.array([text in named for text in texts], dtype=bool)
    return LabelParts(of_leaf={row: numbers[text] for row, text in labels.items()}, named=occurring)
