"""Fit of a line through most points of two columns, one of them rounded and a few of its values wrong."""

import math

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.table.dependencies import EXCEPTIONS

FEWEST = 8
"""Fewest records with all columns of a law known; with fewer none has a chance as low as required."""

DIGITS = range(1, 8)
"""Significant digits of a slope that counts as round."""

NEAR = 0.01
"""Relative distance within which round slopes are tried in place of the fitted one."""

HALVES = 1e-6
"""Share of a step by which residuals fall short of a whole one if they are not at both of its ends."""


def fitted_line(x: Floats, y: Floats, half: float) -> tuple[float, float] | None:
    """Slope and offset of the line on which most points lie up to rounding; None if it would be flat.

    The slope is the median of the slopes between points half the sample apart (Theil 1950, the incomplete method),
    refined by least squares on the points near that line. Of this slope and the round ones near it, such as 1 or 1 /
    2.54, the one that is right most often is taken.
    """
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    middle = len(x) // 2
    run, rise = x[len(x) - middle :] - x[:middle], y[len(x) - middle :] - y[:middle]
    if len(x) < FEWEST or not (run > 0).any():
        return None
    slope = float(np.median(rise[run > 0] / run[run > 0]))
    offset = float(np.median(y - slope * x))
    for _ in range(2):
        near = np.abs(y - slope * x - offset) <= 3 * half
        count = int(near.sum())
        if 2 * count < len(x):
            return None
        near_x, near_y = x[near], y[near]
        mean_x, mean_y = _sum(near_x) / count, _sum(near_y) / count
        square = _sum((near_x - mean_x) ** 2)
        if not square:
            return None
        slope = _sum((near_x - mean_x) * (near_y - mean_y)) / square
        offset = mean_y - slope * mean_x
    if not slope:
        return None
    lines = [(candidate, *_offset(y - candidate * x, half)) for candidate in _round_slopes(slope)]
    best = max(lines, key=lambda line: line[2])
    return best[0], best[1]


def _sum(x: Floats) -> float:
    """The sum, rounded once."""
    return math.fsum(x.tolist())


def _round_slopes(slope: float) -> list[float]:
    """Slopes near one, with few significant digits or with inverses that have few; last the slope itself."""
    slopes = [float(f"{slope:.{digits}g}") for digits in DIGITS]
    inverses = [1 / float(f"{1 / slope:.{digits}g}") for digits in DIGITS]
    candidates = [candidate for pair in zip(slopes, inverses) for candidate in pair]
    near = [candidate for candidate in candidates if abs(candidate - slope) <= NEAR * abs(slope)]
    return [*dict.fromkeys(near), slope]


def _offset(residuals: Floats, half: float) -> tuple[float, int]:
    """The middle of the largest set of residuals that rounding can explain, and its size.

    Its width is less than a step; or one whole step, as halves rounded up and down give, if too few lie within less.
    """
    ordered = np.sort(residuals)
    for width in (2 * half * (1 - HALVES), 2 * half):
        ends = np.searchsorted(ordered, ordered + width, "right")
        counts = ends - np.arange(len(ordered))
        first = int(counts.argmax())
        if counts[first] >= (1 - EXCEPTIONS[False]) * len(ordered):
            break
    return float((ordered[first] + ordered[ends[first] - 1]) / 2), int(counts[first])
