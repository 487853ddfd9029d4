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

    def add(self, x: Floats) -> None:
        """More records, shape (n, d); the order in which they come is a part of the figures."""
        if not len(x):
            return
        mean = x.mean(axis=0)
        centred = (x - mean)[None]
        gap, total = mean - self.mean, self.count + len(x)
        self.products = self.products + tall.cross(centred, centred)[0]
        self.products += np.multiply.outer(gap, gap) * (self.count * len(x) / total)
        self.mean = self.mean + gap * (len(x) / total)
        self.low, self.high = np.minimum(self.low, x.min(axis=0)), np.maximum(self.high, x.max(axis=0))
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
