"""Confidence intervals that several judges use."""

import math

from shoal.facts import Interval
from shoal.kernels.elementary import normal_quantile


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
