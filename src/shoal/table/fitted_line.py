"""The line that most points of two columns lie on, one of which was rounded and a few of which are wrong."""

import math

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.table.dependencies import EXCEPTIONS

FEWEST = 8
"""Records in which all columns of a law must be known: with fewer none is below the chance that is asked for."""

DIGITS = range(1, 8)
"""Significant digits of a slope that is called round."""

NEAR = 0.01
"""Relative distance up to which a round slope is tried in place of the fitted one."""

HALVES = 1e-6
"""Share of a step by which residuals miss a whole one that are not both ends of it."""


def fitted_line(x: Floats, y: Floats, half: float) -> tuple[float, float] | None:
    """Slope and offset of the line most points lie on within rounding; None where there is none that rises or falls.

    The median of the slopes between points half the sample apart (Theil 1950, the incomplete method), least squares on
    the points near that line, and then of this slope and round ones near it, as 1 or 1 / 2.54, the one that is right
    most often.
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
        mean_x, mean_y = math.fsum(x[near]) / count, math.fsum(y[near]) / count
        square = math.fsum((x[near] - mean_x) ** 2)
        if not square:
            return None
        slope = math.fsum((x[near] - mean_x) * (y[near] - mean_y)) / square
        offset = mean_y - slope * mean_x
    if not slope:
        return None
    lines = [(candidate, *_offset(y - candidate * x, half)) for candidate in _round_slopes(slope)]
    best = max(lines, key=lambda line: line[2])
    return best[0], best[1]


def _round_slopes(slope: float) -> list[float]:
    """Slopes near one, of one significant digit and more, or so many of their inverses; last the slope itself."""
    slopes = [float(f"{slope:.{digits}g}") for digits in DIGITS]
    inverses = [1 / float(f"{1 / slope:.{digits}g}") for digits in DIGITS]
    candidates = [candidate for pair in zip(slopes, inverses) for candidate in pair]
    near = [candidate for candidate in candidates if abs(candidate - slope) <= NEAR * abs(slope)]
    return [*dict.fromkeys(near), slope]


def _offset(residuals: Floats, half: float) -> tuple[float, int]:
    """The middle of the most residuals that rounding can explain, and how many they are.

    They lie in less than a step, or in one whole step where halves were rounded up and down, and too few do.
    """
    ordered = np.sort(residuals)
    for width in (2 * half * (1 - HALVES), 2 * half):
        ends = np.searchsorted(ordered, ordered + width, "right")
        counts = ends - np.arange(len(ordered))
        first = int(counts.argmax())
        if counts[first] >= (1 - EXCEPTIONS[False]) * len(ordered):
            break
    return float((ordered[first] + ordered[ends[first] - 1]) / 2), int(counts[first])
