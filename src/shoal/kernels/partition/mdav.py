"""MDAV: maximum distance to average vector, exact at any size (native/partition/mdav.cpp)."""

from typing import Literal

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats

Engine = Literal["auto", "brute", "tree"]


def mdav(x: Floats, k: int, *, engine: Engine = "auto", simd: bool = True, progress: Progress = None) -> Ints:
    """Group records by MDAV; every group has k to 2k - 1 members (one group if there are fewer than 2k records).

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised.
    k
        Smallest group size, at least 1.
    engine
        "brute" looks at every record at every step, "tree" prunes by bounds; "auto" takes the faster one.
        The partition is the same.
    simd
        Use the processor's vector unit where it has one. The partition is the same.
    progress
        Called now and then with the fraction of the records that are grouped.

    Returns
    -------
    Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

    Notes
    -----
    Domingo-Ferrer & Torra (2005), MDAV-generic. Distances are float64 sums over the columns in order; the mean
    is exact, rounded once; among equals the lowest row is taken; the record a group is built around belongs to
    it even if others have the same values.
    """
    labels: Ints = _native.mdav(floats(x), k, engine, simd, progress)
    return labels
