"""Minimal sample uniques by SUDA2 (native/risk/suda2.cpp)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats, ints

MOST_COLUMNS = 64
"""A set of columns is one machine word."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleUniques:
    """Scores over minimal sample uniques.

    Parameters
    ----------
    score
        Shape (n,); sum over a record's minimal sample uniques of their weights.
    by_column
        Shape (columns,); the part of all scores that sets with the column account for.
    by_category
        For each column, shape (categories,); the same by the value that the unique record has there.
    by_size
        Shape (most,); number of minimal sample uniques of size 1, 2, ...
    smallest
        Shape (n,); size of a record's smallest minimal sample unique, 0 where it has none.
    by_set
        For each set of columns that is minimal for some record, by the columns' positions, for how many it is.
    """

    score: Floats
    by_column: Floats
    by_category: tuple[Floats, ...]
    by_size: Longs
    smallest: Ints
    by_set: Mapping[tuple[int, ...], int]


def factorials(d: int) -> Floats:
    """Shape (d,); (d - size)! for sets of 1 to d of d columns."""
    return floats([float(factorial(d - size)) for size in range(1, d + 1)])


def suda2(codes: Ints, most: int, progress: Progress = None, weights: Floats | None = None) -> SampleUniques:
    """Find all minimal sample uniques of up to `most` columns.

    Parameters
    ----------
    codes
        Shape (n, columns), at most 64 columns; categories as integers from 0, as dense as may be.
    most
        Largest size of a set of columns.
    weights
        What a set of 1, 2, ... columns adds to a score; by default (columns - size)!.

    Notes
    -----
    Manning, Haglin & Keane (2008). Time grows with the number of column sets times the records that are not
    unique on smaller sets.
    """
    columns = ints(codes.T)
    cards = ints([int(column.max(initial=-1)) + 1 for column in columns])
    weights = factorials(len(columns)) if weights is None else weights
    score, by_column, by_category, by_size, smallest, sets, set_counts = _native.suda2(
        columns, cards, floats(weights[:most]), progress
    )
    return SampleUniques(
        score=score,
        by_column=by_column,
        by_size=by_size,
        smallest=smallest,
        by_set={_positions(columns): count for columns, count in zip(sets.tolist(), set_counts.tolist())},
        by_category=tuple(np.split(by_category, np.cumsum(cards)[:-1])) if len(cards) else (),
    )


def _positions(bits: int) -> tuple[int, ...]:
    """The columns of a set, which is a word with one bit a column."""
    return tuple(j for j in range(bits.bit_length()) if bits >> j & 1)
