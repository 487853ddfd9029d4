"""Variance of a column, the target, that the labels of another one hide.

The leaves of a column explain some of the target's variance: that between the means of their records, of its indicators
where the target has categories (then this share is tau of Goodman & Kruskal 1954), of its values where it is a number.
A label explains no more than the variance between labels. What a cell's label hides is the variance between the leaves
under it, at most that between all leaves: averaged over the records it grows from level to level, up to all that the
column explains.
"""

from collections.abc import Sequence

import numpy as np

from shoal.kernels.arrays import floats
from shoal.table.prelude import Floats, Ints, Longs, Variable


def hidden(target: Variable, labels: Ints, leaves: Ints) -> Floats:
    """Shape (levels, leaves of the hierarchy); variance of the target that each leaf's label hides at each level.

    `target`: missing cells are a category of their own, or count as the mean; `labels`, shape (levels, leaves of the
    hierarchy): number of each leaf's label, the last level holding one label; `leaves`, shape (n,): leaf of each
    record.
    """
    count = labels.shape[1]
    counts = np.bincount(leaves, minlength=count)
    sums: list[Floats] = _sums(target, leaves, count)
    explained = _explained(sums, counts)
    rows = []
    for row in labels:
        of_label = np.bincount(row, weights=counts)
        within = np.bincount(row, weights=explained) - _explained(
            [floats(np.bincount(row, weights=s)) for s in sums], of_label
        )
        rows.append((np.maximum(within, 0.0) / np.maximum(of_label, 1))[row])
    return floats(np.minimum(rows, rows[-1]))


def _sums(target: Variable, leaves: Ints, count: int) -> list[Floats]:
    """For each score of the target the sums over the records of each leaf, shape (count,), those of all being 0."""
    if target.continuous:
        known = target.values[~target.missing]
        mean, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
        scores = np.where(target.missing, 0.0, target.values - mean) / (spread or 1.0)
        return [floats(np.bincount(leaves, weights=scores, minlength=count))]
    kinds = len(target.categories) + 1
    codes = np.where(target.missing, kinds - 1, target.values)
    cells = np.bincount(leaves * np.int64(kinds) + codes, minlength=count * kinds).reshape(count, kinds)
    shares, counts = cells.sum(axis=0) / len(leaves), cells.sum(axis=1)
    return [floats(cells[:, c] - shares[c] * counts) for c in range(kinds)]


def _explained(sums: Sequence[Floats], counts: Floats | Longs) -> Floats:
    """Shape (count,); records times squared mean, summed over the scores."""
    total: Floats = np.sum([s * s for s in sums], axis=0) / np.maximum(counts, 1)
    return total
