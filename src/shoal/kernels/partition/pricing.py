"""All groups that cost less than their members' prices (native/partition/pricing.cpp)."""

from typing import NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Progress, floats


class BelowPrice(NamedTuple):
    """Groups whose loss is below the sum of their members' prices.

    Parameters
    ----------
    groups
        Ascending row numbers of each.
    reduced
        Shape (number of groups,); loss less prices, negative.
    shortfall
        Shape (n,); lowering each price by this much leaves no listed group below its price.
    complete
        Whether the list holds all such groups.
    """

    groups: list[tuple[int, ...]]
    reduced: Floats
    shortfall: Floats
    complete: bool


def groups_below_price(
    x: Floats, prices: Floats, k: int, *, least: float, limit: int, progress: Progress = None
) -> BelowPrice:
    """List the groups of k to 2k - 1 records whose sum of squares is more than `least` below their prices.

    Parameters
    ----------
    x
        Shape (n, d), finite; n^2 distances are kept in memory.
    prices
        Shape (n,).
    k
        At least 2.
    limit
        Steps of the walk after which it is cut short.
    """
    members, ends, reduced, shortfall, complete = _native.groups_below_price(
        floats(x), floats(prices), k, least, limit, progress
    )
    parts = np.split(members, ends[:-1]) if len(ends) else []
    return BelowPrice([tuple(part.tolist()) for part in parts], reduced, shortfall, bool(complete))
