"""Pairs of records by the columns in which they agree (native/risk/agreements.cpp)."""

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.kernels._native import agreement_counts, agreement_links
from shoal.kernels.arrays import Bools, Floats, Ints, Longs


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """Two tables, x of n records and y of m, column by column."""

    x: Ints  # Shape (q, n); codes, from 0
    y: Ints  # Shape (q, m)
    tables: Sequence[Bools]  # For each column of codes whether a code of y (rows) agrees with one of x (columns)
    x_numbers: Floats  # Shape (p, n); NaN where missing
    y_numbers: Floats  # Shape (p, m)
    reach: Floats  # Shape (p,); numbers that far apart agree still
    bits: Ints  # Shape (q + p,); the bit of each column of codes, then of numbers, in a pattern; at most 15

    def counts(self) -> Longs:
        """Shape (2^(q + p),); the number of pairs with each pattern."""
        return agreement_counts(self.x, self.y, self.tables, self.x_numbers, self.y_numbers, self.reach, self.bits)

    def links(self, ranks: Ints, truth: Longs) -> Floats:
        """Shape (a, m); the probability that each record of y is linked to its own of x.

        It is linked to the record whose pattern ranks highest, among equals at random.

        Parameters
        ----------
        ranks
            Shape (a, 2^(q + p)); the rank of each pattern, from 0, for each of several attacks.
        truth
            Shape (m,); the record of x that each of y belongs to.
        """
        return agreement_links(
            self.x, self.y, self.tables, self.x_numbers, self.y_numbers, self.reach, self.bits, ranks, truth
        )
