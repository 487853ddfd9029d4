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
from shoal.kernels.elementary import log
from shoal.table.schema import Scale
from shoal.table.standardisation import MAD_TO_SD


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
    logs_from: float | None = None  # The least of the values, if numbers are standardised by their logarithms
    ranked: bool = False  # True if numbers are standardised by their ranks among the values, which were counted

    def scaled(self, scale: Scale) -> "WholeColumn":
        """The same, whose values were counted, standardised by their ranks, logarithms or median absolute deviation."""
        if scale == "rank" or self.values is None or self.counts is None:
            return replace(self, ranked=True)
        if scale == "log" and len(self.values) and self.values[0] > 0:
            logs = log(self.values)
            mean = float(np.average(logs, weights=self.counts))
            return replace(self, centre=mean, spread=_deviation(logs, mean, self.counts), logs_from=self.values[0])
        middle = _median(self.values, self.counts)
        apart = np.abs(self.values - middle)
        order = np.argsort(apart)
        mean = float(np.average(self.values, weights=self.counts))
        spread = MAD_TO_SD * _median(apart[order], self.counts[order])
        if not spread:
            spread = _deviation(self.values, mean, self.counts)
        return replace(self, centre=mean, spread=spread)

    def standardised(self, x: Floats) -> Floats:
        """Numbers of the column on the scale of the whole."""
        if self.ranked and self.values is not None and self.counts is not None:
            below = np.append(0, np.cumsum(self.counts))
            left, right = (below[np.searchsorted(self.values, x, side)] for side in ("left", "right"))
            return np.asarray((left + right - 1) / (2.0 * max(int(below[-1]) - 1, 1)))
        if self.logs_from is not None:
            x = log(np.maximum(x, self.logs_from))
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


def _deviation(values: NDArray[Any], mean: float, counts: Longs) -> float:
    """The n-1 standard deviation of counted values."""
    squares = float((counts * (values - mean) ** 2).sum())
    return float(np.sqrt(squares / max(int(counts.sum()) - 1, 1)))


def _median(values: Floats, counts: Longs) -> float:
    """The median of ascending values, each of which occurs so often."""
    ends = np.cumsum(counts)
    return float(values[np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], "right")].mean())
