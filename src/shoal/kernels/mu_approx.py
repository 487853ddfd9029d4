"""mu-Approx (native/mu_approx.cpp)."""

from collections.abc import Callable

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, floats
from shoal.kernels.neighbours import neighbours


def mu_approx(x: Floats, k: int, *, progress: Callable[[float], object] | None = None) -> tuple[Ints, Ints]:
    """Group records by cutting up a forest of nearest-neighbour edges.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    k
        Smallest group size, 1 <= k; fewer than 2k records make one group.

    Returns
    -------
    Shapes (n,) and (n,): group numbers, every group of k to 2k - 1 records, and the forest: the record that each
    one's own edge leads to, -1 at the root of a tree.

    Notes
    -----
    Domingo-Ferrer, Sebe & Solanas (2008).
    """
    n = len(x)
    if n < 2 * k or k == 1 or not x.shape[1]:
        labels = np.arange(n) // k
        return np.minimum(labels, max(n // k - 1, 0)).astype(np.int32), np.full(n, -1, dtype=np.int32)
    near = neighbours(x, k - 1, progress=progress)[0]
    labels, edges = _native.mu_approx(floats(x), near, k, progress)
    return labels, edges
