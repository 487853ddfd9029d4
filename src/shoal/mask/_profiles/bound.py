"""How much groups of k persons can keep at most, whatever the groups are."""

import numpy as np

from shoal.table.equal_rows import patterns
from shoal.table.prelude import Ints, Longs

MOST_WORK = 1_000_000_000
"""Pairs of different persons, times pieces, that are compared, which takes two seconds; beyond it there is no bound."""

AT_ONCE = 8_000_000
"""Cells in memory at a time."""


def most_kept(values: Ints, strata: Longs, k: int) -> int | None:
    """At least what any groups of k or more persons keep, all persons together; None if that takes too long.

    Groups are of one stratum. A stratum of fewer persons than k keeps nothing.

    A group keeps of each piece as much as the member has who has least of it. So a person keeps no more than is shared
    with each of the k - 1 others of the group, nor more than the (k - 1)-th largest of what is shared with anybody.

    Parameters
    ----------
    values
        Shape (u, d); the value of each piece that each person has (`values_of`).
    strata
        Shape (u,).
    """
    parts = [_distinct(values[strata == stratum]) for stratum in np.unique(strata)]
    if sum(len(rows) ** 2 for rows, _ in parts) * values.shape[1] > MOST_WORK:
        return None
    return sum(_of_stratum(rows, times, k) for rows, times in parts if times.sum() >= k)


def _distinct(values: Ints) -> tuple[Ints, Longs]:
    """What persons have, each once, shape (s, d), and how many have just that, shape (s,)."""
    groups = patterns(values)
    return np.array([row for row, _ in groups]), np.array([len(rows) for _, rows in groups])


def _of_stratum(values: Ints, times: Longs, k: int) -> int:
    s, d = values.shape
    if k < 2:
        return int((values.sum(axis=1, dtype=np.int64) * times).sum())
    total, step, most = 0, max(AT_ONCE // max(s * d, 1), 1), min(k, s)
    for start in range(0, s, step):
        some, rows = values[start : start + step], np.arange(start, min(start + step, s))
        shared = np.minimum(some[:, None], values).sum(axis=2, dtype=np.int64)
        nearest = np.argpartition(shared, s - most, axis=1)[:, s - most :]
        shared = np.take_along_axis(shared, nearest, axis=1)
        others = times[nearest] - (nearest == rows[:, None])  # nobody shares with themselves
        order = np.argsort(-shared, axis=1, kind="stable")
        last = (np.take_along_axis(others, order, axis=1).cumsum(axis=1) >= k - 1).argmax(axis=1)
        total += int((np.take_along_axis(shared, order, axis=1)[np.arange(len(rows)), last] * times[rows]).sum())
    return total
