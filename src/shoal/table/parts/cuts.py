"""Cuts of a table into blocks of records that lie near one another.

Blocks are the leaves of a tree: a node is cut across the first principal component of its records, at their median,
as long as both halves stay large enough. The tree is grown on a random sample and then decides for every record, so
that it is read once; records with equal cells always meet in one block. The cut points stand in the private record.

A nominal column of very many categories would need as many coordinates; it counts by the place of its categories in
their order instead, as codes that begin alike stand together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.kernels import linear, tall
from shoal.kernels.arrays import Floats, Longs
from shoal.table.files.json_text import Record
from shoal.table.records import Records
from shoal.table.variable import Variable

SAMPLE = 200_000
"""Records on which the tree is grown: with 500 blocks, 400 each, so that blocks differ in size by a tenth or so."""

WIDEST = 64
"""Categories of a nominal column up to which each has a coordinate."""

SLICE = 50_000
"""Records whose coordinates are in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A node: records whose score, the sum of coordinates times `weights`, is below `at` go one way.

    Parameters
    ----------
    below, above
        Numbers of the nodes that follow; negative numbers -1, -2, ... are the leaves 0, 1, ...
    """

    weights: tuple[float, ...]
    at: float
    below: int
    above: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """A tree; without a node all records are one block."""

    nodes: tuple[Cut, ...] = ()

    @property
    def leaves(self) -> int:
        return len(self.nodes) + 1

    @classmethod
    def through(cls, x: Floats, leaves: int) -> "Cuts":
        """The tree that divides a sample, shape (n, d), into so many parts, fewer where too many records are equal."""
        nodes: list[Cut | None] = []
        count = 0

        def grow(rows: Longs, wanted: int) -> int:
            nonlocal count
            half = wanted // 2
            cut = _cut(x[rows], half / wanted) if half else None
            if cut is None:
                count += 1
                return -count
            weights, at = cut
            place = len(nodes)
            nodes.append(None)
            low = score(x[rows], weights) < at
            below, above = grow(rows[low], half), grow(rows[~low], wanted - half)
            nodes[place] = Cut(weights=tuple(weights.tolist()), at=at, below=below, above=above)
            return place

        grow(np.arange(len(x), dtype=np.int64), leaves)
        return cls(nodes=tuple(node for node in nodes if node is not None))

    def leaf_of(self, x: Floats) -> Longs:
        """Shape (n,); the leaf of each record."""
        leaf = np.zeros(len(x), dtype=np.int64)
        waiting = [(0, np.arange(len(x)))] if self.nodes else []
        while waiting:
            number, rows = waiting.pop()
            node = self.nodes[number]
            low = score(x[rows], np.array(node.weights)) < node.at
            for following, inside in ((node.below, rows[low]), (node.above, rows[~low])):
                if following < 0:
                    leaf[inside] = -following - 1
                elif len(inside):
                    waiting.append((following, inside))
        return leaf

    def as_mapping(self) -> list[Record]:
        """For the private record."""
        return [{"weights": list(n.weights), "at": n.at, "below": n.below, "above": n.above} for n in self.nodes]


def score(x: Floats, weights: Floats) -> Floats:
    """Shape (n,); summed column by column, so that no library's order of summing matters."""
    total = np.zeros(len(x))
    for column, weight in zip(x.T, weights):
        total += column * weight
    return total


def _cut(x: Floats, share: float) -> tuple[Floats, float] | None:
    """The direction in which some records spread most and can be cut, and where to leave a share of them below."""
    if len(x) < 2:
        return None
    centred = x - x.mean(axis=0)
    values, vectors = linear.eigen(tall.cross(centred[None], centred[None])[0])
    for place in np.argsort(-values, kind="stable"):
        if values[place] <= 0:
            return None
        weights = vectors[:, place] * np.sign(vectors[np.argmax(np.abs(vectors[:, place])), place])
        scores = np.sort(score(x, weights))
        ends = np.flatnonzero(np.diff(scores) > 0) + 1
        if len(ends):
            end = int(ends[np.argmin(np.abs(ends - share * len(x)))])
            return weights, float(scores[end - 1] + (scores[end] - scores[end - 1]) / 2)
    return None


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """Coordinates in which the cuts are made.

    Parameters
    ----------
    columns
        The columns compared.
    order
        For columns with many categories, the place of each in its order over the number of them.
    """

    columns: tuple[str, ...]
    order: Mapping[str, Mapping[Any, float]]

    @classmethod
    def of(cls, records: Records, columns: Sequence[str]) -> "Coordinates":
        """As the whole table's columns ask for: the categories of `records` are those of the whole."""
        wide = [records[name] for name in columns if records[name].width > WIDEST and records[name].level == "nominal"]
        return cls(
            columns=tuple(columns),
            order={v.name: {c: i / max(len(v.categories) - 1, 1) for i, c in enumerate(v.categories)} for v in wide},
        )

    def slices(self, records: Records) -> Iterator[Floats]:
        """Shape (m, d) each; the points of the records, some at a time."""
        columns = [self._of(records[name]) for name in self.columns]
        for start in range(0, len(records), SLICE):
            rows = np.arange(start, min(start + SLICE, len(records)))
            yield np.hstack([variable.take(rows).embedded() for variable in columns])

    def _of(self, variable: Variable) -> Variable:
        if variable.name not in self.order:
            return variable
        places = self.order[variable.name]
        values = np.array([*(places[c] for c in variable.categories), 0.0])
        return replace(variable, level="continuous", values=values[variable.values], categories=(), scale="none")
