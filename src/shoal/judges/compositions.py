"""Guesses of how the records of a class divide among the parts of a label, from how common each part is.

A class of c records whose label stands for several parts holds n_1, n_2, ... of each: a composition of c, with the
probabilities of a multinomial draw. Further knowledge rules some compositions out: that at least two parts occur, since
one alone would have had the narrower label; that certain parts occur, since a set names its values and an interval its
ends; or that some part holds fewer than k. The rest is normalised, and the likeliest composition returned.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs, floats
from shoal.kernels.elementary import exp, log, log_gamma

MOST_SIZE = 100
"""Records of a class up to which chances are summed one by one; in larger ones nobody is sure of a composition."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LikeliestComposition:
    """The likeliest composition."""

    counts: Longs  # Shape (m,)
    chance: float  # Its probability among those that are possible


def log_chance(shares: Floats, counts: Longs) -> float:
    """Log-probability of a composition; -inf where a part that nobody has is said to occur."""
    if (shares[counts > 0] <= 0).any():
        return -math.inf
    used = counts > 0
    size = float(log_gamma(float(counts.sum()) + 1))
    return size + float((counts[used] * log(shares[used]) - log_gamma(counts[used] + 1.0)).sum())


def likeliest(shares: Floats, size: int, low: Longs, high: Longs) -> Longs | None:
    """The likeliest composition with so many of each part at least and at most; None if there is none.

    One record after the other goes where the chance grows most, which is exact since its logarithm is concave.
    """
    counts = low.copy()
    if counts.sum() > size or high.sum() < size or (shares[low > 0] <= 0).any():
        return None
    for _ in range(size - int(counts.sum())):
        gain = np.where(counts < high, shares / (counts + 1), -1.0)
        part = int(gain.argmax())
        if gain[part] <= 0:
            return None
        counts[part] += 1
    return counts


def chance_of(shares: Floats, size: int, allowed: Sequence[Bools]) -> float:
    """Probability that every part holds a number that is allowed to it; `allowed[i]` is of shape (size + 1,)."""
    factorials = log_gamma(np.arange(size + 1) + 1.0)
    total: Floats = np.zeros(size + 1)
    total[0] = 1.0
    for share, numbers in zip(shares, allowed):
        if share > 0:
            terms = np.where(numbers, exp(np.arange(size + 1) * log(share) - factorials), 0.0)
        else:
            terms = np.where(numbers & (np.arange(size + 1) == 0), 1.0, 0.0)
        total = floats([float((total[: n + 1] * terms[n::-1]).sum()) for n in range(size + 1)])
    return float(total[size] * exp(factorials[size]))


def guess_at_random(shares: Floats, size: int) -> LikeliestComposition | None:
    """Likeliest composition if only the shares are known."""
    return _guess(shares, likeliest(shares, size, *_free(shares, size)), 1.0)


def guess_of_several(shares: Floats, size: int) -> LikeliestComposition | None:
    """Likeliest composition if at least two parts occur."""
    if size < 2 or np.count_nonzero(shares) < 2:
        return None
    low, high = _free(shares, size)
    counts = likeliest(shares, size, low, np.minimum(high, size - 1))
    return _guess(shares, counts, 1.0 - float(exp(size * log(shares[shares > 0])).sum()))


def guess_of_named(shares: Floats, size: int, named: Bools) -> LikeliestComposition | None:
    """Likeliest composition if certain parts occur."""
    low, high = _free(shares, size)
    counts = likeliest(shares, size, named.astype(np.int64), high)
    numbers = np.arange(size + 1)
    return _guess(shares, counts, chance_of(shares, size, [numbers >= least for least in named]))


def chance_of_few(shares: Floats, size: int, k: int) -> float:
    """Probability that some part holds 1 to k - 1 records; in large classes as if the parts were independent."""
    if size <= MOST_SIZE:
        numbers = np.arange(size + 1)
        return max(0.0, 1.0 - chance_of(shares, size, [(numbers == 0) | (numbers >= k)] * len(shares)))
    few = np.arange(1, k, dtype=np.float64)
    ways = log_gamma(size + 1.0) - log_gamma(few + 1.0) - log_gamma(size - few + 1.0)
    none = 1.0
    for share in shares[(shares > 0) & (shares < 1)]:
        none *= 1.0 - min(1.0, float(exp(ways + few * log(share) + (size - few) * log(1 - share)).sum()))
    return 1.0 - none


def guess_of_few(shares: Floats, size: int, k: int, few: float, others: float) -> LikeliestComposition | None:
    """Likeliest composition if some part holds 1 to k - 1 records in this class or in another.

    `few`: probability that it is so in this class; `others`: probability that it is so in one of the others.
    """
    whole = few + (1 - few) * others
    low, high = _free(shares, size)
    options = [(likeliest(shares, size, low, high), others)]
    for part in range(len(shares) if k > 1 else 0):
        at_least, at_most = low.copy(), high.copy()
        at_least[part], at_most[part] = 1, min(k - 1, size)
        options.append((likeliest(shares, size, at_least, at_most), 1.0))
    guesses = [
        LikeliestComposition(counts=counts, chance=weight * float(exp(log_chance(shares, counts))) / whole)
        for counts, weight in options
        if counts is not None and whole > 0
    ]
    return max(guesses, key=lambda guess: guess.chance, default=None)


def _free(shares: Floats, size: int) -> tuple[Longs, Longs]:
    return np.zeros(len(shares), dtype=np.int64), np.full(len(shares), size, dtype=np.int64)


def _guess(shares: Floats, counts: Longs | None, possible: float) -> LikeliestComposition | None:
    """The guess with its chance among all possible ones; None if there is none, or nothing is possible."""
    if counts is None or possible <= 0:
        return None
    return LikeliestComposition(counts=counts, chance=min(1.0, float(exp(log_chance(shares, counts))) / possible))
