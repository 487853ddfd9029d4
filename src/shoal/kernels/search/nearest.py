"""Exact nearest neighbours of one set of points in another, ties counted, never n x n in memory.

Points that coincide are merged first: ties cost nothing then, and a released table has many.

Two engines. A tree of boxes (native/search/nearest.cpp) looks at few points where boxes part them, which they do in few
dimensions and wherever the nearest point is near. Where it would look at more than a share of all, every pair is looked
at instead, in blocks: the matrix product |x|^2/2 - x.y ranks candidates at the speed of the processor but has lost
digits, so all candidates within its error bound are decided again by the sum of squared differences.
"""

import math
from dataclasses import dataclass

import numpy as np

from shoal.kernels import _native, classes
from shoal.kernels.arrays import Floats, Longs

TIE = 1e-9
"""Distances within TIE (1 + d) of the smallest distance d tie with it: they differ by rounding only."""

PAIR = 0.4
"""What a pair in a block costs, in points that the tree looks at (bench/judgement.py)."""

BLOCK = 2_000_000
"""Pairs in memory at a time (16 MB of float64)."""

NO_LIMIT = 2**62
"""More points than anyone can look at."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Distinct:
    """The different rows of a matrix.

    Parameters
    ----------
    points
        Shape (u, d).
    of_row
        Shape (n,); number of each row's point.
    sizes
        Shape (u,); rows at each point.
    """

    points: Floats
    of_row: Longs
    sizes: Longs


def distinct(x: Floats) -> Distinct:
    """Merge equal rows (0 equals -0)."""
    x = x + 0.0
    ids, sizes = classes.classes(list(x.T), len(x))
    first = classes.first_rows(ids, len(sizes))
    return Distinct(points=np.ascontiguousarray(x[first]), of_row=ids, sizes=sizes)


def nearest_distance(x: Floats, y: Floats) -> Floats:
    """Shape (m,); distance of each row of `y` (m, d) to the nearest row of `x` (n, d), n >= 1."""
    queries = distinct(y)
    return _nearest(distinct(x), queries.points)[0][queries.of_row]


def nearest_point(points: Floats, y: Floats) -> Longs:
    """Shape (m,); row of `points` (u, d), all different, that is nearest to each row of `y`; the lowest of equals."""
    u, queries = len(points), distinct(y)
    each = Distinct(points=points, of_row=np.arange(u), sizes=np.ones(u, dtype=np.int64))
    return _nearest(each, queries.points)[2][queries.of_row]


def link(x: Floats, y: Floats, truth: Longs, most: int = NO_LIMIT) -> Floats:
    """Probability that the nearest row of `x` is the true one, for each row of `y`.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    y
        Shape (m, d), finite.
    truth
        Shape (m,); row of `x` that each row of `y` belongs to.
    most
        Points to look at, about; what the first rows of `y` need is looked at in any case.

    Returns
    -------
    Shape (m,), or less where `most` was spent on the first rows: 1/t where the true row is among the t nearest ones
    (rows within rounding of the smallest distance tie), else 0.
    """
    points, queries = distinct(x), distinct(y)
    first = classes.first_rows(queries.of_row, len(queries.points))
    order = np.argsort(first)
    near, tied, _ = _nearest(points, queries.points[order], most)
    answered = len(y) if len(near) == len(first) else int(first[order[len(near)]])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    asked = place[queries.of_row[:answered]]
    own = np.sqrt(((y[:answered] - x[truth[:answered]]) ** 2).sum(axis=1))
    hit = own <= _reach(near[asked])
    return np.where(hit, 1.0 / tied[asked], 0.0)


def _reach(nearest: Floats) -> Floats:
    return nearest + TIE * (1.0 + nearest)


def _nearest(points: Distinct, queries: Floats, most: int = NO_LIMIT) -> tuple[Floats, Longs, Longs]:
    """Smallest distance, rows that tie there and lowest point among them, for each query or the first ones."""
    each = PAIR * len(points.points)
    *neighbours, looked = _native.nearest(
        points.points, points.sizes, np.ascontiguousarray(queries), TIE, most, math.ceil(each)
    )
    done = len(neighbours[0])
    rest = queries[done : done + max(0, int((most - looked) / each))]
    if len(rest):
        neighbours = [np.concatenate(both) for both in zip(neighbours, _by_blocks(points.points, points.sizes, rest))]
    return neighbours[0], neighbours[1], neighbours[2]


def _by_blocks(points: Floats, sizes: Longs, queries: Floats) -> tuple[Floats, Longs, Longs]:
    """As `_nearest`, by looking at all pairs."""
    middle = points.mean(axis=0)
    x, y = points - middle, queries - middle
    half, squares = (x * x).sum(axis=1) / 2, (y * y).sum(axis=1)
    # Each product and sum of d + 2 terms errs by less than (d + 4) eps times the sizes of the factors.
    slack = (x.shape[1] + 4) * np.finfo(float).eps * (2 * half.max() + squares)
    nearest, tied, lowest = np.empty(len(y)), np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    step = max(1, BLOCK // len(x))
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        score = half - y[part] @ x.T
        least = score.min(axis=1)
        reach = _reach(np.sqrt(np.maximum(2 * least + squares[part] + 2 * slack[part], 0.0)))
        who, which = np.nonzero(score <= ((reach**2 - squares[part]) / 2 + slack[part])[:, None])
        exact = np.sqrt(((queries[part][who] - points[which]) ** 2).sum(axis=1))
        starts = np.searchsorted(who, np.arange(len(least)))
        nearest[part] = np.minimum.reduceat(exact, starts)
        ties = exact <= _reach(nearest[part])[who]
        tied[part] = np.add.reduceat(np.where(ties, sizes[which], 0), starts)
        lowest[part] = np.minimum.reduceat(np.where(ties, which, len(x)), starts)
    return nearest, tied, lowest
