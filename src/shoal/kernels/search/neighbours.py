"""The nearest others of every record, exactly (native/search/neighbours.cpp)."""

import numpy as np

from shoal.kernels._native import neighbours
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, ints

OWN_KIND = 4
"""Most equal records among a record's candidates."""


def candidates(x: Floats, m: int, *, coding: tuple[Longs, Floats] | None = None, progress: Progress = None) -> Ints:
    """List up to `m` near others of every record, for a search that needs variety rather than the nearest.

    Where many records are equal, the nearest others of a record are all equal to it and lead nowhere. So the
    distinct points are compared: a record's list holds up to `OWN_KIND` of its equals and one record each of
    the nearest other points, different ones for different members of a point.

    Parameters
    ----------
    x
        Shape (n, d), finite, n >= 2.
    coding
        As for `mdav`.

    Returns
    -------
    Shape (n, m') with 1 <= m' <= m.
    """
    points, kind = np.unique(x + 0.0, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    n, n_points = len(x), len(points)
    if n_points == n:
        return neighbours(x, min(m, n - 1), coding=coding, progress=progress)[0]
    counts = np.bincount(kind)
    order = np.argsort(kind, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turn = np.empty(n, dtype=np.int64)
    turn[order] = np.arange(n) - starts[kind[order]]

    def member(point: Longs, number: Longs) -> Longs:
        return np.asarray(order[starts[point] + number % counts[point]])

    own = np.column_stack([member(kind, turn + step) for step in range(1, min(OWN_KIND, n - 1) + 1)])
    if n_points == 1:
        return ints(own)
    near = neighbours(points, min(m, n_points - 1), coding=coding, progress=progress)[0][kind].astype(np.int64)
    return ints(np.hstack([own, member(near, turn[:, None])])[:, :m])
