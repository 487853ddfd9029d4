"""mu-Approx: a forest of nearest neighbours, cut into groups (native/partition/mu_approx.cpp)."""

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats, ints
from shoal.kernels.partition.mdav import Engine, mdav


def forest(x: Floats, k: int, *, engine: Engine = "auto", simd: bool = True, progress: Progress = None) -> Ints:
    """Join records to near ones until every tree has k of them.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised, n >= k.
    k
        Smallest tree, at least 1.
    engine, simd, progress
        As for `shoal.kernels.partition.mdav.mdav`.

    Returns
    -------
    Shape (n,); the record at the other end of each record's outgoing edge, -1 for the root of a tree.

    Notes
    -----
    Aggarwal et al. (2005). Row after row, while the tree of a row holds fewer than k records, the tree's root is
    joined to the nearest record outside of the tree, the lowest row among equals. Every edge leads to one of the
    k - 1 nearest others of the record it leaves. Distances are those of `mdav`.
    """
    edge: Ints = _native.forest(floats(x), k, engine, simd, progress)
    return edge


def decompose(edge: Ints, k: int) -> Ints:
    """Cut large trees of a forest where both sides keep k records.

    Parameters
    ----------
    edge
        Shape (n,); as `forest` returns it.

    Returns
    -------
    Shape (n,); group number of each record. A tree of up to max(2k - 1, 3k - 5) records stays whole; so does
    the rest of one, of up to 3k - 3 records, whose parts only a Steiner vertex holds together and that cannot
    be divided into two of k or more.
    """
    labels: Ints = _native.decompose(ints(edge), k)
    return labels


def mu_approx(
    x: Floats, k: int, *, engine: Engine = "auto", simd: bool = True, progress: Progress = None
) -> tuple[Ints, Ints]:
    """Group records by mu-Approx; every group has k to 2k - 1 members.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised, n >= k.
    k, engine, simd, progress
        As for `forest`.

    Returns
    -------
    Shapes (n,) and (n,); group number of each record, counted from 0, and the edges of the forest.

    Notes
    -----
    Domingo-Ferrer, Sebe & Solanas (2008): `forest`, `decompose`, and MDAV inside what is still larger than
    2k - 1, which makes two groups of it, one of k around the record farthest from the mean.
    """
    edge = forest(x, k, engine=engine, simd=simd, progress=progress)
    labels = decompose(edge, k)
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    count = len(sizes)
    for group in np.flatnonzero(sizes > 2 * k - 1):
        rows = order[ends[group] - sizes[group] : ends[group]]
        parts = mdav(x[rows], k, engine=engine, simd=simd)
        labels[rows] = np.where(parts > 0, parts - 1 + count, group)
        count += int(parts.max())
    return labels, edge
