"""Order of the released records, and numbers of their units: drawn, so that they tell nothing of what came in."""

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.draws import RecordDraws, keyed_generator

UNIT_KEYS, ORDER = {"household": 1 << 22, "person": 1 << 23}, 1 << 25
"""Keys of the random numbers of units and of the order, beyond the number of any step."""


def order_shares(rows: Longs, entropy: int) -> Floats:
    """Shape (n,); random numbers in [0, 1) of some records, in the ascending order of which all are released."""
    return RecordDraws.of(rows, keyed_generator(entropy, ORDER)).random(len(rows))


def released_order(rows: Longs, entropy: int | None) -> Longs:
    """Shape (n,); the places of some records in the order in which they are released.

    Parameters
    ----------
    rows
        Shape (n,); of each record, in the table that came in.
    entropy
        Of the random order; None where records stay in that of their rows.
    """
    if entropy is None:
        return np.argsort(rows)
    shares = order_shares(rows, entropy)
    order = np.argsort(shares)
    return order if (np.diff(shares[order]) > 0).all() else np.lexsort((rows, shares))  # equal ones, by row


def unit_numbers(count: int, entropy: int, role: str) -> Longs:
    """Shape (count,); the numbers from 1 that the released persons or households get, in the order of their own."""
    return keyed_generator(entropy, UNIT_KEYS[role]).permutation(count) + 1
