"""t-Closeness-first microaggregation: a record of every stratum a group (native/requirement/tcloseness_first.cpp)."""

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats, ints
from shoal.kernels.partition.mdav import Engine


def tcloseness_first(
    x: Floats, strata: Ints, k: int, progress: Progress = None, *, engine: Engine = "auto", simd: bool = True
) -> Ints:
    """Group records so that each group holds one record of every stratum, and at most one extra.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised quasi-identifiers.
    strata
        Shape (n,); stratum of each record, 0 to k - 1, in ascending order of the confidential attribute. Every
        stratum holds floor(n / k) records but for the central ones, which hold the n mod k extras between
        them; there may be no more extras than groups (further ones would all go to the last group).
    k
        Number of strata, which is the smallest group size; 1 <= k <= n.
    progress
        Called now and then with the fraction of the records that are grouped.
    engine, simd
        As for `shoal.kernels.partition.mdav.mdav`.

    Returns
    -------
    Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

    Notes
    -----
    Soria-Comas, Domingo-Ferrer, Sanchez & Martinez (2015), Algorithm 3, from 'while X' on. The canonical order
    is that of `mdav`.
    """
    labels: Ints = _native.tcloseness_first(floats(x), ints(strata), k, engine, simd, progress)
    return labels
