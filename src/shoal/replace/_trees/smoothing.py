"""Numbers near a donor's: so that rare values, and the extremes above all, are not released as they are."""

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.replace.decimals import Decimals

FEW = 5
"""Records that must have a number for it to be a heap; so many from either end are extremes."""


def between(values: Floats, drawn: Floats, rng: np.random.Generator) -> Floats:
    """Numbers near their donors' that few records have, written as finely as the column is.

    Parameters
    ----------
    values
        Shape (n,); the column's known numbers.
    drawn
        Shape (m,); the donors' numbers.

    Returns
    -------
    Shape (m,); heaps as they are, other numbers drawn evenly between the middles of the gaps to the next different
    numbers of the column, extremes among the values next to them.
    """
    distinct, counts = np.unique(values, return_counts=True)
    place = np.searchsorted(distinct, drawn)
    heap = counts[place] >= FEW
    middles = (distinct[1:] + distinct[:-1]) / 2
    edges = np.concatenate([distinct[:1], middles, distinct[-1:]])
    low, high = edges[place], edges[place + 1]
    ordered = np.sort(values)
    if len(ordered) > 4 * FEW:  # extremes are drawn anew among the values next to them
        first, last = ordered[FEW - 1], ordered[-FEW]
        low = np.where(high > last, ordered[-2 * FEW], np.maximum(low, first))
        high = np.where(low < first, ordered[2 * FEW - 1], np.minimum(high, last))
    moved = low + rng.random(len(drawn)) * (high - low)
    ends = np.full(len(drawn), ordered[0]), np.full(len(drawn), ordered[-1])
    written = Decimals.of(values).write(moved, *ends, keep_sign=True)
    return np.asarray(np.where(heap, drawn, written))
