"""Local suppression, and the counts on which it is based (native/suppression/)."""

import math

import shoal.kernels._native as _native
from shoal.kernels._native import Suppressed, suppress
from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.vocabulary.errors import DataError

KEY_BITS = 128
"""Bits of the numbers of combinations of keys."""

MOST_KEYS = 31
"""Most keys: sets of keys are bit sets."""


def check_keys(codes: Ints) -> None:
    """Refuse keys whose combinations cannot be numbered."""
    combinations = math.prod(int(largest) + 2 for largest in codes.max(axis=0, initial=0))
    if codes.shape[1] > MOST_KEYS or combinations >= 1 << KEY_BITS - 1:
        raise DataError(
            f"These {codes.shape[1]} keys have too many combinations to count with missing cells as wildcards "
            f"(at most {MOST_KEYS} keys and 2^{KEY_BITS - 1} combinations). Use fewer keys, or recode them."
        )


def wildcard_counts(codes: Ints, counts: Longs, *, missing_counts: bool = True) -> Longs:
    """Count the records that agree with each row wherever both have a value, after `check_keys`."""
    check_keys(codes)
    return _native.wildcard_counts(codes, counts, missing_counts=missing_counts)


def wildcard_weights(codes: Ints, weights: Floats, *, missing_counts: bool = True) -> Floats:
    """As `wildcard_counts`, with the weights of records; without `missing_counts`, of complete records only."""
    check_keys(codes)
    return _native.wildcard_weights(codes, weights, missing_counts=missing_counts)
