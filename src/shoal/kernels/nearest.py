"""Exact nearest neighbours of one set of points in another, ties counted, never n x n in memory.

Points that coincide are merged first: ties cost nothing then, and a released table has many. The rest is a walk
over a tree of boxes (native/nearest.cpp).
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels import _native, classes
from shoal.kernels.arrays import Floats, Longs

TIE = 1e-9
"""Distances within TIE (1 + d) of the smallest distance d tie with it: they differ by rounding only."""

NO_LIMIT = 2**63
"""More values than anyone can look at."""


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
        Values to look at, about; what the first rows of `y` need is looked at in any case.

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
    hit = own <= near[asked] + TIE * (1.0 + near[asked])
    return np.where(hit, 1.0 / tied[asked], 0.0)


def _nearest(points: Distinct, queries: Floats, most: int = NO_LIMIT) -> tuple[Floats, Longs, Longs]:
    """For each query, or the first ones: the smallest distance, the rows that tie there, the lowest point among them."""
    found: tuple[Floats, Longs, Longs] = _native.nearest(
        points.points, points.sizes, np.ascontiguousarray(queries), TIE, most)
    return found
