"""Released numbers that no record could have, as draws from a model and noise produce."""

import numpy as np

from shoal.table.ranges import coarse_range
from shoal.table.variable import Variable

NEGATIVE = "below 0, where no value of the original is"
BEYOND = "beyond the range of the original"
FRACTIONS = "not whole, where all of the original are"


def odd_values(before: Variable, after: Variable, *, averages: bool = False) -> dict[str, int]:
    """Numbers of impossible values in a released column, by reason; empty for a column that no longer holds numbers.

    A value beyond the range counts from a fifth of the way on that lies between the extreme and the fifth value, so
    that a range made coarser on purpose does not; one below 0 is not counted again.

    `averages`: whether the released values are averages of cells, which need not be whole where the cells are.
    """
    if not (before.continuous and after.continuous):
        return {}
    original, released = (v.values[~v.missing].astype(np.float64) for v in (before, after))
    if not len(original):
        return {}
    low, high = (float(end[0]) for end in coarse_range(np.sort(original)[:, None]))
    negative = (released < 0) & (original.min() >= 0)
    whole = not averages and bool((original == np.rint(original)).all())
    counts = {
        NEGATIVE: int(negative.sum()),
        BEYOND: int((((released < low) | (released > high)) & ~negative).sum()),
        FRACTIONS: int((released != np.rint(released)).sum()) if whole else 0,
    }
    return {why: count for why, count in counts.items() if count}
