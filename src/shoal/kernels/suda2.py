"""Minimal sample uniques by SUDA2 (native/suda2.cpp)."""

from dataclasses import dataclass

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, ints

MOST_COLUMNS = 64
"""A set of columns is one machine word."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleUniques:
    """Scores over minimal sample uniques.

    Parameters
    ----------
    score
        Shape (n,); sum over a record's minimal sample uniques of (columns - size)!.
    by_column
        Shape (columns,); the part of all scores that sets with the column account for.
    by_category
        For each column, shape (categories,); the same by the value that the unique record has there.
    found
        Shape (most,); number of minimal sample uniques of size 1, 2, ...
    """

    score: Floats
    by_column: Floats
    by_category: tuple[Floats, ...]
    found: Longs


def suda2(codes: Ints, most: int, progress: Progress = None) -> SampleUniques:
    """Find all minimal sample uniques of up to `most` columns.

    Parameters
    ----------
    codes
        Shape (n, columns), at most 64 columns; categories as integers from 0, as dense as may be.
    most
        Largest size of a set of columns.

    Notes
    -----
    Manning, Haglin & Keane (2008). Time grows with the number of column sets times the records that are not
    unique on smaller sets.
    """
    columns = ints(codes.T)
    cards = ints([int(column.max(initial=-1)) + 1 for column in columns])
    score, by_column, by_category, found = _native.suda2(columns, cards, min(most, len(columns)), progress)
    return SampleUniques(
        score=score, by_column=by_column, found=found,
        by_category=tuple(np.split(by_category, np.cumsum(cards)[:-1])) if len(cards) else (),
    )
