"""How much groups of k persons can keep at most, whatever the groups are."""

import numpy as np

from shoal.table.prelude import Ints, Longs

MOST_WORK = 1_000_000_000
"""Pairs of persons, times pieces, that are compared, which takes two seconds; beyond it there is no bound."""

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
    parts = [values[strata == stratum] for stratum in np.unique(strata)]
    if sum(len(part) ** 2 for part in parts) * values.shape[1] > MOST_WORK:
        return None
    return sum(_of_stratum(part, k) for part in parts if len(part) >= k)


def _of_stratum(values: Ints, k: int) -> int:
    u, d = values.shape
    if k < 2:
        return int(values.sum(dtype=np.int64))
    total, step = 0, max(AT_ONCE // max(u * d, 1), 1)
    for start in range(0, u, step):
        some = values[start : start + step]
        shared = np.minimum(some[:, None], values).sum(axis=2, dtype=np.int64)
        shared[np.arange(len(some)), np.arange(start, start + len(some))] = -1  # nobody shares with themselves
        total += int(np.partition(shared, u - k + 1, axis=1)[:, u - k + 1].sum())
    return total
