"""Noise addition in its classical forms; their laws stand in `shoal.replace._noise.laws`."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.kernels.draws import RecordDraws
from shoal.kernels.elementary import normal_cdf, normal_quantile
from shoal.mask.base import Mask
from shoal.replace._noise.laws import Kind, NoiseLaw, check_size_of_turn, refuse_gaps
from shoal.table.joint_moments import JointMoments
from shoal.table.prelude import Floats, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.prelude import DataError, Gt, HoldsCells, ParameterError, Setting, method


@method(
    "noise",
    title="Noise addition",
    source="Kim (1986); Sullivan (1989); Ting, Fienberg & Trottini (2008)",
    example={"variance": 0.1},
)
class Noise(Mask):
    """Adds random noise to continuous columns.

    With strata, means and covariances are those of each stratum, and each is masked by itself. Missing cells
    stay missing: means and variances are those of the known cells, correlations those of the complete records. `exact`,
    `sullivan` and `orthogonal` need columns that are missing together, or a step for each.

    Parameters
    ----------
    kind
        `uncorrelated`: independent noise for each column; variances grow by the factor 1 + variance and
        covariances stay, so correlations shrink. `correlated`: noise with the covariance of the data, so
        correlations stay. `kim`: correlated noise followed by a linear map, so that means and covariances
        stay in expectation (Kim 1986). `sullivan`: the same on normal scores, mapped back through each
        column's own quantiles, so that univariate distributions stay (Sullivan 1989); a column of whole numbers
        (counts, codes 0 and 1) then holds no value that it did not have. `restricted`: noise that keeps
        values inside `bounds`. `multiplicative`: factors with mean 1, so that zeros and signs stay. `orthogonal`:
        random orthogonal matrix masking; means and covariances stay exactly.
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

    scales = "rows"
    reads_others = False
    wants_moments = True
    leaves_gaps = True

    kind: Kind | Literal["restricted"] = "correlated"
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
        check_size_of_turn(self.kind, self.variance, "noise")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        self.continuous(records, columns)
        x, by_stratum = records.raw(columns), records.by_stratum
        moments = [JointMoments.by_chunk(_among(x, rows), records.rows[rows]) for rows in by_stratum]
        return self._masked(records, columns, rng, by_stratum, moments)

    @property
    def whole_needed(self) -> str:
        if self.kind == "sullivan":
            return "the ranks of all values; take the kind kim"
        if self.exact or self.kind == "orthogonal":
            return "all records, for noise with exact moments; take the kind kim, with exact: false"
        return ""

    def apply_to_part(
        self, records: Records, columns: Sequence[str], rng: Generator, stratum: Longs, moments: Sequence[JointMoments]
    ) -> StepResult:
        return self._masked(records, columns, rng, [np.flatnonzero(stratum == n) for n in range(len(moments))], moments)

    def _masked(
        self,
        records: Records,
        columns: Sequence[str],
        rng: Generator,
        strata: Sequence[Longs],
        moments: Sequence[JointMoments],
    ) -> StepResult:
        """The records with noise, stratum by stratum, of which these are the moments in the whole table."""
        self.continuous(records, columns)
        x = records.raw(columns)
        low, high = np.min([m.low for m in moments], axis=0), np.max([m.high for m in moments], axis=0)
        limits = self._limits(columns, low, high)
        masked, some = x.copy(), np.asarray(~np.isnan(x).all(axis=1))
        draws = RecordDraws.of(records.rows, rng)
        for stratum, whole in zip(strata, moments):
            rows = stratum[some[stratum]]
            if len(rows):
                known = _among(x, rows)
                refuse_gaps(known, columns, self.kind, exact=self.exact)
                masked[rows] = self._mask(known, limits, draws.among(rows), whole)
        return StepResult(records=records.with_raw(columns, masked))

    def _mask(self, x: Floats, limits: Floats, draws: RecordDraws, whole: JointMoments) -> Floats:
        """The records of a stratum, or some of them, which has these moments as a whole."""
        if self.kind == "restricted":
            return _truncated(x, np.sqrt(self.variance * whole.variances), limits, draws)
        return NoiseLaw(kind=self.kind, variance=self.variance, exact=self.exact).masked(x, draws, whole)

    def _limits(self, columns: Sequence[str], low: Floats, high: Floats) -> Floats:
        """Shape (d, 2); the bounds given, or the ends of a column's values in the whole table, `low` and `high`."""
        given = self.bounds or {}
        if stray := [name for name in given if name not in columns]:
            raise ParameterError(f"noise: bounds name '{stray[0]}', which is not one of the step's columns.")
        ends = zip(low.tolist(), high.tolist())
        limits = np.array([given.get(name, of_values) for name, of_values in zip(columns, ends)], dtype=np.float64)
        limits = limits.reshape(-1, 2)
        for name in np.array(columns)[(low < limits[:, 0]) | (high > limits[:, 1])]:
            raise DataError(f"Column '{name}' has values outside its bounds; widen them.")
        return limits


def _among(x: Floats, rows: Longs) -> Floats:
    """Some rows of a matrix, ascending; the matrix itself where they are all."""
    return x if len(rows) == len(x) else x[rows]


def _truncated(x: Floats, spread: Floats, limits: Floats, draws: RecordDraws) -> Floats:
    """x + e with e normal, given that the sum stays inside the limits, by inversion on the nearer tail."""
    scale = np.where(spread > 0, spread, 1.0)
    low, high = (limits[:, 0] - x) / scale, (limits[:, 1] - x) / scale
    share = draws.random(x.shape)
    least, most = normal_cdf(low), normal_cdf(high)  # low <= 0 <= high, so no tail is lost
    drawn = normal_quantile(least + share * (most - least))
    return np.asarray(np.clip(x + np.where(spread > 0, drawn, 0.0) * scale, limits[:, 0], limits[:, 1]))
