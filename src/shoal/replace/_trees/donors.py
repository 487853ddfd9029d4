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

    trees: "tuple[_Leaves, ...]"  # None where nothing predicts
    count: int

    @classmethod
    def of(
        cls,
        y: Floats | Ints,
        classes: int,
        features: Features | None,
        growing: Growing,
        rng: Generator,
        units: Longs | None = None,
    ) -> "Donors":
        """Trees for the response y (n,): numbers, or so many classes.

        `units`: shape (n,), whose each record is; every leaf then holds records of `min_leaf` different ones.
        """
        n = len(y)
        if features is None:
            return cls(trees=(), count=n)
        limits: dict[str, Any] = {"classes": classes, "min_leaf": growing.min_leaf, "complexity": growing.complexity}

        if growing.trees == 1:
            return cls(trees=(_Leaves.of(grow(features, y, **limits), units, growing),), count=n)
        d = len(features.x)
        looked_at = max(1, round(math.sqrt(d) if classes else d / 3))  # as Breiman (2001) and his program have it
        grown = []
        for _ in range(growing.trees):
            times = np.bincount(rng.integers(0, n, n), minlength=n)
            if units is not None and len(np.unique(units[times > 0])) < growing.min_leaf:
                times = np.ones(n, dtype=np.int64)
            tree = grow(features, y, times=times, looked_at=looked_at, seed=seed_of(rng), **limits)
            grown.append(_Leaves.of(tree, units, growing))
        return cls(trees=tuple(grown), count=n)

    def draw(self, x: Floats, rng: Generator) -> Longs:
        """Shape (m,); for each new record (d, m) the place of a donor among the original ones."""
        m = x.shape[1]
        if not self.trees:
            return longs(rng.integers(0, self.count, m))
        which = rng.integers(0, len(self.trees), m)
        donors = np.empty(m, dtype=np.int64)
        for number, leaves in enumerate(self.trees):
            drawn = np.flatnonzero(which == number)
            donors[drawn] = leaves.draw(x[:, drawn], rng)
        return donors


@dataclass(frozen=True, kw_only=True, eq=False)
class _Leaves:
    """A tree, and the original records in its leaves."""

    tree: Tree
    starts: Longs  # Shape (leaves,); where a leaf begins among the tree's members

    @classmethod
    def of(cls, tree: Tree, units: Longs | None, growing: Growing) -> "_Leaves":
        """`units`: as for `Donors.of`."""
        pruned = tree if units is None else tree.with_units(units, growing.min_leaf)
        return cls(tree=pruned, starts=np.cumsum(pruned.sizes) - pruned.sizes)

    def draw(self, x: Floats, rng: Generator) -> Longs:
        """For each new record (d, m) one of the records of its leaf, drawn at random."""
        leaves = self.tree.leaves(x)
        sizes = self.tree.sizes[leaves]
        place = (rng.random(len(leaves)) * sizes).astype(np.int64)
        return longs(self.tree.members[self.starts[leaves] + np.minimum(place, sizes - 1)])
