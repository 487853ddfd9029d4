"""V-MDAV: groups of variable size around the records farthest from the mean (native/partition/vmdav.cpp)."""

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats
from shoal.kernels.partition.mdav import Engine


def vmdav(
    x: Floats, k: int, gamma: float, *, engine: Engine = "auto", simd: bool = True, progress: Progress = None
) -> Ints:
    """Group records by V-MDAV; every group has k or more members (one group if there are fewer than k records).

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised.
    k
        Smallest group size, at least 1.
    gamma
        A record outside joins while its distance to the nearest member is below gamma times its distance to
        the nearest other record outside; at least 0, where 0 keeps every group at k.
    engine, simd, progress
        As for `shoal.kernels.partition.mdav.mdav`.

    Returns
    -------
    Shape (n,); group number of each record, counted from 0 in the order the groups were formed.

    Notes
    -----
    Solanas & Martinez-Balleste (2006). Groups grow to 2k - 1 members at most; the last records, fewer than k,
    join the groups with the nearest mean. The canonical order is that of `mdav`.
    """
    labels: Ints = _native.vmdav(floats(x), k, gamma, engine, simd, progress)
    return labels
