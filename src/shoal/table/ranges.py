"""The range of columns, a little farther out than their extremes, so that it gives none of them away."""

import numpy as np

from shoal.kernels.arrays import Floats

FEW = 5
"""So many values at either end say how far it is coarsened."""


def coarse_range(ordered: Floats) -> tuple[Floats, Floats]:
    """Ends of the range beyond the smallest and largest of sorted columns (n, L), on the same side of 0."""
    inward = min(FEW, len(ordered))
    low, high = ordered[0], ordered[-1]
    wider_low = low - (ordered[inward - 1] - low) / FEW
    wider_high = high + (high - ordered[-inward]) / FEW
    low_end = np.where(low >= 0, np.maximum(wider_low, 0), wider_low)
    return low_end, np.where(high <= 0, np.minimum(wider_high, 0), wider_high)
