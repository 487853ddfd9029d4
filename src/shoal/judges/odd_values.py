"""Released numbers that no original record could have: what a draw from a model, or noise, makes and nobody has."""

import numpy as np

from shoal.data.ranges import coarse_range
from shoal.data.variable import Variable

NEGATIVE = "below 0, where no value of the original is"
BEYOND = "beyond the range of the original"
FRACTIONS = "not whole, where all of the original are"


def odd_values(before: Variable, after: Variable, *, averages: bool = False) -> dict[str, int]:
    """How many known values of a released column cannot be, by why; none for a column that holds no numbers any more.

    A value beyond the range counts from a fifth of the way on that lies between the extreme and the fifth value, so
    that a range made coarser on purpose does not; one below 0 is not counted again.

    Parameters
    ----------
    averages
        Whether the released values are averages of cells, which need not be whole where the cells are.
    """
    if not (before.continuous and after.continuous):
        return {}
    known, new = (v.values[~v.missing].astype(np.float64) for v in (before, after))
    if not len(known):
        return {}
    low, high = (float(end[0]) for end in coarse_range(np.sort(known)[:, None]))
    negative = (new < 0) & (known.min() >= 0)
    whole = not averages and bool((known == np.rint(known)).all())
    counts = {
        NEGATIVE: int(negative.sum()),
        BEYOND: int((((new < low) | (new > high)) & ~negative).sum()),
        FRACTIONS: int((new != np.rint(new)).sum()) if whole else 0,
    }
    return {why: count for why, count in counts.items() if count}
