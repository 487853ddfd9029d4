"""Laws of noise on some records: the algebra behind the mask `noise`, and behind noise inside groups.

With S the sample covariance of the columns and c the variance of the noise as a fraction of theirs:

| kind | masked data | covariance of the masked data |
|---|---|---|
| uncorrelated | x + e, e ~ N(0, c diag S) | S + c diag S |
| correlated | x + e, e ~ N(0, c S) | (1 + c) S |
| kim | (x + e) / sqrt(1 + c), about the mean | S |
| sullivan | as kim, on normal scores, and back | distributions of the columns kept |
| multiplicative | x m, m lognormal with mean 1 and variance c | - |
| orthogonal | T x, T a random orthogonal matrix with T 1 = 1 | exactly S |

The covariances hold in expectation; exactly, to rounding, where the noise is drawn, made orthogonal to the data and
to the constant, and given exactly the covariance it should have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels import linear, tall
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.draws import Draws, standard_normal
from shoal.kernels.elementary import exp, log1p, normal_cdf, normal_quantile
from shoal.replace._residuals.rotation import least_dimensions_beside
from shoal.table.joint_moments import JointMoments
from shoal.vocabulary.errors import DataError, ParameterError, quoted

Kind = Literal["uncorrelated", "correlated", "kim", "sullivan", "multiplicative", "orthogonal"]

LARGEST_ORTHOGONAL = 2.0
"""E|Tx - x|^2 = (2 - 2 cos t) |x|^2 reaches 2 where T x is uncorrelated with x (cos t = 0)."""

RANK_TOLERANCE = 1e-10
"""Directions of the data whose singular value is below this share of the largest count as dependent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """A law of noise."""

    kind: Kind
    variance: float  # c, above 0
    exact: bool = False  # The stated mean and covariance hold in the sample and not only in expectation
    where: str = "stratum"  # What the records are, for messages: "stratum", "group"

    def masked(self, x: Floats, rng: Draws, whole: JointMoments | None = None) -> Floats:
        """Records of shape (n, d), masked together; a missing cell, NaN, stays one, if moments are given.

        `whole`: moments that count in place of the records' own, where these are a part of more; not for `exact` laws,
        `sullivan` and `orthogonal`, which need all records.
        """
        c = self.variance
        match self.kind:
            case "uncorrelated":
                return x + self._noise(x, c * np.diag(_variance(x, whole)), rng)
            case "correlated":
                return x + self._noise(x, c * self._covariance(x, whole), rng)
            case "kim":
                centre = x.mean(axis=0) if whole is None else whole.means
                return _kim(x, self._noise(x, c * self._covariance(x, whole), rng), c, centre)
            case "sullivan":
                return self._sullivan(x, rng)
            case "multiplicative":
                spread = float(log1p(c))
                return np.asarray(x * exp(np.sqrt(spread) * standard_normal(rng, x.shape) - spread / 2))
            case "orthogonal":
                return self._rotated(x, 1 - c / 2, rng)

    def of_known_cells(self, x: Floats, numbers: Longs, columns: Sequence[str], rng: Draws) -> Floats:
        """Records of shape (n, d), masked together; a missing cell, NaN, stays one. `numbers`: those of the records."""
        masked, some = x.copy(), np.asarray(~np.isnan(x).all(axis=1))
        if not some.any():
            return masked
        known = x[some]
        refuse_gaps(known, columns, self.kind, exact=self.exact)
        whole = JointMoments.by_chunk(known, numbers[some]) if np.isnan(known).any() else None
        masked[some] = self.masked(known, rng, whole)
        return masked

    def _noise(self, x: Floats, covariance: Floats, rng: Draws) -> Floats:
        root = _root(covariance)
        if not self.exact:
            return _times(standard_normal(rng, x.shape), root)
        return _times(self._orthonormal_to(x - x.mean(axis=0), x.shape[1], rng), root * np.sqrt(len(x) - 1))

    def _sullivan(self, x: Floats, rng: Draws) -> Floats:
        n = len(x)
        order = np.lexsort((rng.random(x.shape), x), axis=0)  # equal values get their ranks at random
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(n)[:, None], axis=0)
        scores = normal_quantile((ranks + 0.5) / n)
        noise = _times(standard_normal(rng, x.shape), _root(self.variance * self._covariance(scores)))
        moved = _kim(scores, noise, self.variance, scores.mean(axis=0))
        ordered = np.sort(x, axis=0)
        if self.exact:
            place = np.argsort(np.argsort(moved, axis=0, kind="stable"), axis=0, kind="stable")
            return np.take_along_axis(ordered, place, axis=0)
        return np.column_stack([_quantiles(ordered[:, j], normal_cdf(moved[:, j])) for j in range(x.shape[1])])

    def _covariance(self, x: Floats, whole: JointMoments | None = None) -> Floats:
        if whole is not None:
            return whole.covariance
        if len(x) < 2:
            raise DataError(f"noise needs at least 2 records in every {self.where}, to have a variance.")
        centred = (x - x.mean(axis=0))[None]
        return np.asarray(tall.cross(centred, centred)[0] / (len(x) - 1))

    def _orthonormal_to(self, centred: Floats, m: int, rng: Draws) -> Floats:
        """Shape (n, m); orthonormal columns, uniformly random, orthogonal to the data and to the constant."""
        n = len(centred)
        u, _, _, real = tall.principal(centred[None], RANK_TOLERANCE)
        basis = np.ascontiguousarray(u[0][:, real[0]])
        needed = 1 + max(basis.shape[1] + m, least_dimensions_beside(m))
        if n < needed:
            raise DataError(
                f"Exact noise needs at least {needed} records in every {self.where} for these columns; "
                f"got {n}. Set exact: false, or form larger ones."
            )
        z = standard_normal(rng, (n, m))
        for _ in range(2):  # twice is enough (Kahan; Parlett 1998, section 6.9)
            z -= z.mean(axis=0)
            z -= _times(basis, tall.cross(basis[None], z[None])[0])
        r = tall.triangular(z[None])
        inverse = linear.inverse(r)
        q = tall.orthonormal(tall.times(z[None], inverse), np.ones((1, m), dtype=bool))[0]
        return np.asarray(q * np.sign(np.diag(r[0])))  # signs fixed, so that q is Haar distributed (Mezzadri 2007)

    def _rotated(self, x: Floats, cosine: float, rng: Draws) -> Floats:
        centre = x.mean(axis=0)
        u, singular, v, _ = tall.principal((x - centre)[None], RANK_TOLERANCE)
        turned = cosine * u[0] + np.sqrt(1 - cosine**2) * self._orthonormal_to(x - centre, x.shape[1], rng)
        return np.asarray(centre + _times(turned * singular[0], v[0]))


