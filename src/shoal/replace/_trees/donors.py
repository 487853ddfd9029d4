"""Donors of synthetic values: trees, and the original records of the leaf in which a new record ends."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Floats, Ints, Longs, longs, seed_of
from shoal.kernels.trees.grow import Features, Tree, grow


@dataclass(frozen=True, kw_only=True)
class Growing:
    """Limits of growing trees: fewest records of a leaf, least gain of a split, number of trees."""

    min_leaf: int
    complexity: float
    # 1 grows one tree on all records; more grow as many on random draws of the records, each looking at a random part
    # of the features at every node, and every value comes from one of them at random
    trees: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Donors:
    """Trees that find a donor for a new record."""

    # Each with the original records, shape (n,), that it was grown on; none where nothing predicts
    trees: tuple[tuple[Tree, Longs], ...]
    count: int

    @classmethod
    def of(
        cls, y: Floats | Ints, classes: int, features: Features | None, growing: Growing, rng: Generator
    ) -> "Donors":
        """Trees for the response y (n,): numbers, or so many classes."""
        n = len(y)
        if features is None:
            return cls(trees=(), count=n)
        limits: dict[str, Any] = {"classes": classes, "min_leaf": growing.min_leaf, "complexity": growing.complexity}
        if growing.trees == 1:
            return cls(trees=((grow(features, y, **limits), np.arange(n)),), count=n)
        d = len(features.x)
        looked_at = max(1, round(math.sqrt(d) if classes else d / 3))  # as Breiman (2001) and his program have it
        grown = []
        for _ in range(growing.trees):
            rows = np.sort(rng.integers(0, n, n))
            tree = grow(features.take(rows), y[rows], looked_at=looked_at, seed=seed_of(rng), **limits)
            grown.append((tree, rows))
        return cls(trees=tuple(grown), count=n)

    def draw(self, x: Floats, rng: Generator) -> Longs:
        """Shape (m,); for each new record (d, m) the place of a donor among the original ones."""
        m = x.shape[1]
        if not self.trees:
            return longs(rng.integers(0, self.count, m))
        which = rng.integers(0, len(self.trees), m)
        donors = np.empty(m, dtype=np.int64)
        for number, (tree, rows) in enumerate(self.trees):
            drawn = np.flatnonzero(which == number)
            donors[drawn] = _from_leaves(tree, rows, tree.leaves(x[:, drawn]), rng)
        return donors


def _from_leaves(tree: Tree, rows: Longs, leaves: Ints, rng: Generator) -> Longs:
    """For each leaf asked for one of the records in it, drawn at random."""
    order = np.argsort(tree.leaf_of, kind="stable")
    sizes = np.bincount(tree.leaf_of)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = (rng.random(len(leaves)) * sizes[leaves]).astype(np.int64)
    return np.asarray(rows[order[starts[leaves] + np.minimum(place, sizes[leaves] - 1)]])
