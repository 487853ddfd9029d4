"""Partners for rank swapping."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import floor

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Longs, seed_of


def window_of(p: float, n: int) -> int:
    """The largest difference of two partners' ranks: p n rounded down, up to rounding error (0.07 * 100 is 7)."""
    return floor(p * n * (1 + 1e-12))


@dataclass(frozen=True, slots=True)
class RankPairing:
    """A random pairing of the ranks 0 to n - 1 in which partners lie at most `window` apart.

    Parameters
    ----------
    n
        Number of ranks.
    window
        Largest difference of two partners' ranks; with 0 every rank is its own partner.
    seed
        Seed of the draws.
    """

    n: int
    window: int
    seed: int

    def in_turn(self, counts: Iterable[int]) -> Iterator[Longs]:
        """The partners of successive ranks, as many at a time as `counts` says; the counts change no partner.

        Memory grows with the window and the largest count, not with n.
        """
        pairing = _native.RankPairs(self.n, self.window, self.seed)
        for count in counts:
            yield pairing.next(count)


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
    return next(RankPairing(n, window, seed_of(rng)).in_turn([n]))
