"""Designs of regressions, for products with them: as they are, or by their entries that are not 0.

Indicators of many categories have few of these (native/linear/sparse.cpp).
"""

from dataclasses import dataclass, field

import numpy as np

from shoal.kernels._native import sparse_cross, sparse_product
from shoal.kernels.arrays import Floats, Ints, Longs, ints, longs
from shoal.kernels.tall import cross, times

FEW = 0.25
"""Share of entries that are not 0 up to which they alone are looked at."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """A matrix X, shape (n, p), as it is."""

    x: Floats

    def times(self, small: Floats) -> Floats:
        """X S, shape (n, K), of S (p, K)."""
        return np.asarray(times(self.x[None], small[None])[0])

    def cross(self, other: Floats) -> Floats:
        """X' Y, shape (p, K), of Y (n, K)."""
        return np.asarray(cross(self.x[None], other[None])[0])

    def square(self, weight: Floats) -> Floats:
        """X' diag(w) X, shape (p, p), of w (n,)."""
        return self.cross(self.x * weight[:, None])


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseDesign(Design):
    """A matrix by its entries that are not 0, row by row."""

    starts: Longs = field(repr=False)  # Shape (n + 1,)
    columns: Ints = field(repr=False)
    values: Floats = field(repr=False)

    @classmethod
    def of(cls, x: Floats) -> "SparseDesign":
        rows, columns = np.nonzero(x)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
        return cls(x=x, starts=longs(starts), columns=ints(columns), values=x[rows, columns])

    def times(self, small: Floats) -> Floats:
        return sparse_product(self.starts, self.columns, self.values, small)

    def cross(self, other: Floats) -> Floats:
        return sparse_cross(self.starts, self.columns, self.values, other, self.x.shape[1])


def design_of(x: Floats) -> Design:
    """The form in which products with a matrix of many columns are faster."""
    return SparseDesign.of(x) if np.count_nonzero(x) <= FEW * x.size else Design(x=x)
