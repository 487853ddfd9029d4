"""Nearest records by Gower's distance, with all ties (native/risk/gower.cpp)."""

from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Longs, floats

Reading = Literal["equal", "wildcard", "nothing"]
"""What a missing cell equals: a missing cell, everything, or nothing."""

READINGS: tuple[Reading, ...] = ("equal", "wildcard", "nothing")
"""In the kernel's order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GowerSpace:
    """Candidates, and the scale on which columns are compared.

    Parameters
    ----------
    candidates
        Shape (d, n); one column after the other, minus infinity for missing cells.
    scale
        Shape (d,); 1 / range of an ordered column, 0 for a column whose values are equal or not.
    missing
        What a missing cell equals.
    """

    candidates: Floats
    scale: Floats
    missing: Reading = "equal"


def overlaps(space: GowerSpace, targets: Floats, split: int, k: int) -> Longs:
    """How the candidates nearest to each target by some columns overlap with those nearest to it by the others.

    Parameters
    ----------
    targets
        Shape (d, m).
    split
        So many columns come first.
    k
        How many nearest ones are meant, from 1 to n.

    Returns
    -------
    Shape (m, 8). With N the candidates nearer than the k-th and T those that tie with it, by the first columns (1)
    and by the others (2), the numbers in N1 and N2, N1 and T2, T1 and N2, T1 and T2, N1, T1, N2, T2.
    """
    counts: Longs = _native.gower_overlaps(
        floats(space.candidates), floats(targets), floats(space.scale), split, k, READINGS.index(space.missing)
    )
    return counts


def chance_of_overlap(counts: Longs, k: int) -> Floats:
    """Shape (m,); the chance that two sets of k nearest meet, where each is filled up at random from its ties.

    Parameters
    ----------
    counts
        As from `overlaps`.
    """
    distinct, place = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chance([int(c) for c in row], k) for row in distinct])
    return np.asarray(chances[place.reshape(-1)], dtype=np.float64)


def _chance(counts: list[int], k: int) -> float:
    """1 - P(no meeting): the second draw avoids what the first has for certain and what it drew, and the reverse."""
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


def guesses(space: GowerSpace, targets: Floats, low: Floats, high: Floats, secrets: Floats) -> Floats:
    """For each secret and target, the share of the nearest candidates that tell the secret.

    Parameters
    ----------
    targets
        Shape (d, m).
    low, high
        Shape (s, n); bounds of the secrets that a candidate would tell.
    secrets
        Shape (s, m).

    Returns
    -------
    Shape (s, m).
    """
    counts: Longs = _native.gower_guesses(
        floats(space.candidates),
        floats(targets),
        floats(space.scale),
        READINGS.index(space.missing),
        floats(low),
        floats(high),
        floats(secrets),
    )
    return np.asarray(counts[1:] / counts[0])
