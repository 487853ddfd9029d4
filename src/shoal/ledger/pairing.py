"""Pairing: which records of several files are about the same person.

A key column that the files share settles it. Without one, an intruder pairs records by their profile: the records of
two files are thrown together, and two records form a pair if each is the other's only nearest. Nearness in a column is
the share of all records that lie as near, so that a rare value in common weighs more than a frequent one; a blank cell
says nothing. The shares of all columns are multiplied.

The same search calibrates itself. Two records of one file are never the same person, yet some are each other's nearest.
Were the files about different people, pairs across files would be about as frequent as pairs inside them; so pairs
inside, scaled by the number of pairs that there could be, estimate how many of those across are wrong. Where that is
more than one in ten, no pairing is known, and no figure is given. Records are never paired by their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.kernels.arrays import Floats, Longs
from shoal.vocabulary.errors import DataError, plural, quoted

RIGHT = 0.9
"""Least estimated share of right pairs among all: below it the pairing is as good as none."""

PROFILES = 20_000
"""Most records of two files whose profiles are compared, each with every other."""

BLOCK = 1 << 22
"""Pairs of records compared at once."""

Spans = tuple[Floats, Floats, bool]
"""First and last rank of each record's value among all, NaN for a blank cell; and True for numbers."""

UNKNOWN = "No pairing is known: records of different files cannot be told to be about the same persons."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairing:
    """Persons to whom the records of several files belong.

    Parameters
    ----------
    persons
        For each file, shape (n,); the number of the person of each record.
    count
        Number of persons.
    sentence
        Source of the pairing.
    """

    persons: tuple[Longs, ...]
    count: int
    sentence: str


def labels_of(column: pl.Series) -> pl.Series:
    """Cells as labels; the same number is the same label, whether a file writes it with a point or without."""
    if not column.dtype.is_numeric() or column.dtype.is_integer():
        return column.cast(pl.String).alias("cell")
    number = column.cast(pl.Float64).fill_nan(None)
    whole = number.is_not_null() & (number == number.round()) & (number.abs() < 1 << 53)
    return (
        pl.select(
            pl.when(whole).then(number.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(number.cast(pl.String))
        )
        .to_series()
        .alias("cell")
    )


def by_key(frames: Sequence[pl.DataFrame], key: str) -> Pairing:
    """Pair records by a key column; a record without a key is a person of its own.

    Raises DataError if a file lacks the column or has several records of one key.
    """
    for number, frame in enumerate(frames, 1):
        if key not in frame.columns:
            raise DataError(f"File {number} has no column '{key}'. Name a key that all files have, or leave --key out.")
        cells = frame[key].drop_nulls()
        if (repeated := len(cells) - cells.n_unique()) > 0:
            raise DataError(
                f"'{key}' repeats in file {number}: {plural(repeated, 'record')} too many. A key must have one record "
                f"a person in each file; sum the records of each person up first."
            )
    values = pl.concat([labels_of(frame[key]) for frame in frames])
    numbers = values.rank("dense").cast(pl.Int64) - 1
    known = int(numbers.n_unique() - (numbers.null_count() > 0))
    alone = numbers.is_null().to_numpy()
    persons = numbers.fill_null(0).to_numpy().copy()
    persons[alone] = known + np.arange(alone.sum())
    parted = np.split(persons, np.cumsum([len(frame) for frame in frames])[:-1])
    return Pairing(persons=tuple(parted), count=known + int(alone.sum()), sentence=f"Records are paired by '{key}'.")


def by_profile(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> Pairing | None:
    """Pair the records of each file with those of the file before it by closest profile; None if no pairing is known.

    Raises DataError if there are too many records to compare.
    """
    persons: list[Longs] = [np.arange(len(frames[0]), dtype=np.int64)]
    count, least = len(frames[0]), 1.0
    for before, after in zip(frames, frames[1:]):
        paired = _paired(before, after, names)
        if paired is None:
            return None
        own, theirs, right = paired
        numbers = np.full(len(after), -1, dtype=np.int64)
        numbers[theirs] = persons[-1][own]
        new = numbers < 0
        numbers[new] = count + np.arange(new.sum())
        count, least = count + int(new.sum()), min(least, right)
        persons.append(numbers)
    columns = quoted(names)
    sentence = f"Records are paired by closest profile in {columns}; about {100 * least:.0f} % of the pairs are right."
    return Pairing(persons=tuple(persons), count=count, sentence=sentence)


def _paired(before: pl.DataFrame, after: pl.DataFrame, names: Sequence[str]) -> tuple[Longs, Longs, float] | None:
    """Rows of both files that are paired, and the estimated share of right pairs."""
    if not len(before) or not len(after):
        return None
    if len(before) + len(after) > PROFILES:
        raise DataError(
            f"Profiles are compared among {PROFILES:,} records at most; two files have {len(before) + len(after):,}. "
            f"Name a key with --key."
        )
    nearest = _only_nearest([_spans(before[name], after[name]) for name in names], len(before) + len(after))
    mutual = np.flatnonzero((nearest >= 0) & (nearest[nearest] == np.arange(len(nearest))))
    first = mutual[mutual < nearest[mutual]]
    across = (first < len(before)) & (nearest[first] >= len(before))
    inside = len(first) - int(across.sum())
    possible = len(before) * (len(before) - 1) / 2 + len(after) * (len(after) - 1) / 2
    wrong = inside * len(before) * len(after) / max(possible, 1.0)
    if not across.any() or (right := 1 - wrong / across.sum()) < RIGHT:
        return None
    own = first[across]
    return own, nearest[own] - len(before), float(right)


def _spans(before: pl.Series, after: pl.Series) -> Spans:
    """The ranks of a column's cells in both files; numbers are ranked by size, labels are equal or not."""
    numeric = before.dtype.is_numeric() and after.dtype.is_numeric()
    kind = pl.Float64 if numeric else pl.String
    values = pl.concat([series.cast(kind).alias("value") for series in (before, after)])
    values = values.fill_nan(None) if numeric else values
    low, high = (values.rank(end).cast(pl.Float64).to_numpy() for end in ("min", "max"))
    return low, high, numeric


def _only_nearest(spans: Sequence[Spans], n: int) -> Longs:
    """Shape (n,); for each record the row of the only record nearest to it, -1 where several are or none is."""
    nearest = np.full(n, -1, dtype=np.int64)
    step = max(1, BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        shares = _shares(spans, rows, n)
        shares[np.arange(len(rows)), rows] = np.inf
        least = shares.argmin(axis=1)
        smallest = shares[np.arange(len(rows)), least]
        ties = (shares == smallest[:, None]).sum(axis=1)
        nearest[rows] = np.where((ties == 1) & (smallest < 1), least, -1)
    return nearest


def _shares(spans: Sequence[Spans], rows: Longs, n: int) -> Floats:
    """Shape (rows, n); the product over columns of the share of records that lie as near."""
    shares: Floats = np.ones((len(rows), n))
    for low, high, numeric in spans:
        span = np.maximum(high[rows, None], high) - np.minimum(low[rows, None], low) + 1
        if not numeric:
            span[low[rows, None] != low] = n
        shares *= np.where(np.isnan(span), n, span) / n
    return shares
