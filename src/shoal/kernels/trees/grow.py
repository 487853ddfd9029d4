"""Trees whose leaves hold the donors of synthetic values (native/trees/grow.cpp)."""

from dataclasses import dataclass

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Bytes, Floats, Ints, Longs, Progress, floats, ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """Columns of numbers and of categories on which trees are grown.

    Parameters
    ----------
    x
        Shape (d, n); numbers, NaN where missing, or categories as whole numbers from 0.
    levels
        Shape (d,); number of categories of a nominal feature, 0 for numbers.
    orders
        Shape (d, n); for numbers the cases in ascending order, missing ones last, ties in row order.
    """

    x: Floats
    levels: Ints
    orders: Ints

    @classmethod
    def of(cls, columns: list[Floats], levels: list[int]) -> "Features":
        """The features of columns of shape (n,); numbers are sorted here, once for all trees."""
        x = floats(np.vstack(columns))
        orders = np.zeros(x.shape, dtype=np.int32)
        for j, count in enumerate(levels):
            if not count:
                orders[j] = np.argsort(x[j], kind="stable")
        return cls(x=x, levels=ints(levels), orders=orders)

    def beside(self, column: Floats, levels: int) -> "Features":
        """The features, and one column more."""
        own = Features.of([column], [levels])
        return Features(
            x=np.vstack([self.x, own.x]),
            levels=np.append(self.levels, own.levels),
            orders=np.vstack([self.orders, own.orders]),
        )

    def take(self, rows: Longs) -> "Features":
        """Some of the cases, in ascending order; what is sorted stays so."""
        place = np.full(self.x.shape[1], -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        orders = np.zeros((len(self.x), len(rows)), dtype=np.int32)
        for j in np.flatnonzero(self.levels == 0):
            places = place[self.orders[j]]
            orders[j] = places[places >= 0]
        return Features(x=np.take(self.x, rows, axis=1), levels=self.levels, orders=orders)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A grown tree.

    Parameters
    ----------
    members
        The cases that it was grown on, leaf by leaf, as often as they count, those of a leaf in ascending order.
    sizes
        Shape (leaves,); how many of these a leaf has.
    """

    nodes: tuple[Ints, Floats, Bytes, Ints, Ints, Ints, Ints, Bytes]
    members: Ints
    sizes: Ints

    @property
    def leaf_of_members(self) -> Longs:
        """Shape of `members`; the leaf of each, numbered from 0."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def leaves(self, x: Floats) -> Ints:
        """Shape (m,); the leaf of every case of a table (d, m) with the same features.

        A category that a node has not seen goes to the side with more of the node's cases.
        """
        return _native.tree_leaves(*self.nodes, x)

    def with_units(self, units: Longs, fewest: int) -> "Tree":
        """The tree without the splits that leave a side to cases of fewer units than so many.

        `units`: shape (n,); whose each case is. A tree of fewer units in all is one leaf.
        """
        feature, threshold, missing_left, mask, left, right, leaf, masks = self.nodes
        first, end = _leaves_below(left, right, leaf)
        pairs = np.unique(np.column_stack([self.leaf_of_members, units[self.members]]), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(int(end[0]) + 1))

        def enough(node: int) -> bool:
            return len(np.unique(pairs[starts[first[node]] : starts[end[node]], 1])) >= fewest

        merged, feature = np.full_like(leaf, -1), feature.copy()
        place, number, open_nodes = np.empty(int(end[0]), dtype=np.int32), 0, [0]
        while open_nodes:
            node = open_nodes.pop()
            if feature[node] >= 0 and enough(left[node]) and enough(right[node]):
                open_nodes += [int(right[node]), int(left[node])]
                continue
            feature[node], merged[node] = -1, number
            place[first[node] : end[node]] = number
            number += 1
        nodes = (feature, threshold, missing_left, mask, left, right, merged, masks)
        leaf_of = place[self.leaf_of_members]
        members = self.members[np.lexsort((self.members, leaf_of))]
        return Tree(nodes=nodes, members=members, sizes=ints(np.bincount(leaf_of)))


def grow(
    features: Features,
    y: Floats | Ints,
    *,
    classes: int = 0,
    times: Longs | None = None,
    min_leaf: int,
    complexity: float = 0.0,
    looked_at: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Tree:
    """Grow a tree (Breiman, Friedman, Olshen & Stone 1984).

    Parameters
    ----------
    y
        Shape (n,), n >= 1; finite numbers, or classes from 0 to classes - 1.
    classes
        Number of classes; 0 for numbers.
    times
        Shape (n,); how often each case counts, not all 0; once by default.
    min_leaf
        Fewest cases of a leaf, at least 1.
    complexity
        Share of the root's impurity by which a split must lower it.
    looked_at
        Features that a node may split on, drawn at random (`seed`); all of them by default.
    """
    d = len(features.x)
    most = d if looked_at is None else min(looked_at, d)
    counts = np.ones(len(y), dtype=np.int32) if times is None else ints(times)
    limits = (min_leaf, complexity, most, seed, progress)
    if classes:
        grown = _native.grow_classes(features.x, features.levels, features.orders, ints(y), counts, classes, *limits)
    else:
        values = floats(y)
        centred = _near_one(values - float((values * counts).sum() / counts.sum())) * counts
        grown = _native.grow_numbers(features.x, features.levels, features.orders, centred, counts, *limits)
    nodes, members, sizes = grown
    return Tree(nodes=nodes, members=members, sizes=sizes)


def _leaves_below(left: Ints, right: Ints, leaf: Ints) -> tuple[Longs, Longs]:
    """Shape (nodes,) each; the first leaf below each node, and the one after its last: leaves are numbered from left
    to right, and every node stands before those below it."""
    first, end = leaf.astype(np.int64), leaf.astype(np.int64) + 1
    for node in range(len(leaf) - 1, -1, -1):
        if leaf[node] < 0:
            first[node], end[node] = first[left[node]], end[right[node]]
    return first, end


def _near_one(y: Floats) -> Floats:
    """Numbers scaled by a power of two, so that no square overflows or vanishes."""
    return np.ldexp(y, -int(np.frexp(float(np.abs(y).max(initial=0.0)))[1]))
