"""Tables of category codes: their distinct rows, and the task of local suppression on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.data.records import Records
from shoal.kernels.arrays import Bools, Floats, Ints, Longs, ints
from shoal.kernels.classes import classes


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One set of keys that is to reach k.

    Parameters
    ----------
    codes
        Shape (n, q); category codes of the keys, -1 for missing.
    cost
        Shape (q,); cost of a cell, infinite where none may be suppressed.
    allowance
        Shape (q,); cells that may still be suppressed.
    """

    codes: Ints
    k: int
    cost: Floats
    allowance: Longs

    def sets(self) -> list[tuple[int, ...]]:
        """Sets of keys that may be blanked together, cheapest first."""
        free = [j for j in range(len(self.cost)) if np.isfinite(self.cost[j]) and self.allowance[j] > 0]
        every = [c for size in range(1, len(free) + 1) for c in combinations(free, size)]
        return sorted(every, key=lambda c: (float(self.cost[list(c)].sum()), c))


def row_ids(codes: Ints) -> Longs:
    """Shape (n,); equal numbers exactly for equal rows, from 0 without a gap, in lexicographic order."""
    return classes(list(codes.T), len(codes))[0]


def distinct_rows(codes: Ints) -> tuple[Ints, Longs, Longs]:
    """The distinct rows, the number of each record's row, and how many records have each row."""
    ids = row_ids(codes)
    _, first, counts = np.unique(ids, return_index=True, return_counts=True)
    return ints(codes[first]), ids, counts.astype(np.int64)


def rows_of_classes(ids: Longs, wanted: Longs, rng: np.random.Generator) -> Longs:
    """A different record, drawn at random, for each class in `wanted`, where a class may stand repeatedly."""
    shuffled = rng.permutation(len(ids))
    order = shuffled[np.argsort(ids[shuffled], kind="stable")]
    starts = np.searchsorted(ids[order], np.arange(int(ids.max(initial=-1)) + 1))
    by_class = np.argsort(wanted, kind="stable")
    sorted_wanted = wanted[by_class]
    place = np.arange(len(wanted)) - np.searchsorted(sorted_wanted, sorted_wanted)
    rows = np.empty(len(wanted), dtype=np.int64)
    rows[by_class] = order[starts[sorted_wanted] + place]
    return rows


def blanked_altogether(task: Task) -> tuple[list[int], list[tuple[int, ...]], float] | None:
    """The k - 1 records that are cheapest to blank altogether, which then agree with everybody; their cells, and cost.

    None where a column is to be kept, or may not lose so many cells.
    """
    known = task.codes >= 0
    price = np.where(known, task.cost, 0.0).sum(axis=1)
    rows = np.argsort(price, kind="stable")[: task.k - 1]
    if not np.isfinite(price[rows]).all() or (known[rows].sum(axis=0) > task.allowance).any():
        return None
    return rows.tolist(), [tuple(np.flatnonzero(known[row]).tolist()) for row in rows], float(price[rows].sum())


def without_cells(records: Records, keys: Sequence[str], blank: Bools) -> Records:
    """The records without the cells of the keys that `blank`, shape (n, q or more), marks."""
    return records.with_variables(
        *(
            v.with_values(np.where(blank[:, j], np.nan if v.continuous else -1, v.values))
            for j, v in enumerate(records[name] for name in keys)
        )
    )
