"""What a public table tells of a law of whole records, at no cost of privacy: which columns go together, and how.

The law has the public table's tables of pairs, and so begins where that table is: measurements of the private table
then move it. Pairs are taken by what they gain in likelihood beyond their parameters (Akaike 1974), the most first, and
fitted by iterative proportional fitting (Deming & Stephan 1940).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from shoal.kernels.elementary import log
from shoal.mask._marginals.junction_tree import Columns, cells_of_model, fixed_by
from shoal.mask._marginals.model import Fitting
from shoal.table.prelude import Bools, Floats, Longs

SWEEPS = 10
"""Of iterative proportional fitting over all pairs."""


def prior_of(
    codes: Longs, places: Sequence[int], shape: Sequence[int], possible: dict[Columns, Bools], most: tuple[int, int]
) -> dict[Columns, Floats]:
    """By pair of columns, or by column, theta of a law with the public table's pairs and columns.

    Parameters
    ----------
    codes
        Shape (n, c); categories by number of the columns that the public table has.
    places
        The places of these columns among all, ascending.
    shape
        The number of categories of each of all columns.
    possible
        By columns, false for combinations that cannot be.
    most
        Most pairs, and most cells of the model with them.
    """
    gains: dict[Columns, float] = {}
    tables: dict[Columns, Floats] = {}
    for (i, a), (j, b) in combinations(enumerate(places), 2):
        joint = np.ravel_multi_index((codes[:, i], codes[:, j]), (shape[a], shape[b]))
        counts = np.bincount(joint, minlength=shape[a] * shape[b]).reshape(shape[a], shape[b]).astype(np.float64)
        gains[a, b] = _gain(counts)
        tables[a, b] = _smoothed(counts)
    chosen: list[Columns] = []
    fixed = fixed_by(possible)
    for pair in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        needed = cells_of_model(shape, [*possible, *chosen, pair], fixed)
        if len(chosen) < most[0] and gains[pair] > 0 and needed <= most[1]:
            chosen.append(pair)
    targets = {pair: tables[pair] for pair in chosen}
    for place, column in enumerate(places):
        if not any(column in pair for pair in chosen):
            targets[column,] = _shares(np.bincount(codes[:, place], minlength=shape[column]))
    return Fitting(shape=tuple(shape), possible=possible, total=len(codes)).raked(targets, SWEEPS)


def _shares(counts: Longs | Floats) -> Floats:
    """Shares of categories, with half a record more in each (Krichevsky & Trofimov 1981)."""
    return np.asarray((counts + 0.5) / (counts + 0.5).sum())


def _gain(counts: Floats) -> float:
    """Twice the gain in log-likelihood over independent columns, less twice the parameters that it takes."""
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1.0)
    present = counts > 0
    gain = 2.0 * float((counts[present] * log(counts[present] / expected[present])).sum())
    return gain - 2.0 * float((counts.shape[0] - 1) * (counts.shape[1] - 1))


def _smoothed(counts: Floats) -> Floats:
    """The shares of a table, with a record more for each category, dealt out as if the columns were independent.

    So what the public table happens to lack is unlikely, and not impossible.
    """
    more = sum(counts.shape) * np.outer(_shares(counts.sum(axis=1)), _shares(counts.sum(axis=0)))
    return np.asarray((counts + more) / (counts + more).sum())
