"""Mean and covariance that outliers do not move: the minimum covariance determinant (Rousseeuw & Van Driessen 1999).

Of all halves of the records the most concentrated one, whose covariance has the least determinant, tells where the
records lie; the estimate is then made anew from all records that are near by it. The search begins with the covariance
of a few records drawn at random and goes to the half of all that is nearest in it, again and again: no step makes the
determinant larger.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels import linear
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.draws import drawn_rows
from shoal.kernels.elementary import log
from shoal.vocabulary.errors import NoFigure

STARTS, STEPS, BEST = 200, 2, 10
"""Subsets the search begins with, steps that all of them make, and how many go on to the end (Rousseeuw & Van Driessen
1999)."""

MOST_RECORDS = 2_000
"""Records in which the most concentrated half is looked for; more than these change the estimate little."""

CUT = 0.975
"""Quantile of the squared distances up to which records count in the reweighted estimate."""

DIGITS = 9
"""Significant digits of quantiles from a library, whose last ones are others on other processors."""

NEGLIGIBLE = 1e-12
"""Variance in a direction, in columns of variance 1, up to which there is none."""

THICKNESS = 1e-9
"""Share of a column's variance that is added where few records may lie in fewer dimensions than all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ellipsoid:
    """A centre, shape (d,), and a covariance, shape (d, d)."""

    centre: Floats
    covariance: Floats

    @classmethod
    def of(cls, x: Floats) -> "Ellipsoid":
        """Mean and covariance (n - 1) of rows, at least two."""
        centre = x.mean(axis=0)
        return cls(centre=centre, covariance=linear.cross_product(x - centre, x - centre) / (len(x) - 1))

    def squares(self, x: Floats) -> Floats:
        """Shape (n,); squared Mahalanobis distances from the centre. Raises NoFigure if the covariance is singular."""
        scale = np.sqrt(np.diag(self.covariance))
        if (scale > 0).all():
            values, vectors = linear.eigen(self.covariance / scale / scale[:, None])
            if values.min() > NEGLIGIBLE:
                turned = linear.product(np.ascontiguousarray((x - self.centre) / scale), vectors)
                return np.asarray((turned**2 / values).sum(axis=1))
        raise NoFigure("At least half of the records lie in a space of fewer dimensions than there are columns.")

    def among(self, columns: Longs) -> "Ellipsoid":
        """The marginal one of some columns."""
        return Ellipsoid(centre=self.centre[columns], covariance=self.covariance[np.ix_(columns, columns)])


def robust_ellipsoid(x: Floats, rng: np.random.Generator) -> Ellipsoid:
    """Reweighted centre and covariance of the most concentrated half.

    `x`: shape (n, d), complete, n > d + 1. NoFigure if half of the records lie in a space of fewer dimensions.
    """
    d = x.shape[1]
    sample = x[drawn_rows(rng, len(x), MOST_RECORDS)]
    half = (len(sample) + d + 1) // 2
    thickness = THICKNESS * np.diag(sample.var(axis=0))
    starts = (rng.choice(len(sample), d + 1, replace=False) for _ in range(STARTS))
    subsets = [_concentrated(sample, thickness, rows, half, STEPS) for rows in starts]
    best = sorted(subsets, key=lambda rows: _log_determinant(sample[rows]))[:BEST]
    final = min(
        (_concentrated(sample, thickness, rows, half, len(sample)) for rows in best),
        key=lambda rows: _log_determinant(sample[rows]),
    )
    raw = _consistent(Ellipsoid.of(sample[final]), half / len(sample))
    kept = x[raw.squares(x) <= chi_squared_quantile(CUT, d)]
    if len(kept) <= d + 1:
        raise NoFigure("Too few records lie near the middle for a robust covariance.")
    return _consistent(Ellipsoid.of(kept), CUT)


def chi_squared_quantile(share: float, freedom: int) -> float:
    """The square up to which this share of normal records lies."""
    from scipy.special import gammaincinv

    return float(f"{2 * gammaincinv(freedom / 2, share):.{DIGITS}g}")


def _concentrated(x: Floats, thickness: Floats, rows: Longs, half: int, steps: int) -> Longs:
    """The rows nearest to the mean of some rows in their covariance, again and again until they are the same."""
    for _ in range(steps):
        part = Ellipsoid.of(x[rows])
        thick = Ellipsoid(centre=part.centre, covariance=part.covariance + thickness)
        nearest = _nearest(thick.squares(x), half)
        if np.array_equal(nearest, rows):
            break
        rows = nearest
    return rows


def _nearest(squares: Floats, half: int) -> Longs:
    """The rows with the least squares, in their order; of equal ones the first."""
    limit = np.partition(squares, half - 1)[half - 1]
    near = squares < limit
    near[np.flatnonzero(squares == limit)[: half - int(near.sum())]] = True
    return np.flatnonzero(near)


def _log_determinant(part: Floats) -> float:
    values = linear.eigen(Ellipsoid.of(part).covariance)[0]
    return float(log(np.maximum(values, np.finfo(float).tiny)).sum())


def _consistent(inner: Ellipsoid, share: float) -> Ellipsoid:
    """Corrected by what the covariance of the innermost share of normal records falls short (Croux & Haesbroeck
    1999)."""
    from scipy.special import gammainc

    d = len(inner.centre)
    factor = share / gammainc(d / 2 + 1, chi_squared_quantile(share, d) / 2)
    return Ellipsoid(centre=inner.centre, covariance=inner.covariance * float(f"{factor:.{DIGITS}g}"))
