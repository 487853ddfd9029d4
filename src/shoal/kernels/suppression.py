"""Local suppression and the counts it rests on (native/suppression/)."""

import math
from dataclasses import dataclass

import numpy as np

import shoal.kernels._native as _native
from shoal.errors import DataError
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats, ints, longs, seed_of

KEY_BITS = 128
"""Combinations of keys are numbered in so many bits."""

MOST_KEYS = 31
"""Sets of keys are bit sets."""


def check_keys(codes: Ints) -> None:
    """Refuse keys whose combinations cannot be numbered."""
    combinations = math.prod(int(largest) + 2 for largest in codes.max(axis=0, initial=0))
    if codes.shape[1] > MOST_KEYS or combinations >= 1 << KEY_BITS - 1:
        raise DataError(
            f"These {codes.shape[1]} keys have too many combinations to count with missing cells as wildcards "
            f"(at most {MOST_KEYS} keys and 2^{KEY_BITS - 1} combinations). Use fewer keys, or recode them."
        )


def wildcard_counts(codes: Ints, counts: Longs, *, missing_counts: bool = True) -> Longs:
    """How many records agree with each row wherever both have a value.

    Parameters
    ----------
    codes
        Shape (n, q); distinct rows of category codes, -1 for missing.
    counts
        Shape (n,); records that each row stands for.
    missing_counts
        Whether records with a missing cell count for others; if not, they count for themselves only.

    Returns
    -------
    Shape (n,); for each row the number of records compatible with one of its records, that one included.
    """
    check_keys(codes)
    matches: Longs = _native.wildcard_counts(ints(codes), longs(counts), missing_counts)
    return matches


def wildcard_weights(codes: Ints, weights: Floats, *, missing_counts: bool = True) -> Floats:
    """As `wildcard_counts`, of the weights of records; without `missing_counts`, of the complete records alone.

    Parameters
    ----------
    weights
        Shape (n,); summed over the records that each row stands for.
    """
    check_keys(codes)
    sums: Floats = _native.wildcard_weights(ints(codes), floats(weights), missing_counts)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suppressed:
    """What to blank.

    Parameters
    ----------
    rows, blanks
        Shape (m,); for each record that loses cells the row it belongs to and the set of columns, as bits.
    served
        Whether every row reaches k.
    first, last
        Cost of the greedy solution and of the refined one.
    """

    rows: Longs
    blanks: Longs
    served: bool
    first: float
    last: float


def suppress(
    codes: Ints,
    counts: Longs,
    base: Longs,
    k: int,
    cost: Floats,
    *,
    allowance: Longs,
    sacrifice: bool,
    work: float,
    rng: np.random.Generator,
    progress: Progress = None,
) -> Suppressed:
    """Cells to blank, at little cost, so that each record is compatible with k when missing matches everything.

    Parameters
    ----------
    codes, counts
        As in `wildcard_counts`.
    base
        Shape (n,); what `wildcard_counts` gives for them.
    cost
        Shape (q,); cost of a cell by column, infinite where none may be blanked.
    allowance
        Shape (q,); how many cells of each column may be blanked.
    sacrifice
        Whether a record may lose cells that others need and it does not.
    work
        How long to refine, in rows touched.
    """
    check_keys(codes)
    rows, blanks, served, first, last = _native.suppress(
        ints(codes),
        longs(counts),
        longs(base),
        k,
        floats(cost),
        longs(allowance),
        (sacrifice, float(work), seed_of(rng)),
        progress,
    )
    return Suppressed(rows=rows, blanks=blanks, served=served, first=first, last=last)
