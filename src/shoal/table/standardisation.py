"""The standardised scale of continuous columns; no other module defines one."""

from collections.abc import Callable

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import log
from shoal.table.schema import Scale
from shoal.vocabulary.errors import DataError, plural

MAD_TO_SD = 1.482602218505602
"""1 / Phi^-1(3/4), the factor from a median absolute deviation to a normal standard deviation."""

LARGEST, SMALLEST = 1e75, 1e-60
"""Bounds of the largest number of a column.

Measures take fourth powers of numbers; beyond these bounds they would not be finite, or would vanish for differences in
the last place.
"""

HUGE = 2.0**1020
"""Absolute value above which the difference of two values may overflow."""


def check_magnitude(values: Floats, name: str) -> None:
    """Refuse numbers so large or so small that powers of them leave the range of float64."""
    largest = max(float(np.fmax.reduce(values, initial=0.0)), -float(np.fmin.reduce(values, initial=0.0)))
    if largest > LARGEST:
        count = plural(int((np.abs(values) > LARGEST).sum()), "number")
        raise DataError(
            f"Column '{name}' has {count} beyond {LARGEST:g}, too large to compute with. "
            f"Count in a larger unit, or set level: nominal."
        )
    if 0 < largest < SMALLEST:
        raise DataError(
            f"Column '{name}' has no number as large as {SMALLEST:g}, and smaller ones are too small to "
            f"compute with. Count in a smaller unit, or set level: nominal."
        )


def check_positive(values: Floats, name: str, user: str) -> None:
    """Refuse a column with numbers that have no logarithm; `user` is what needs them, and comes before "needs"."""
    if count := int((values <= 0).sum()):
        raise DataError(
            f"Column '{name}' has {plural(count, 'number')} of 0 or less; {user} needs positive ones. Choose another, "
            f"or leave out such records before."
        )


def standardiser(values: Floats, scale: Scale) -> Callable[[Floats], Floats]:
    """The function that maps a continuous column to its standardised scale; a constant column maps to 0.

    Values are first shifted by the column's median and scaled by a power of two, so that neither a large offset nor a
    subnormal unit costs digits.
    """
    present = values[~np.isnan(values)]
    if scale == "none" or not len(present):
        return lambda x: x.astype(np.float64)
    if scale == "log":
        low = float(present.min())  # released values may lie below all that there were
        of_logs = standardiser(log(present), "sd")
        return lambda x: of_logs(log(np.maximum(x, low)))
    if scale == "rank":
        ordered = np.sort(present)
        return lambda x: (
            (np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right") - 1)
            / (2.0 * max(len(ordered) - 1, 1))
        )
    headroom = -2 if np.abs(present).max() > HUGE else 0  # so that the difference of two values is finite
    middle = float(np.median(np.ldexp(present, headroom)))
    largest = float(np.abs(np.ldexp(present, headroom) - middle).max())
    if largest == 0.0:
        return lambda x: np.zeros(len(x))
    exponent = -int(np.frexp(largest)[1])

    def near_one(x: Floats) -> Floats:
        return np.asarray(np.ldexp(np.ldexp(x, headroom) - middle, exponent))

    centred = near_one(present)
    centre, spread = float(centred.mean()), _spread(centred, scale)
    return lambda x: (near_one(x) - centre) / spread


def _spread(centred: Floats, scale: Scale) -> float:
    if scale == "range":
        return float(np.ptp(centred))
    if scale == "mad" and (mad := float(np.median(np.abs(centred - np.median(centred))))) > 0:
        return MAD_TO_SD * mad
    return float(centred.std(ddof=1))


def deviation(values: Floats) -> float:
    """The n-1 standard deviation of the known values; exactly 0 if all of them are equal."""
    present = values[~np.isnan(values)]
    return float(present.std(ddof=1)) if len(present) > 1 and np.ptp(present) > 0 else 0.0
