"""Tables of category codes: their distinct rows, and the task of local suppression on them."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs, ints
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
