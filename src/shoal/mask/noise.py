"""Noise addition in its classical forms.

With S the sample covariance of the columns and c the variance of the noise as a fraction of theirs:

| kind | masked data | covariance of the masked data |
|---|---|---|
| uncorrelated | x + e, e ~ N(0, c diag S) | S + c diag S |
| correlated | x + e, e ~ N(0, c S) | (1 + c) S |
| kim | (x + e) / sqrt(1 + c), about the mean | S |
| sullivan | as kim, on normal scores, and back | distributions of the columns kept |
| restricted | x + e, e ~ N(0, c s^2) given that x + e stays inside the column's range | - |
| multiplicative | x m, m lognormal with mean 1 and variance c | - |
| orthogonal | T x, T a random orthogonal matrix with T 1 = 1 | exactly S |

The left column holds in expectation; `exact` makes it hold in the sample, to rounding: the noise is drawn,
made orthogonal to the data and to the constant, and given exactly the covariance it should have.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Gt

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.errors import DataError, ParameterError, plural
from shoal.kernels import linear, tall
from shoal.kernels.arrays import Floats
from shoal.kernels.draws import standard_normal
from shoal.kernels.elementary import exp, log1p, normal_cdf, normal_quantile
from shoal.mask.base import Mask, strata
from shoal.methods import Scales, method
from shoal.parameters import HoldsCells, Setting
from shoal.step_result import StepResult

Kind = Literal["uncorrelated", "correlated", "kim", "sullivan", "restricted", "multiplicative", "orthogonal"]

LARGEST_ORTHOGONAL = 2.0
"""E|Tx - x|^2 = (2 - 2 cos t) |x|^2 reaches 2 where T x is uncorrelated with x (cos t = 0)."""

RANK_TOLERANCE = 1e-10
"""Directions of the data whose singular value is below this share of the largest count as dependent."""


@method(
    "noise",
    title="Noise addition",
    source="Kim (1986); Sullivan (1989); Ting, Fienberg & Trottini (2008)",
    example={"variance": 0.1},
)
class Noise(Mask):
    """Adds random noise to continuous columns.

    With strata, means and covariances are those of each stratum, and noise is drawn stratum by stratum.

    Parameters
    ----------
    kind
        `uncorrelated`: independent noise for each column; variances grow by the factor 1 + variance and
        covariances stay, so correlations shrink. `correlated`: noise with the covariance of the data, so
        correlations stay. `kim`: correlated noise followed by a linear map, so that means and covariances
        stay in expectation (Kim 1986). `sullivan`: the same on normal scores, mapped back through each
        column's own quantiles, so that univariate distributions stay (Sullivan 1989). `restricted`: noise
        that keeps values inside `bounds`. `multiplicative`: factors with mean 1, so that zeros and signs
        stay. `orthogonal`: random orthogonal matrix masking; means and covariances stay exactly.
    variance
        Variance of the noise as a fraction of the column's variance (for `multiplicative`, of the squared
        value): 0.1 is ten per cent of the variance, whatever the kind. At most 2 for `orthogonal`.
    exact
        The stated mean and covariance hold in the sample and not only in expectation; for `sullivan`, every
        column keeps exactly its values, in another order. `orthogonal` is always exact; `restricted` and
        `multiplicative` cannot be.
    bounds
        For `restricted`: [lowest, highest] by column. Columns without bounds keep inside their observed
        range, which then is what the release tells.

    Notes
    -----
    `kim` conditions on the sample: with e ~ N(0, c S) the map a (x + e) + (1 - a) mean, a = (1 + c)^-1/2, has
    expected sample covariance S, itself unbiased for the population's.

    `orthogonal` differs from the paper, which orthogonalises an n x n matrix: the rotation here turns the
    column space of the centred data by one angle t, cos t = 1 - variance/2, towards a uniformly random
    subspace orthogonal to it and to the constant. T is orthogonal with T 1 = 1 just the same, the size of the
    disturbance is exact, and memory is that of the data. Exact `kim` is the rotation with cos t = a.

    `restricted` draws from the truncated normal distribution, which moves values near a bound inwards.
    """

    scales: ClassVar[Scales] = "memory"

    kind: Kind = "correlated"
    variance: Annotated[float, Gt(0), Setting()]
    exact: bool = False
    bounds: Annotated[dict[str, tuple[float, float]] | None, HoldsCells()] = None

    def __post_init__(self) -> None:
        if self.exact and self.kind in ("restricted", "multiplicative"):
            raise ParameterError(f"noise: exact must be false for the kind {self.kind}, which no sample obeys exactly.")
        if self.bounds is not None and self.kind != "restricted":
            raise ParameterError(f"noise: bounds are for the kind restricted; the kind is {self.kind}. Leave them out.")
        if any(low >= high for low, high in (self.bounds or {}).values()):
            raise ParameterError("noise: bounds must be pairs of a lower and a higher number.")
        if self.kind == "orthogonal" and self.variance > LARGEST_ORTHOGONAL:
            raise ParameterError(f"noise: variance must be in (0, 2] for the kind orthogonal; got {self.variance}.")

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        self.continuous(records, columns)
        records.complete(columns, "noise")
        x = records.raw(columns)
        masked = np.empty_like(x)
        limits = self._limits(columns, x)
        for rows in strata(records):
            masked[rows] = self._mask(x[rows], limits, rng) if len(rows) else x[rows]
        return StepResult(records=records.with_raw(columns, masked))

    def _mask(self, x: Floats, limits: Floats, rng: np.random.Generator) -> Floats:
        c = self.variance
        match self.kind:
            case "uncorrelated":
                return x + self._noise(x, c * np.diag(x.var(axis=0, ddof=1)), rng)
            case "correlated":
                return x + self._noise(x, c * _covariance(x), rng)
            case "kim":
                return _kim(x, self._noise(x, c * _covariance(x), rng), c)
            case "sullivan":
                return self._sullivan(x, rng)
            case "restricted":
                return _truncated(x, np.sqrt(c) * x.std(axis=0, ddof=1), limits, rng)
            case "multiplicative":
                spread = float(log1p(c))
                return np.asarray(x * exp(np.sqrt(spread) * standard_normal(rng, x.shape) - spread / 2))
            case "orthogonal":
                return _rotated(x, 1 - c / 2, rng)

    def _noise(self, x: Floats, covariance: Floats, rng: np.random.Generator) -> Floats:
        root = _root(covariance)
        if not self.exact:
            return _times(standard_normal(rng, x.shape), root)
        return _times(_orthonormal_to(x - x.mean(axis=0), x.shape[1], rng), root * np.sqrt(len(x) - 1))

    def _sullivan(self, x: Floats, rng: np.random.Generator) -> Floats:
        n = len(x)
        order = np.lexsort((rng.random(x.shape), x), axis=0)  # equal values get their ranks at random
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(n)[:, None], axis=0)
        scores = normal_quantile((ranks + 0.5) / n)
        noise = _times(standard_normal(rng, x.shape), _root(self.variance * _covariance(scores)))
        moved = _kim(scores, noise, self.variance)
        ordered = np.sort(x, axis=0)
        if self.exact:
            place = np.argsort(np.argsort(moved, axis=0, kind="stable"), axis=0, kind="stable")
            return np.take_along_axis(ordered, place, axis=0)
        return np.column_stack([_quantiles(ordered[:, j], normal_cdf(moved[:, j])) for j in range(x.shape[1])])

    def _limits(self, columns: Sequence[str], x: Floats) -> Floats:
        """Shape (d, 2)."""
        given = self.bounds or {}
        if stray := [name for name in given if name not in columns]:
            raise ParameterError(f"noise: bounds name '{stray[0]}', which is not one of the step's columns.")
        limits = np.array(
            [
                given.get(name, (x[:, j].min(initial=np.inf), x[:, j].max(initial=-np.inf)))
                for j, name in enumerate(columns)
            ],
            dtype=np.float64,
        ).reshape(-1, 2)
        outside = ((x < limits[:, 0]) | (x > limits[:, 1])).sum(axis=0)
        for name, count in zip(columns, outside.tolist()):
            if count:
                raise DataError(f"Column '{name}' has {plural(count, 'value')} outside its bounds; widen them.")
        return limits


def _covariance(x: Floats) -> Floats:
    if len(x) < 2:
        raise DataError("noise needs at least 2 records in every stratum, to have a variance.")
    centred = (x - x.mean(axis=0))[None]
    return np.asarray(tall.cross(centred, centred)[0] / (len(x) - 1))


def _root(covariance: Floats) -> Floats:
    """The symmetric root of a covariance matrix; rounding below zero is cut off."""
    values, vectors = linear.eigen(covariance)
    return linear.product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)


def _kim(x: Floats, noise: Floats, c: float) -> Floats:
    centre = x.mean(axis=0)
    return np.asarray(centre + (x - centre + noise) / np.sqrt(1 + c))


def _orthonormal_to(centred: Floats, m: int, rng: np.random.Generator) -> Floats:
    """Shape (n, m); orthonormal columns, uniformly random, orthogonal to the data and to the constant."""
    n = len(centred)
    u, _, _, real = tall.principal(centred[None], RANK_TOLERANCE)
    basis = np.ascontiguousarray(u[0][:, real[0]])
    if n < 1 + basis.shape[1] + m:
        raise DataError(
            f"Exact noise needs at least {1 + basis.shape[1] + m} records in every stratum for these columns; "
            f"got {n}. Set exact: false, or merge strata."
        )
    z = standard_normal(rng, (n, m))
    for _ in range(2):  # twice is enough (Kahan; Parlett 1998, section 6.9)
        z -= z.mean(axis=0)
        z -= _times(basis, tall.cross(basis[None], z[None])[0])
    r = tall.triangular(z[None])
    inverse = linear.inverse(r)
    q = tall.orthonormal(tall.times(z[None], inverse), np.ones((1, m), dtype=bool))[0]
    return np.asarray(q * np.sign(np.diag(r[0])))  # signs fixed, so that q is Haar distributed (Mezzadri 2007)


def _rotated(x: Floats, cosine: float, rng: np.random.Generator) -> Floats:
    centre = x.mean(axis=0)
    u, singular, v, _ = tall.principal((x - centre)[None], RANK_TOLERANCE)
    turned = cosine * u[0] + np.sqrt(1 - cosine**2) * _orthonormal_to(x - centre, x.shape[1], rng)
    return np.asarray(centre + _times(turned * singular[0], v[0]))


def _times(x: Floats, small: Floats) -> Floats:
    """The product of a tall matrix with a small one."""
    return np.asarray(tall.times(x[None], small[None])[0])


def _truncated(x: Floats, spread: Floats, limits: Floats, rng: np.random.Generator) -> Floats:
    """x + e with e normal, given that the sum stays inside the limits, by inversion on the nearer tail."""
    scale = np.where(spread > 0, spread, 1.0)
    low, high = (limits[:, 0] - x) / scale, (limits[:, 1] - x) / scale
    share = rng.random(x.shape)
    drawn = normal_quantile(
        normal_cdf(low) + share * (normal_cdf(high) - normal_cdf(low))
    )  # low <= 0 <= high, so no tail is lost
    return np.asarray(np.clip(x + np.where(spread > 0, drawn, 0.0) * scale, limits[:, 0], limits[:, 1]))


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Quantiles of a column: steps at repeated values, linear between neighbouring distinct ones."""
    n = len(ordered)
    return np.asarray(np.interp(shares, (np.arange(n) + 0.5) / n, ordered))
