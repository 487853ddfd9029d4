"""Weights of columns by which true pairs of records come first (Abril, Navarro-Arribas & Torra 2012).

The attacker at their best: someone who knows of some records which released ones are theirs, weighs the columns so that
as many of these pairs as possible are nearer than any other pair, and links everybody by the weighted distance. The
source's programme has a variable of 0 or 1 for each pair that is not put first; relaxed, it is a linear programme in
which each such pair costs as much as it misses. Of the pairs that must be farther only those are looked at that some
weights brought nearer, round by round.
"""

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs, floats
from shoal.kernels.draws import drawn_rows
from shoal.kernels.solver import milp

KNOWN = 300
"""Records whose true pairs the attacker learns from: the weights of a dozen columns hardly change with more."""

RIVALS = 3_000
"""Records among which those are sought that come before the true one."""

ROUNDS = 8
"""Programmes that are solved, each with the rivals that the one before brought nearest."""

MARGIN = 0.1
"""By how much a true pair is to be nearer, in differences of squared distances that occur."""


def fitted_weights(
    searched: Floats, wanted: Floats, answer: Longs, of_coordinate: Longs, rng: np.random.Generator
) -> Floats:
    """Weights of columns, none negative and with a mean of 1.

    Parameters
    ----------
    searched
        Shape (n, m); records among which each wanted one is looked up.
    wanted
        Shape (w, m).
    answer
        Shape (w,); the true pair of each wanted record among those searched.
    of_coordinate
        Shape (m,); the column, from 0, of each coordinate.

    Returns
    -------
    Shape (columns,); of the weights of all rounds, equal ones first, the earliest that link most of the known records.
    """
    known = drawn_rows(rng, len(wanted), KNOWN)
    rows = np.union1d(drawn_rows(rng, len(searched), RIVALS), answer[known])
    gaps = _Gaps(searched[rows], wanted[known], np.searchsorted(rows, answer[known]), of_coordinate)
    best = weights = np.ones(int(of_coordinate.max()) + 1)
    most, rivals, seen = -1, [], set[tuple[int, int]]()
    for _ in range(ROUNDS):
        nearest, linked = gaps.nearest(weights)
        if linked > most:
            best, most = weights, linked
        new = [(i, int(rival)) for i, rival in enumerate(nearest) if (i, int(rival)) not in seen]
        if most == len(known) or not new:
            break
        seen.update(new)
        rivals += new
        weights = _solved(np.array([gaps.by_column(i, rival) for i, rival in rivals]), [i for i, _ in rivals])
    return best


class _Gaps:
    """By how much each rival is farther from a wanted record than the true pair, column by column."""

    def __init__(self, searched: Floats, wanted: Floats, answer: Longs, of_coordinate: Longs) -> None:
        self.searched, self.wanted, self.answer, self.of_coordinate = searched, wanted, answer, of_coordinate

    def nearest(self, weights: Floats) -> tuple[Longs, int]:
        """Shape (w,); the rival nearest to each wanted record; and how many true pairs are nearer than any rival."""
        distances = np.zeros((len(self.wanted), len(self.searched)))
        for j, weight in enumerate(weights[self.of_coordinate]):
            distances += weight * (self.wanted[:, j, None] - self.searched[:, j]) ** 2
        each = np.arange(len(self.wanted))
        own = distances[each, self.answer]
        distances[each, self.answer] = np.inf
        nearest = distances.argmin(axis=1)
        before: Bools = own < distances[each, nearest]
        return nearest, int(before.sum())

    def by_column(self, i: int, rival: int) -> Floats:
        """Shape (columns,)."""
        far = (self.wanted[i] - self.searched[rival]) ** 2 - (self.wanted[i] - self.searched[self.answer[i]]) ** 2
        return floats(np.bincount(self.of_coordinate, weights=far))


def _solved(gaps: Floats, of_record: list[int]) -> Floats:
    """Shape (columns,); the weights by which the records' true pairs miss the margin by least, in all.

    `gaps`, shape (r, columns), and `of_record`, the wanted record of each.
    """
    from scipy.sparse import csr_array, hstack, vstack

    rows, columns = gaps.shape
    scale = max(float(np.abs(gaps).mean()), np.finfo(float).tiny)
    records = max(of_record) + 1
    missed = csr_array((np.ones(rows), (np.arange(rows), of_record)), shape=(rows, records))
    total = csr_array(np.concatenate([np.ones(columns), np.zeros(records)])[None])
    solution = milp(
        np.concatenate([np.zeros(columns), np.ones(records)]),
        vstack([hstack([csr_array(gaps / scale), missed]), total]),
        np.concatenate([np.full(rows, MARGIN * columns), [columns]]),
        np.concatenate([np.full(rows, np.inf), [columns]]),
        whole=0,
    )
    if solution.x is None:
        raise RuntimeError("The programme of the weights, which always has a solution, was not solved.")
    return np.maximum(solution.x[:columns], 0.0)