def refuse_gaps(x: Floats, columns: Sequence[str], kind: str, *, exact: bool) -> None:
    """Refuse missing cells where the law of the noise is one of complete records."""
    gaps: Bools = np.isnan(x)
    if (exact or kind in ("sullivan", "orthogonal")) and gaps.any():
        lacking = [name for j, name in enumerate(columns) if gaps[:, j].any()]
        raise DataError(
            f"{quoted(lacking)}: cells are missing where others of the step's columns are known, so that noise of "
            f"the kind {kind}{', exact,' * exact} is not defined. Give each column a step of its own, or "
            f"take the kind kim, with exact: false."
        )


def check_size_of_turn(kind: str, variance: float, name: str) -> None:
    """Refuse a variance that no rotation has."""
    if kind == "orthogonal" and variance > LARGEST_ORTHOGONAL:
        raise ParameterError(f"{name}: variance must be in (0, 2] for the kind orthogonal; got {variance}.")


def _root(covariance: Floats) -> Floats:
    """The symmetric root of a covariance matrix; rounding below zero is cut off."""
    values, vectors = linear.eigen(covariance)
    return linear.product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)


def _variance(x: Floats, whole: JointMoments | None) -> Floats:
    return np.asarray(x.var(axis=0, ddof=1) if whole is None else whole.variances)


def _kim(x: Floats, noise: Floats, c: float, centre: Floats) -> Floats:
    return np.asarray(centre + (x - centre + noise) / np.sqrt(1 + c))


def _times(x: Floats, small: Floats) -> Floats:
    """The product of a tall matrix with a small one."""
    return np.asarray(tall.times(x[None], small[None])[0])


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Quantiles of a column: of whole numbers its own values, else steps at repeated ones, linear between distinct."""
    n = len(ordered)
    if (ordered == np.floor(ordered)).all():
        return np.asarray(ordered[np.minimum((shares * n).astype(np.int64), n - 1)])
    return np.asarray(np.interp(shares, (np.arange(n) + 0.5) / n, ordered))
