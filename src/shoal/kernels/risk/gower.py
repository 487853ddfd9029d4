"""Nearest records by Gower's distance, with all ties (native/risk/gower.cpp)."""

from math import comb

import numpy as np

from shoal.kernels._native import GowerSpace
from shoal.kernels._native import gower_guesses as guesses
from shoal.kernels._native import gower_overlaps as overlaps
from shoal.kernels.arrays import Floats, Longs


def chance_of_overlap(counts: Longs, k: int) -> Floats:
    """Shape (m,); probability that two sets of k nearest overlap, each filled up at random from its ties.

    Parameters
    ----------
    counts
        Counts from `overlaps`.
    """
    distinct, place = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chance([int(c) for c in row], k) for row in distinct])
    return np.asarray(chances[place.reshape(-1)], dtype=np.float64)


def _chance(counts: list[int], k: int) -> float:
    """1 - P(no common record): each draw must avoid the other's certain records and its drawn ones."""
    both, certain_tied, tied_certain, tied, near1, ties1, near2, ties2 = counts
    if both:
        return 1.0
    draw1, draw2 = k - near1, k - near2
    ways = comb(ties1, draw1) * comb(ties2, draw2)
    apart = 0
    for drawn in range(min(tied, draw1) + 1):  # of the candidates that tie in both
        first = comb(tied, drawn) * comb(ties1 - tied_certain - tied, draw1 - drawn)
        apart += first * comb(ties2 - certain_tied - drawn, draw2)
    return (ways - apart) / ways
