"""Muralidhar-Sarathy hybrid data: a share of every record's own values, the rest synthetic (2008)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from shoal.kernels import linear
from shoal.kernels.tall import cross, times
from shoal.replace._residuals.rotation import NEGLIGIBLE, Split, least_dimensions_beside, random_frame, span
from shoal.replace.synthesis import Synthesiser, kept
from shoal.table.prelude import Floats, Generator, Longs, Partition, Progress, Records, StepResult
from shoal.vocabulary.prelude import Columns, DataError, Figure, OfPlan, ParameterError, Setting, method, quoted

Alpha = float | tuple[float, ...] | tuple[tuple[float, ...], ...]

TOLERANCE = 1e-9
"""Eigenvalues above minus this, relative to residuals of variance 1, are rounding errors of zero."""


@method(
    "muralidhar-sarathy",
    title="Muralidhar-Sarathy hybrid values",
    source="Muralidhar & Sarathy (2008)",
    example={"alpha": 0.5},
)
class MuralidharSarathy(Synthesiser):
    """Each value is a share of the record's own, plus a regression on the kept columns, plus noise.

    x' = gamma + x alpha' + y beta' + e with beta' = Syy^-1 Syx (I - alpha') and gamma such that means are kept;
    the noise has the covariance See = R - alpha R alpha', R = Sxx - Sxy Syy^-1 Syx, and is orthogonal to 1, X and
    Y. Means, the covariance matrix of X and its covariances with Y are then exact. The method takes the whole table:
    use it with the partition `whole`. In smaller groups it does the same inside every group. Missing cells stay
    missing; columns that are not missing together need a step each.

    Parameters
    ----------
    alpha
        Share of the own value in [-1, 1]: one number for all replaced columns, one a column (a diagonal matrix), or
        a matrix, row by row. 0 makes the columns synthetic, 1 leaves them as they are.
    clip
        See must be positive semidefinite, which equal numbers always satisfy and others need not. If it is not,
        the step refuses, or with `clip` drops the negative part of See, and the covariances of X are then exceeded
        by what the facts tell.
    given, small, support, marginals
        As for IPSO. The noise is orthogonal to X too, and the covariances of old and new values are exact: a group
        needs d >= 4 for one replaced column, 5 for two, 7 for three, 2 L from six on.

    Notes
    -----
    See is positive semidefinite exactly where no direction of the residuals is enlarged by alpha: the largest
    singular value of R^-1/2 alpha R^1/2 is at most 1.
    """

    alpha: Annotated[Alpha, Setting()]
    small: Literal["refuse", "merge"] = "refuse"
    clip: bool = False
    given: Annotated[tuple[str, ...] | None, Columns()] = None

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        gaps = np.isnan(records.raw(columns))
        if (gaps.any(axis=1) != gaps.all(axis=1)).any():
            lacking = [name for name in columns if not records[name].complete]
            raise DataError(
                f"{quoted(lacking)}: cells are missing where others of the step's columns are known, so that these "
                f"have no shares. Give each column a step of its own, or set missing: impute or drop for them."
            )
        width = len(columns)
        share = _Share(matrix=_matrix(self.alpha, width), clip=self.clip, dropped=[])
        given = kept(records, columns, self.given, self.method_name)
        change = self._synthesise(
            records, columns, partition, given, share.draw, rng, progress, needs=least_dimensions_beside
        )
        facts = {**change.facts, "alpha": OfPlan(share.matrix.tolist())}
        if share.dropped:
            facts["smallest eigenvalue of the noise covariance that was clipped"] = Figure(value=min(share.dropped))
        return StepResult(records=change.records, facts=facts)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Share:
    """alpha, and the draw of the new residuals E alpha' + e."""

    matrix: Floats
    clip: bool
    dropped: list[float]

    def draw(self, parts: Split, _: Longs, rng: Generator) -> Floats:
        share = np.broadcast_to(self.matrix.T, (len(parts.residual), *self.matrix.shape))
        own = times(parts.residual * parts.unit, share) / parts.unit
        whole = cross(parts.residual, parts.residual)
        root = self._root(whole - cross(own, own), whole)
        return own + times(random_frame(parts, rng, beside=span(parts.residual)), root)

    def _root(self, noise: Floats, whole: Floats) -> Floats:
        """A factor of the noise's cross products, relative to the residuals' own spread."""
        spread = np.sqrt(np.diagonal(whole, axis1=1, axis2=2))
        spread = np.where(spread > 0, spread, 1.0)
        scaled = noise / (spread[:, :, None] * spread[:, None, :])
        values, vectors = linear.eigen(scaled)
        lowest = float(values.min())
        if lowest < -TOLERANCE:
            if not self.clip:
                raise ParameterError(
                    f"muralidhar-sarathy: alpha must leave the noise a covariance matrix; its smallest eigenvalue "
                    f"would be {lowest:.3g} (residuals of variance 1). The replaced columns depend on each other "
                    f"so strongly that keeping different shares of them enlarges some combination of them. "
                    f"Take equal shares, or shares nearer to each other, or set clip: true."
                )
            self.dropped.append(lowest)
        half = np.sqrt(np.where(values < NEGLIGIBLE, 0.0, values))[:, :, None] * vectors.swapaxes(1, 2)
        return np.asarray(half * spread[:, None, :])


def _matrix(alpha: Alpha, columns: int) -> Floats:
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except ValueError:  # rows of different lengths
        values = np.empty((0, 0))
    if values.ndim < 2 and (np.abs(values) > 1).any():
        raise ParameterError("muralidhar-sarathy: alpha, the share of a column's own value, must lie in [-1, 1].")
    if values.ndim == 0:
        values = np.full(columns, float(values))
    if values.ndim == 1:
        values = np.diag(values)
    if values.shape != (columns, columns) or not np.isfinite(values).all():
        raise ParameterError(
            f"muralidhar-sarathy: alpha must be one number, {columns} numbers, or {columns} rows of {columns} numbers "
            f"(the step replaces that many columns)."
        )
    return values
