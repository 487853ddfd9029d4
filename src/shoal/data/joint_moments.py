"""Means and covariances of several columns of a table, gathered part by part (Chan, Golub & LeVeque 1983)."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from shoal.errors import DataError
from shoal.kernels import tall
from shoal.kernels.arrays import Floats


@dataclass(slots=True, kw_only=True, eq=False)
class JointMoments:
    """What is known of some complete columns.

    Parameters
    ----------
    mean
        Shape (d,).
    products
        Shape (d, d); sums of products of deviations from the mean.
    low, high
        Shape (d,); the least and greatest values.
    """

    count: int = 0
    mean: Floats = field(default_factory=lambda: np.zeros(0))
    products: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    low: Floats = field(default_factory=lambda: np.zeros(0))
    high: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of_columns(cls, d: int) -> Self:
        """Those of no record yet, of so many columns."""
        none = np.full(d, np.inf)
        return cls(mean=np.zeros(d), products=np.zeros((d, d)), low=none, high=-none)

    @classmethod
    def of(cls, x: Floats) -> Self:
        """Those of some records, shape (n, d)."""
        if not len(x):
            return cls.of_columns(x.shape[1])
        mean = x.mean(axis=0)
        centred = (x - mean)[None]
        products = tall.cross(centred, centred)[0]
        return cls(count=len(x), mean=mean, products=products, low=x.min(axis=0), high=x.max(axis=0))

    def join(self, other: Self) -> None:
        """More records; the order in which they come is a part of the figures."""
        if not other.count:
            return
        gap, total = other.mean - self.mean, self.count + other.count
        self.products = self.products + other.products
        self.products += np.multiply.outer(gap, gap) * (self.count * other.count / total)
        self.mean = self.mean + gap * (other.count / total)
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.count = total

    @property
    def covariance(self) -> Floats:
        """Shape (d, d); of the sample.

        Raises
        ------
        DataError
            If there are fewer than two records.
        """
        if self.count < 2:
            raise DataError("noise needs at least 2 records in every stratum, to have a variance.")
        return np.asarray(self.products / (self.count - 1))
