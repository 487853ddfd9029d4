"""mu-Approx: a forest of nearest neighbours, cut into groups (native/partition/mu_approx.cpp)."""

import numpy as np

from shoal.kernels._native import decompose, forest, mdav
from shoal.kernels.arrays import Floats, Ints, Longs, Progress


def mu_approx(
    x: Floats, k: int, *, coding: tuple[Longs, Floats] | None = None, progress: Progress = None
) -> tuple[Ints, Ints]:
    """Group records by mu-Approx; every group has k to 2k - 1 members.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised, n >= k.
    k, coding, progress
        As for `forest`.

    Returns
    -------
    Shapes (n,) and (n,); group number of each record, counted from 0, and the edges of the forest.

    Notes
    -----
    Domingo-Ferrer, Sebe & Solanas (2008): `forest`, `decompose`, and MDAV inside what is still larger than
    2k - 1, which makes two groups of it, one of k around the record farthest from the mean.
    """
    edge = forest(x, k, coding=coding, progress=progress)
    labels = decompose(edge, k)
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    count = len(sizes)
    for group in np.flatnonzero(sizes > 2 * k - 1):
        rows = order[ends[group] - sizes[group] : ends[group]]
        parts = mdav(x[rows], k, coding=coding)
        labels[rows] = np.where(parts > 0, parts - 1 + count, group)
        count += int(parts.max())
    return labels, edge
