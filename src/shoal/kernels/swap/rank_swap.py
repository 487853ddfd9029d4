"""Partners for rank swapping."""

from math import floor

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Longs, seed_of


def window_of(p: float, n: int) -> int:
    """The largest difference of two partners' ranks: p n rounded down, but for rounding (0.07 * 100 is 7)."""
    return floor(p * n * (1 + 1e-12))


def swap_partners(n: int, window: int, rng: np.random.Generator) -> Longs:
    """Pair the ranks 0 to n - 1 at random so that partners lie at most `window` apart.

    Parameters
    ----------
    n
        Number of ranks.
    window
        Largest difference of two partners' ranks, >= 1.

    Returns
    -------
    Shape (n,); the partner of each rank, itself where no rank of its window was free. An involution.

    Notes
    -----
    Moore (1996). Expected time O(n).
    """
    partners: Longs = _native.swap_partners(n, window, seed_of(rng))
    return partners
