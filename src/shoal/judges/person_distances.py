"""Distances of groups of persons from a table, where each person has a mass of one however many records there are.

The earth mover's distances of t-closeness, with shares of mass in place of shares of records: of an ordered column 1/(m
- 1) sum_i |sum_(j <= i) (p_j - q_j)|; along a hierarchy the mean over its levels of 1/2 sum |p - q| over the nodes; by
ranks the mean of |F - Q| over the ranks, where the mass of tied values is spread over theirs. The missing part of an
ordered column is moved by itself, as where records are counted.
"""

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.table.confidential_bins import Bins

CELLS = 4_000_000
"""Groups times bins that are worked on at a time."""

DIGITS = 12
"""Decimals that are kept: sums of shares have errors beyond them, and a distance at the limit must not pass it."""


def person_distances(
    column: Bins, of_table: Floats, groups: Longs, rows: Longs, in_groups: Floats, count: int
) -> Floats:
    """Distance of each group from the table.

    Parameters
    ----------
    of_table
        Shape (n,); mass of each record in the table.
    groups, rows, in_groups
        Shape (p,); a group, one of its records, and the mass of that record in it.
    count
        Number of groups, G.

    Returns
    -------
    Shape (G,); in [0, 1].
    """
    width = column.m + 1  # missing values of ordered columns come last
    whole = _shares(column.bins, of_table, np.zeros_like(rows, shape=len(of_table)), 1, width)[0]
    order = np.argsort(groups, kind="stable")
    groups, bins, masses = groups[order], column.bins[rows[order]], in_groups[order]
    step = max(CELLS // width, 1)
    figures = np.empty(count)
    for low in range(0, count, step):
        some = slice(*np.searchsorted(groups, [low, low + step]))
        shares = _shares(bins[some], masses[some], groups[some] - low, min(step, count - low), width)
        figures[low : low + step] = _distances(column, shares, whole, int(round(of_table.sum())))
    return np.round(figures, DIGITS)


def _shares(bins: Ints, masses: Floats, groups: Longs, count: int, width: int) -> Floats:
    """Shape (count, width); share of each bin in each group."""
    places = groups * width + np.where(bins < 0, width - 1, bins)
    shares = np.bincount(places, weights=masses, minlength=count * width).reshape(count, width)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _distances(column: Bins, shares: Floats, whole: Floats, persons: int) -> Floats:
    if len(column.nodes):
        return _along_tree(column, shares[:, :-1] - whole[:-1])
    known, of_table = 1 - shares[:, -1:], 1 - whole[-1]
    inside = np.divide(shares[:, :-1], known, out=np.zeros_like(shares[:, :-1]), where=known > 0)
    gaps = inside - whole[:-1] / of_table if of_table > 0 else np.zeros_like(inside)
    distance = _by_ranks(gaps, whole[:-1] / max(of_table, 1e-300), persons) if column.spread else _in_order(gaps)
    moved = np.minimum(known[:, 0], of_table) * distance
    return np.asarray(np.abs(shares[:, -1] - whole[-1]) + np.where(known[:, 0] > 0, moved, 0.0))


def _in_order(gaps: Floats) -> Floats:
    m = gaps.shape[1]
    return np.asarray(np.abs(np.cumsum(gaps, axis=1))[:, :-1].sum(axis=1) / max(m - 1, 1))


def _by_ranks(gaps: Floats, whole: Floats, persons: int) -> Floats:
    """The mean of |F - Q|, which is linear over the ranks of each value, times N / (N - 1) for N persons."""
    ends = np.cumsum(gaps, axis=1)
    starts = ends - gaps
    across = starts * ends < 0
    low, high = np.abs(starts), np.abs(ends)
    total = np.where(low + high > 0, low + high, 1.0)
    mean = np.where(across, (low**2 + high**2) / (2 * total), (low + high) / 2)
    return np.asarray((mean * whole).sum(axis=1) * persons / max(persons - 1, 1))


def _along_tree(column: Bins, gaps: Floats) -> Floats:
    """Half the sum of |p - q| over the values and the nodes of each level below the root, over the height."""
    height = len(column.nodes)
    total = np.abs(gaps).sum(axis=1)
    for nodes in column.nodes[:-1]:
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        total = total + np.abs(np.add.reduceat(gaps, starts, axis=1)).sum(axis=1)
    return np.asarray(total / (2 * height))
