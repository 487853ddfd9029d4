"""Confidence intervals that several judges use."""

import math

from shoal.kernels.elementary import normal_quantile
from shoal.vocabulary.facts import Interval


def proportion_interval(hits: float, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion (Wilson 1927).

    `hits` may be fractional: a tie among m candidates counts 1/m.
    """
    if trials == 0:
        return Interval(low=0.0, high=1.0, confidence=confidence)
    z = float(normal_quantile(0.5 + confidence / 2))
    share = hits / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return Interval(low=max(0.0, centre - half), high=min(1.0, centre + half), confidence=confidence)


def cautious_interval(hits: float, trials: float, confidence: float = 0.95) -> Interval:
    """Wilson's interval corrected for continuity (Newcombe 1998): it covers the truth where few trials succeed, too.

    A rate of one in a few hundred is seen twice now and then among sixty trials; the interval without the correction
    then starts above it in more draws than one in twenty.
    """
    if trials == 0:
        return Interval(low=0.0, high=1.0, confidence=confidence)
    z = float(normal_quantile(0.5 + confidence / 2))
    low = 0.0 if hits <= 0 else _lower_end(hits, trials, z)
    high = 1.0 if hits >= trials else 1 - _lower_end(trials - hits, trials, z)
    return Interval(low=max(0.0, low), high=min(1.0, high), confidence=confidence)


def _lower_end(hits: float, trials: float, z: float) -> float:
    if hits < 1:  # part of a hit, by ties: the formula is one for whole ones
        return hits * _lower_end(1.0, trials, z)
    share = hits / trials
    spread = z * z - 2 - 1 / trials + 4 * share * (trials * (1 - share) + 1)
    return (2 * hits + z * z - 1 - z * math.sqrt(max(spread, 0.0))) / (2 * (trials + z * z))
