"""Records that satisfy predicates (native/risk/predicates.cpp)."""

from dataclasses import dataclass

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Bools, Floats, Ints, Longs

MISSING = -np.inf
"""Stands for a missing cell."""

LOWEST, HIGHEST = -np.finfo(np.float64).max, np.finfo(np.float64).max
"""Ends of an interval that reaches every cell but a missing one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predicates:
    """Conjunctions of terms about columns, q of them with t terms each.

    Parameters
    ----------
    columns
        Shape (q, t); the column of each term.
    low, high
        Shape (q, t); the interval that the cell lies in; [MISSING, MISSING] for a missing cell.
    outside
        Shape (q, t); True if the cell has a value that lies outside the interval.
    """

    columns: Ints
    low: Floats
    high: Floats
    outside: Bools

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, rows: Longs | Bools) -> "Predicates":
        """Some of the predicates."""
        return Predicates(
            columns=self.columns[rows], low=self.low[rows], high=self.high[rows], outside=self.outside[rows]
        )

    def with_more(self, others: "Predicates") -> "Predicates":
        """These predicates and others of as many terms."""
        return Predicates(
            columns=np.concatenate([self.columns, others.columns]),
            low=np.concatenate([self.low, others.low]),
            high=np.concatenate([self.high, others.high]),
            outside=np.concatenate([self.outside, others.outside]),
        )

    def distinct(self) -> "Predicates":
        """Each predicate once, at its first place."""
        keys = np.column_stack([self.columns, self.low, self.high, self.outside])
        _, first = np.unique(keys, axis=0, return_index=True)
        return self.take(np.sort(first))


def predicate_counts(cells: Floats, predicates: Predicates, *, missing_matches: bool = False, limit: int = 0) -> Longs:
    """Count the records that satisfy each predicate, as `shoal.kernels._native.predicate_counts` does."""
    terms = (predicates.columns, predicates.low, predicates.high, predicates.outside)
    return _native.predicate_counts(cells, *terms, missing_matches=missing_matches, limit=limit)
