"""Mean and covariance of a multivariate normal distribution, some of whose cells are missing.

The EM algorithm (Dempster, Laird & Rubin 1977; Little & Rubin 2002, Section 11.2.1): with a mean and a covariance S the
missing cells m of a record are expected to be what the regression on its known cells o predicts, with the slopes
S_mo S_oo^-1, and their covariance is S_mm - S_mo S_oo^-1 S_om. Sums and products that are filled in so give the next
mean and covariance, until neither moves. What is known enters as sums and products of each pattern of missing cells.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels import linear, tall
from shoal.replace._residuals.rotation import power_of_two
from shoal.table.equal_rows import patterns
from shoal.table.prelude import Bools, Floats, Longs

ROUNDS = 200
"""Most rounds of the algorithm: with more than half of the cells missing it moves slowly."""

SETTLED = 1e-10
"""Change of means in standard deviations, and of covariances in variances, below which it ends."""

DEPENDENT = 1e-10
"""Directions of known cells whose variance is below this share of the largest count as dependent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MultivariateNormal:
    """A multivariate normal distribution of columns."""

    mean: Floats  # Shape (d,)
    covariance: Floats  # Shape (d, d)

    def filled(self, x: Floats) -> Floats:
        """Shape (n, d); a table with what its known cells let expect in place of missing ones, NaN."""
        out = x.copy()
        for missing, rows in patterns(np.isnan(x)):
            if missing.any():
                about = np.ascontiguousarray((x[rows] - self.mean)[:, ~missing])
                expected = tall.times(about[None], np.ascontiguousarray(self.slopes(missing).T)[None])[0]
                out[np.ix_(rows, np.flatnonzero(missing))] = self.mean[missing] + expected
        return out

    def slopes(self, missing: Bools) -> Floats:
        """Shape (m, o); those of the regressions of missing cells on known ones."""
        present = ~missing
        if not present.any():
            return np.empty((len(missing), 0))
        scale = np.sqrt(np.diagonal(self.covariance))
        scale = np.where(scale > 0, scale, 1.0)
        ratios = self.covariance / (scale[:, None] * scale)
        inverse = linear.pseudo_inverse(ratios[np.ix_(present, present)], DEPENDENT)
        return linear.product(ratios[np.ix_(missing, present)], inverse) * (scale[missing][:, None] / scale[present])


def known_moments(x: Floats, elsewhere: Floats) -> MultivariateNormal:
    """Means and variances of the known cells of each column (n, d), which are taken to be independent.

    `elsewhere`, shape (d,): means of columns without a known cell.
    """
    present = ~np.isnan(x)
    counts = np.maximum(present.sum(axis=0), 1)
    middle = np.where(present.any(axis=0), np.fmax.reduce(x, axis=0), elsewhere)
    middle = middle + np.where(present, x - middle, 0.0).sum(axis=0) / counts
    variances = (np.where(present, x - middle, 0.0) ** 2).sum(axis=0) / counts
    return MultivariateNormal(mean=middle, covariance=np.diag(variances))


def likeliest(x: Floats, elsewhere: Floats) -> MultivariateNormal:
    """The normal distribution under which the known cells of a table (n, d) are likeliest, divisor n.

    After `ROUNDS` rounds the last one. `elsewhere`, shape (d,): means of columns without a known cell, whose variance
    is 0.
    """
    start = known_moments(x, elsewhere)
    unit = power_of_two(np.nan_to_num(x - start.mean)[None])[0, 0]
    z = (x - start.mean) / unit
    parts = [_Part.of(z, missing, rows) for missing, rows in patterns(np.isnan(z))]
    now = known_moments(z, np.zeros(len(unit)))
    for _ in range(ROUNDS):
        before, now = now, _round(parts, now, len(x))
        spread = np.sqrt(np.diagonal(before.covariance))
        spread = np.where(spread > 0, spread, 1.0)
        moved = np.abs(now.covariance - before.covariance) / (spread[:, None] * spread)
        if max(moved.max(), (np.abs(now.mean - before.mean) / spread).max()) <= SETTLED:
            break
    return MultivariateNormal(mean=start.mean + now.mean * unit, covariance=now.covariance * (unit[:, None] * unit))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Records that lack the same cells."""

    missing: Bools  # Shape (d,)
    count: int
    sums: Floats  # Shape (o,); of the known cells
    products: Floats  # Shape (o, o)

    @classmethod
    def of(cls, z: Floats, missing: Bools, rows: Longs) -> "_Part":
        present = np.ascontiguousarray(z[rows][:, ~missing])
        products = tall.cross(present[None], present[None])[0]
        return cls(missing=missing, count=len(rows), sums=present.sum(axis=0), products=products)

    def expected(self, now: MultivariateNormal) -> tuple[Floats, Floats]:
        """Shape (d,) and (d, d); sums and products of all cells, as they are expected."""
        present, count = ~self.missing, self.count
        turn = np.eye(len(present))[:, present]
        turn[self.missing] = slopes = now.slopes(self.missing)
        level = now.mean - linear.product(turn, now.mean[present][:, None])[:, 0]
        sums = linear.product(turn, self.sums[:, None])[:, 0]
        products = linear.product(linear.product(turn, self.products), np.ascontiguousarray(turn.T))
        products += sums[:, None] * level + level[:, None] * sums + count * level[:, None] * level
        across = np.ascontiguousarray(now.covariance[np.ix_(present, self.missing)])
        rest = now.covariance[np.ix_(self.missing, self.missing)] - linear.product(slopes, across)
        products[np.ix_(self.missing, self.missing)] += count * rest
        return sums + count * level, products


def _round(parts: list[_Part], now: MultivariateNormal, n: int) -> MultivariateNormal:
    sums, products = (sum(both) for both in zip(*(part.expected(now) for part in parts)))
    mean = sums / n
    covariance = products / n - mean[:, None] * mean
    return MultivariateNormal(mean=mean, covariance=(covariance + covariance.T) / 2)
