"""Exact nearest neighbours of one set of points in another, ties counted, never n x n in memory.

Two engines. A kd-tree (scipy's) is fast where boxes separate points, that is in few dimensions. Above that
every pair is looked at, in blocks: the matrix product |x|^2/2 - x.y ranks candidates at the speed of the
processor but has lost digits, so all candidates within its error bound are decided again by the sum of squared
differences.

Points that coincide are merged first: ties cost nothing then, and a released table has many.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels import classes
from shoal.kernels.arrays import Bools, Floats, Longs

TREE_DIMENSIONS = 13
"""The tree wins up to here on independent normal points (bench/judgement.py)."""

FEW_PAIRS = 1_000_000
"""So few pairs are looked at faster than a tree is built."""

BLOCK = 2_000_000
"""Pairs in memory at a time (16 MB of float64)."""

TIE = 1e-9
"""Distances within TIE (1 + d) of the smallest distance d tie with it: they differ by rounding only."""


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


def uses_tree(n_points: int, n_queries: int, d: int) -> bool:
    """Whether the kd-tree answers; otherwise every pair is looked at."""
    return d <= TREE_DIMENSIONS and n_points * n_queries > FEW_PAIRS


def nearest_distance(x: Floats, y: Floats) -> Floats:
    """Shape (m,); distance of each row of `y` (m, d) to the nearest row of `x` (n, d), n >= 1."""
    from scipy.spatial import cKDTree

    points, queries = distinct(x), distinct(y)
    if uses_tree(len(points.points), len(queries.points), x.shape[1]):
        found = np.asarray(cKDTree(points.points).query(queries.points)[0])
    else:
        ones = np.ones(len(points.points), dtype=np.int64)
        found = _by_blocks(points.points, ones, queries.points)[0]
    return np.asarray(found[queries.of_row])


def nearest_point(points: Floats, y: Floats) -> Longs:
    """Shape (m,); row of `points` (u, d), all different, that is nearest to each row of `y`; the lowest of equals."""
    from scipy.spatial import cKDTree

    queries = distinct(y)
    if uses_tree(len(points), len(queries.points), points.shape[1]):
        tree = cKDTree(points)
        near, who = tree.query(queries.points, k=2)
        tied = np.flatnonzero(near[:, 1] <= _reach(near[:, 0]))
        found = who[:, 0].astype(np.int64)
        if len(tied):
            balls = tree.query_ball_point(queries.points[tied], _reach(near[tied, 0]))
            found[tied] = [min(ball) for ball in balls]
        return np.asarray(found[queries.of_row])
    ones = np.ones(len(points), dtype=np.int64)
    return np.asarray(_by_blocks(points, ones, queries.points)[2][queries.of_row])


def link(x: Floats, y: Floats, truth: Longs) -> Floats:
    """Probability that the nearest row of `x` is the true one, for each row of `y`.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    y
        Shape (m, d), finite.
    truth
        Shape (m,); row of `x` that each row of `y` belongs to.

    Returns
    -------
    Shape (m,); 1/t where the true row is among the t nearest ones (rows within rounding of the smallest
    distance tie), else 0.
    """
    points, queries = distinct(x), distinct(y)
    asks = queries.points[queries.of_row]
    own = np.sqrt(((asks - x[truth]) ** 2).sum(axis=1))
    if uses_tree(len(points.points), len(queries.points), x.shape[1]):
        nearest, tied = _by_tree(points, queries, own)
    else:
        nearest, tied, _ = _by_blocks(points.points, points.sizes, queries.points)
    hit = own <= _reach(nearest)[queries.of_row]
    return np.where(hit, 1.0 / np.maximum(tied[queries.of_row], 1), 0.0)


def _reach(nearest: Floats) -> Floats:
    return nearest + TIE * (1.0 + nearest)


def _by_tree(points: Distinct, queries: Distinct, own: Floats) -> tuple[Floats, Longs]:
    """Smallest distance and number of tied rows (counted where a true row is among them) of each query."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points.points)
    near, who = tree.query(queries.points, k=2)  # a missing second neighbour is infinitely far
    reach = _reach(near[:, 0])
    tied = points.sizes[who[:, 0]]
    wanted: Bools = np.zeros(len(tied), dtype=bool)
    wanted[queries.of_row[own <= reach[queries.of_row]]] = True
    several = np.flatnonzero(wanted & (near[:, 1] <= reach))
    if len(several):
        balls = tree.query_ball_point(queries.points[several], reach[several])
        tied[several] = [points.sizes[ball].sum() for ball in balls]
    return near[:, 0], tied


def _by_blocks(points: Floats, sizes: Longs, queries: Floats) -> tuple[Floats, Longs, Longs]:
    """As `_by_tree`, for every query, by looking at all pairs; also the lowest of the nearest points."""
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
