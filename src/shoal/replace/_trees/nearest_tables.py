"""Records chosen among candidates so that tables of pairs of columns come near to the original's.

No record is changed: one makes way for a candidate as long as that brings the tables nearer (combinatorial
optimisation, Williamson, Birkin & Rees 1998; Voas & Williamson 2000). The distance is the sum over all pairs of
columns and cells of the absolute difference of counts, the original's scaled to as many records. In each round every
record has what taking it away changes, every candidate what adding it does; the best of both are tried in turn.
All is counted in whole parts of a record, so that no last digit of a sum decides.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from shoal.kernels.arrays import Bools, Longs
from shoal.replace._trees.columns import TreeColumn
from shoal.table.prelude import Floats
from shoal.vocabulary.facts import Facts, OfOriginal

BINS = 20
"""Bins of a number, of equally many original records; as many as `k-marginal` has (Task, Bhagat & Howarth 2023)."""

UNIT = 64
"""Parts of a record in which differences are counted."""

ROUNDS = 200
"""Rounds, at most; of tens of thousands of records, some 40 are needed."""

LEAST = 30
"""Original records of a group, or of a category that tables are compared within, from which on records are chosen. All
pairs of fewer say so much of each that choosing by them would bring them back."""

TRIED = 20
"""Exchanges tried in a round are one in so many of the records, and at least so many."""


def codes_of(column: TreeColumn, sets: list[list[Floats]]) -> list[Longs]:
    """Shape (n,) for each of several sets of values of a column's parts; the cell of its axis in a table.

    The first set is the original.
    """
    codes = [np.zeros(len(parts[0]), dtype=np.int64) for parts in sets]
    for place, part in enumerate(column.parts):
        values = [parts[place] for parts in sets]
        if part.levels:
            coded = [v.astype(np.int64) for v in values]
            size = part.levels
        else:
            edges = _edges(values[0])
            coded = [np.where(np.isnan(v), 0, 1 + np.searchsorted(edges, v, side="right")) for v in values]
            size = len(edges) + 2
        codes = [before * size + here for before, here in zip(codes, coded)]
    return codes


def _edges(values: Floats) -> Floats:
    """Lower ends of all bins but the first: every value but the least where they are few, else quantiles."""
    present = np.sort(values[~np.isnan(values)])
    distinct = np.unique(present)
    if len(distinct) <= BINS:
        return distinct[1:]
    return np.unique(present[np.arange(1, BINS) * len(present) // BINS])


def nearest(original: Longs, candidates: Longs, chosen: Bools) -> tuple[Bools, int, int]:
    """The candidates that are chosen in the end, and the distance of the tables before and after, in parts of a record.

    Parameters
    ----------
    original
        Shape (n, d); codes of each column, from 0.
    candidates
        Shape (m, d).
    chosen
        Shape (m,); the candidates that are chosen at first. As many are in the end.
    """
    chosen, size = chosen.copy(), int(chosen.sum())
    (of_original, cells), length = _cells([original, candidates])
    target = np.bincount(of_original.ravel(), minlength=length) * (UNIT * size) // max(len(original), 1)
    beyond = np.bincount(cells[chosen].ravel(), minlength=length) * UNIT - target
    before = int(np.abs(beyond).sum())
    for _ in range(ROUNDS):
        if not _exchanged(cells, chosen, beyond, max(TRIED, size // TRIED)):
            break
    return chosen, before, int(np.abs(beyond).sum())


def _exchanged(cells: Longs, chosen: Bools, beyond: Longs, most: int) -> bool:
    """Exchange records for candidates, in place; true if some were."""
    less, more = np.abs(beyond - UNIT) - np.abs(beyond), np.abs(beyond + UNIT) - np.abs(beyond)
    present, absent = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    going = present[np.argsort(less[cells[present]].sum(axis=1), kind="stable")[:most]]
    coming = absent[np.argsort(more[cells[absent]].sum(axis=1), kind="stable")[:most]]
    some = False
    for leaves, comes in zip(going, coming):
        old, new = cells[leaves], cells[comes]
        change = (np.abs(beyond[old] - UNIT) - np.abs(beyond[old])).sum()
        beyond[old] -= UNIT
        change += (np.abs(beyond[new] + UNIT) - np.abs(beyond[new])).sum()
        if change < 0:
            beyond[new] += UNIT
            chosen[leaves], chosen[comes], some = False, True, True
        else:
            beyond[old] += UNIT
    return some


def _cells(tables: list[Longs]) -> tuple[list[Longs], int]:
    """The cells of each record in the tables of all pairs, shape (n, pairs) each, one table after the other."""
    sizes = np.max([table.max(axis=0, initial=0) for table in tables], axis=0) + 1
    cells: list[list[Longs]] = [[] for _ in tables]
    start = 0
    for a, b in combinations(range(len(sizes)), 2):
        for table, own in zip(tables, cells):
            own.append(start + table[:, a] * sizes[b] + table[:, b])
        start += int(sizes[a] * sizes[b])
    return [np.column_stack(own) for own in cells], start


def choose(columns: Sequence[TreeColumn], sets: list[list[Floats]], members: Sequence[Longs], by: str | None) -> Facts:
    """Put into the first set the nearest records of all sets, in place; how near the tables were, and are.

    Parameters
    ----------
    sets
        Values of the columns' parts, shape (n,) each.
    members
        The groups inside which records take the place of one another.
    by
        The column within whose categories tables are compared, each with as many records as it has in the first set.
    """
    originals = [part.values for column in columns for part in column.parts]
    codes: list[list[Longs]] = [[] for _ in range(len(sets) + 1)]
    start = 0
    for column in columns:
        parts = [values[start : start + len(column.parts)] for values in (originals, *sets)]
        for own, coded in zip(codes, codes_of(column, parts)):
            own.append(coded)
        start += len(column.parts)
    original, *drawn = [np.column_stack(own) for own in codes]
    place = None if by is None else [column.variable.name for column in columns].index(by)
    before = after = 0
    for at in members:
        candidates = np.concatenate([table[at] for table in drawn])
        kept = np.arange(len(candidates)) < len(at)
        for mine, theirs in _divided(original[at], candidates, place):
            if kept[theirs].any() and len(mine) >= LEAST:
                kept[theirs], distance, left = nearest(original[at][mine], candidates[theirs], kept[theirs])
                before, after = before + distance, after + left
        free, new = np.flatnonzero(~kept[: len(at)]), len(at) + np.flatnonzero(kept[len(at) :])
        for part, whole in enumerate(sets[0]):
            pool = np.concatenate([values[part][at] for values in sets])
            whole[at[free]] = pool[new]
    pairs = UNIT * len(original) * len(columns) * (len(columns) - 1)  # twice as many, for a record moved counts twice
    return {
        "records out of place in a table of two columns, as drawn": OfOriginal(before / max(pairs, 1)),
        "and as chosen among candidates": OfOriginal(after / max(pairs, 1)),
    }


def _divided(original: Longs, candidates: Longs, place: int | None) -> Iterator[tuple[Longs, Longs]]:
    """The records and the candidates of each category of a column; all of them for None."""
    if place is None:
        yield np.arange(len(original)), np.arange(len(candidates))
        return
    for category in np.unique(candidates[:, place]):
        yield np.flatnonzero(original[:, place] == category), np.flatnonzero(candidates[:, place] == category)
