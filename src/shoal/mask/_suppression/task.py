"""The distinct rows of a table of category codes, and the task of local suppression on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.kernels.classes import classes, first_rows
from shoal.table.prelude import Bools, Floats, Generator, Ints, Longs, Records, ints

FEW = 64
"""A group with at most so many records for each that is wanted of it is shuffled as a whole; of a larger one they are
drawn one by one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppressionTask:
    """One set of keys that is to reach k."""

    codes: Ints  # Shape (r, q); distinct rows of category codes of the keys, -1 for missing
    counts: Longs  # Shape (r,); how many records have each row
    k: int
    cost: Floats  # Shape (q,); cost of a cell, infinite where none may be suppressed
    allowance: Longs  # Shape (q,); cells that may still be suppressed

    def sets(self) -> list[tuple[int, ...]]:
        """Sets of keys that may be blanked together, cheapest first."""
        free = [j for j in range(len(self.cost)) if np.isfinite(self.cost[j]) and self.allowance[j] > 0]
        every = [c for size in range(1, len(free) + 1) for c in combinations(free, size)]
        return sorted(every, key=lambda c: (float(self.cost[list(c)].sum()), c))


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """The records that lose cells."""

    # Shape (m,); the distinct row that the record has, by number; one number for each record that loses cells
    rows: Longs
    cells: Bools  # Shape (m, q); what it loses

    @classmethod
    def of_sets(cls, rows: Sequence[Longs] | Sequence[int], sets: Sequence[tuple[int, ...]], width: int) -> "Losses":
        """Pair rows, or several rows at once, with the set of columns that they lose."""
        blocks = [np.atleast_1d(np.asarray(some, dtype=np.int64)) for some in rows]
        cells = np.zeros((len(sets), width), dtype=bool)
        for number, chosen in enumerate(sets):
            cells[number, list(chosen)] = True
        times = np.array([len(block) for block in blocks], dtype=np.int64)
        return cls(rows=np.concatenate([np.empty(0, np.int64), *blocks]), cells=np.repeat(cells, times, axis=0))


def row_ids(codes: Ints) -> Longs:
    """Shape (n,); equal numbers exactly for equal rows, from 0 without a gap, in lexicographic order."""
    return classes(list(codes.T), len(codes))[0]


def distinct_rows(codes: Ints, times: Longs | None = None) -> tuple[Ints, Longs, Longs]:
    """The distinct rows, the number of each record's row, and how many records have each row.

    `times`, shape (n,): records that each row of `codes` stands for; one by default.
    """
    ids, counts = classes(list(codes.T), len(codes))
    first = first_rows(ids, len(counts))
    if times is not None:
        counts = np.bincount(ids, weights=times, minlength=len(counts)).astype(np.int64)
    return ints(codes[first]), ids, counts


def different_places(sizes: Longs, wanted: Longs, rng: Generator) -> Longs:
    """A different place, drawn at random, for each group in `wanted`, where a group may stand repeatedly.

    `sizes`, shape (g,): places of each group, which are counted from 0; `wanted`, shape (m,): groups by number, each at
    most as often as it has places. Returns shape (m,).
    """
    places = np.zeros(len(wanted), dtype=np.int64)
    order = np.argsort(wanted, kind="stable")
    groups, starts, times = np.unique(wanted[order], return_index=True, return_counts=True)
    size = sizes[groups]
    for g in np.flatnonzero(size > FEW * times).tolist():
        places[order[starts[g] : starts[g] + times[g]]] = rng.choice(int(size[g]), int(times[g]), replace=False)
    few = np.flatnonzero((size > 1) & (size <= FEW * times))
    if len(few):
        owner = np.repeat(np.arange(len(few)), size[few])
        shuffled = np.lexsort((rng.random(len(owner)), owner))
        begins = np.cumsum(size[few]) - size[few]
        which = np.repeat(np.arange(len(few)), times[few])
        rank = np.arange(len(which)) - np.searchsorted(which, which)
        places[order[starts[few][which] + rank]] = shuffled[begins[which] + rank] - begins[which]
    return places


def without_cells(records: Records, keys: Sequence[str], blank: Bools) -> Records:
    """The records without the cells of the keys that `blank`, shape (n, q or more), marks."""
    return records.with_variables(
        *(
            v.with_values(np.where(blank[:, j], np.nan if v.continuous else -1, v.values))
            for j, v in enumerate(records[name] for name in keys)
        )
    )
