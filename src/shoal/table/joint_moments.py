"""Means and covariances of several columns of a table, gathered part by part (Chan, Golub & LeVeque 1983).

In columns with missing cells, each mean and variance is that of the column's known cells, and the correlations are
those of the complete records. The covariance matrix is then positive semidefinite, which it need not be if each
correlation were that of the records with both columns known.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from shoal.kernels import tall
from shoal.kernels.arrays import Floats, Longs
from shoal.table.parts import source as sources
from shoal.vocabulary.errors import DataError


@dataclass(slots=True, kw_only=True, eq=False)
class JointMoments:
    """Moments of some columns."""

    # mean, products: shapes (d,) and (d, d); means of the complete records, and sums of products of deviations from
    # them
    mean: Floats
    products: Floats
    # known, means, squares: shape (d,) each; number of known cells of each column, their mean, and the sum of squared
    # deviations from it
    known: Floats
    means: Floats
    squares: Floats
    # low, high: shape (d,); the least and greatest values
    low: Floats
    high: Floats
    count: int = 0  # Records without a missing cell

    @classmethod
    def of_columns(cls, d: int) -> Self:
        """Moments of `d` columns of an empty table."""
        none, zeros = np.full(d, np.inf), np.zeros(d)
        return cls(mean=zeros, products=np.zeros((d, d)), known=zeros, means=zeros, squares=zeros, low=none, high=-none)

    @classmethod
    def of(cls, x: Floats) -> Self:
        """Moments of some records, shape (n, d), with NaN for a missing cell."""
        missing = np.isnan(x)
        if not missing.any():
            return cls._of_complete(x)
        if (absent := missing.all(axis=1)).any():
            return cls.of(x[~absent])
        moments = cls._of_complete(x[~missing.any(axis=1)])
        columns = [cls._of_complete(x[~missing[:, j], j : j + 1]) for j in range(x.shape[1])]
        moments.known = np.array([column.count for column in columns], dtype=np.float64)
        moments.means, moments.squares = (
            np.array([float(v) for v in values])
            for values in zip(*((column.mean[0], column.products[0, 0]) for column in columns))
        )
        moments.low, moments.high = (np.concatenate(ends) for ends in zip(*((c.low, c.high) for c in columns)))
        return moments

    @classmethod
    def by_chunk(cls, x: Floats, rows: Longs) -> Self:
        """Moments of records, shape (n, d), of a table held whole: to the last digit those of the table in parts.

        `rows`, shape (n,): of each record, in the table that came in.
        """
        moments = cls.of_columns(x.shape[1])
        ends = np.flatnonzero(np.diff(rows // sources.CHUNK)) + 1
        for part in np.split(x, ends):
            moments.join(cls.of(part))
        return moments

    @classmethod
    def _of_complete(cls, x: Floats) -> Self:
        if not len(x):
            return cls.of_columns(x.shape[1])
        mean = x.mean(axis=0)
        centred = (x - mean)[None]
        products = tall.cross(centred, centred)[0]
        return cls(
            count=len(x),
            mean=mean,
            products=products,
            known=np.full(x.shape[1], float(len(x))),
            means=mean,
            squares=np.diag(products),
            low=x.min(axis=0),
            high=x.max(axis=0),
        )

    def join(self, other: Self) -> None:
        """Add the moments of more records; the order of the additions changes the last digits."""
        cells_known = self.known + other.known
        cells, gap = np.maximum(cells_known, 1.0), other.means - self.means
        self.squares = self.squares + other.squares + gap * gap * (self.known * other.known / cells)
        self.means = self.means + gap * (other.known / cells)
        self.known = cells_known
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        if other.count:
            gap, total = other.mean - self.mean, self.count + other.count
            self.products = self.products + other.products
            self.products += np.multiply.outer(gap, gap) * (self.count * other.count / total)
            self.mean = self.mean + gap * (other.count / total)
            self.count = total

    @property
    def variances(self) -> Floats:
        """Shape (d,); sample variance of each column's known cells, 0 for a column without any.

        Raises DataError if a column has one known cell.
        """
        if (self.known == 1).any() or not self.known.any():
            raise DataError("noise needs at least 2 records in every stratum, to have a variance.")
        return np.asarray(self.squares / np.maximum(self.known - 1, 1.0))

    @property
    def covariance(self) -> Floats:
        """Shape (d, d); sample covariance.

        Raises DataError if a column has one known cell, or fewer than two records are complete in several columns.
        """
        variances = self.variances
        if (self.known == self.count).all():
            return np.asarray(self.products / (self.count - 1))
        if self.count < 2 and len(variances) > 1:
            raise DataError(
                "noise needs at least 2 records with all of its columns in every stratum, to know how these vary "
                "together. Take the kind uncorrelated, or give each column a step of its own."
            )
        deviations = np.sqrt(np.diag(self.products))
        deviations[deviations == 0] = 1.0
        spreads = np.sqrt(variances)
        covariance = self.products / np.multiply.outer(deviations, deviations) * np.multiply.outer(spreads, spreads)
        np.fill_diagonal(covariance, variances)
        return np.asarray(covariance)
