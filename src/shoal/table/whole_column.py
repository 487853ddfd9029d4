"""Facts about a column of a whole table, for a part that holds only some of its records.

A table that does not fit into memory is processed part by part. Facts that a part cannot know come with its columns:
the scale of distances, and the distribution of the column's values over all records. A column without such facts is
whole.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Longs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeColumn:
    """A column of the whole table."""

    # centre, spread: a number is standardised as (x - centre) / spread, or as 0 if the spread is 0
    centre: float = 0.0
    spread: float = 1.0
    # Shape (m,), ascending; the distinct values (of a continuous column) or codes (of any other) that occur, without
    # missing ones. None if they were not counted
    values: NDArray[Any] | None = None
    counts: Longs | None = None  # Shape (m,); number of records with each
    missing: int = 0  # Records without a value

    def standardised(self, x: Floats) -> Floats:
        """Numbers of the column on the scale of the whole column."""
        return np.asarray((x - self.centre) / self.spread) if self.spread > 0 else np.zeros(len(x))

    @property
    def with_missing(self) -> "WholeColumn":
        """The same with missing cells as a value: NaN among numbers, -1 among codes."""
        if not self.missing or self.values is None or self.counts is None:
            return self
        if self.values.dtype.kind == "f":
            values, counts = np.append(self.values, np.nan), np.append(self.counts, self.missing)
        else:
            values, counts = np.append(-1, self.values), np.append(self.missing, self.counts)
        return replace(self, values=values, counts=counts)

    def places(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], Longs]:
        """The distinct values of the whole, the position of each given value among them, and their counts.

        Raises ValueError if they were not counted, or if a value does not occur in the whole.
        """
        if self.values is None or self.counts is None:
            raise ValueError("The values of the whole column were not counted.")
        place = np.searchsorted(self.values, values)
        there = np.minimum(place, max(len(self.values) - 1, 0))
        if len(values) and not np.array_equal(self.values[there], values, equal_nan=values.dtype.kind == "f"):
            raise ValueError("A part holds a value that the whole column does not have.")
        return self.values, place, self.counts
