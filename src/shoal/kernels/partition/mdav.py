"""MDAV: maximum distance to average vector, exact at any size (native/partition/mdav.cpp)."""

from typing import Literal

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats, longs

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


def coded_mdav(x: Floats, categories: Longs, sides: Floats, k: int, *, progress: Progress = None) -> Ints:
    """Group records of numbers and categories as `mdav` groups their points, without a coordinate for every category.

    Parameters
    ----------
    x
        Shape (n, d), finite; numbers, and in columns of categories their codes, from 0.
    categories
        Shape (d,); how many categories a column has, 0 for one of numbers.
    sides
        Shape (d,); a category's point has this in its own coordinate and 0 in those of the others. Not looked at for
        columns of numbers.
    k, progress
        As for `mdav`.

    Returns
    -------
    Shape (n,); the groups that `mdav` finds of the points, bit for bit.
    """
    labels: Ints = _native.coded_mdav(floats(x), longs(categories), floats(sides), k, progress)
    return labels
