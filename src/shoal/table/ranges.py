"""Ranges of columns, widened a little so that their ends reveal no extreme value."""

import numpy as np

from shoal.kernels.arrays import Floats

FEW = 5
"""Number of values at either end that decide how far it is widened."""


def coarse_range(ordered: Floats) -> tuple[Floats, Floats]:
    """Shape (L,) each; ends beyond the least and greatest values of sorted columns (n, L), on the same side of 0."""
    inward = min(FEW, len(ordered))
    low, high = ordered[0], ordered[-1]
    wider_low = low - (ordered[inward - 1] - low) / FEW
    wider_high = high + (high - ordered[-inward]) / FEW
    low_end = np.where(low >= 0, np.maximum(wider_low, 0), wider_low)
    return low_end, np.where(high <= 0, np.minimum(wider_high, 0), wider_high)
