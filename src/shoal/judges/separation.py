"""Columns that tell people apart, alone and together: distinction, separation, unique records, minimal unique sets.

Of n records, a set of columns with C different combinations has distinction C / n; it separates the share of the pairs
of records that differ in it, 1 - sum f (f - 1) / (n (n - 1)) with f the sizes of the classes (Motwani & Xu 2007). A
record is unique on a set if its class has one record. A set is minimal for a record if the record is unique on it and
on no subset of it (Elliot, Manning & Ford 2002): the few things that one has to know to pick somebody out. Missing
cells are equal to each other and to nothing else.
"""

from dataclasses import asdict, dataclass

import numpy as np

from shoal.kernels.arrays import ints
from shoal.kernels.risk.suda2 import suda2
from shoal.table.records import Records
from shoal.vocabulary.facts import ByLabel

MOST_RECORDS = 100_000
"""Most records in which minimal sets are searched, drawn at random; the figures of a set are of all records."""

MOST_COLUMNS = 24
"""Most columns of which sets are searched, those that separate best: 12 950 sets of up to four."""

LARGEST_SET = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Power of a set of columns to tell records apart."""

    columns: tuple[str, ...]  # The set
    distinct: int  # Different combinations of cells
    # distinction, separation, unique: in [0, 1]: combinations per record, pairs of records that differ, records that
    # are alone
    distinction: float
    separation: float
    unique: float

    def as_mapping(self) -> ByLabel:
        return {**asdict(self), "columns": list(self.columns)}


def separation(records: Records, columns: tuple[str, ...]) -> Separation:
    """The figures of one set of columns, over all records."""
    sizes, n = records.class_sizes(columns), len(records)
    pairs = n * (n - 1)
    equal = int((sizes * (sizes - 1)).sum())
    return Separation(
        columns=columns,
        distinct=len(sizes),
        distinction=len(sizes) / n if n else 0.0,
        separation=1 - equal / pairs if pairs else 0.0,
        unique=float((sizes == 1).sum() / n) if n else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalSets:
    """Sets of up to four columns that single somebody out while no subset does."""

    # For each set the records for which it is minimal, among those examined; the largest numbers first
    counts: dict[tuple[str, ...], int]
    records: int  # Number of records examined
    columns: tuple[str, ...]  # Columns of which sets were searched


def minimal_sets(records: Records, columns: tuple[str, ...], rng: np.random.Generator) -> MinimalSets:
    """Find minimal unique sets by SUDA2.

    Parameters
    ----------
    columns
        Columns of which sets are searched; if there are too many, those that separate best.
    rng
        Draws the records examined if there are too many. Among fewer records more are unique, so the counts rank sets
        but are no shares of the table.
    """
    if len(columns) > MOST_COLUMNS:
        order = sorted(columns, key=lambda name: -separation(records, (name,)).separation)[:MOST_COLUMNS]
        columns = tuple(name for name in columns if name in order)
    if len(records) > MOST_RECORDS:
        records = records.take(np.sort(rng.choice(len(records), MOST_RECORDS, replace=False)))
    if not columns or len(records) < 2:
        return MinimalSets(counts={}, records=len(records), columns=columns)
    codes = ints(np.column_stack([records.classes((name,)).ids for name in columns]))
    by_set = suda2(codes, min(LARGEST_SET, len(columns))).by_set
    ordered = sorted(by_set.items(), key=lambda entry: (-entry[1], len(entry[0]), entry[0]))
    return MinimalSets(
        counts={tuple(columns[j] for j in positions): count for positions, count in ordered},
        records=len(records),
        columns=columns,
    )
