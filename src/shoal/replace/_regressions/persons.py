"""The model of one part of a column by a regression on those before it, fitted once and drawn from often."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Floats, Longs, ints
from shoal.replace._regressions.models import LinearRegression, Logistic
from shoal.replace._residuals.rotation import NEGLIGIBLE
from shoal.replace._trees.columns import ColumnPart
from shoal.replace._trees.smoothing import ends_of_units
from shoal.replace.marginals import Margin, margin
from shoal.replace.sequential_regression import SequentialRegression
from shoal.replace.structural_zeros import Exclusions
from shoal.replace.support import Support
from shoal.table.ranges import coarse_range


@dataclass(frozen=True, kw_only=True, eq=False)
class _Predictor:
    """A part as a predictor: numbers standardised, categories as indicators; a missing number is at the mean."""

    present: Floats | None  # Shape (K - 1,); categories that occur but for the first; None for numbers
    centre: float = 0.0
    spread: float = 0.0  # 0 for a number that is always the same
    gaps: bool = False

    @classmethod
    def of(cls, values: Floats, levels: int) -> "_Predictor":
        if levels:
            return cls(present=np.unique(values)[1:])
        known = values[~np.isnan(values)]
        centre, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
        spread = spread if len(known) and spread > NEGLIGIBLE * np.abs(known).max() else 0.0
        return cls(present=None, centre=centre, spread=spread, gaps=len(known) < len(values))

    def columns(self, values: Floats) -> list[Floats]:
        """Columns (m,) of a design, for new values (m,)."""
        if self.present is not None:
            return [(values == category).astype(np.float64) for category in self.present]
        missing = np.isnan(values)
        scores = np.zeros(len(values)) if not self.spread else (values - self.centre) / self.spread
        return [np.where(missing, 0.0, scores), *([missing.astype(np.float64)] if self.gaps else [])]


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionModel:
    """Source of the new values of a part."""

    part: ColumnPart
    predictors: tuple[_Predictor, ...]
    exclusions: Exclusions
    logistic: Logistic | None = None  # For categories
    linear: LinearRegression | None = None  # For numbers, with their scale and support; None where there is none
    scale: Margin | None = None
    support: Support | None = None

    @classmethod
    def of(
        cls,
        part: ColumnPart,
        before: Sequence[ColumnPart],
        at: Longs,
        method: SequentialRegression,
        rng: Generator,
        units: Longs,
    ) -> "RegressionModel":
        """The model fitted to the records `at`; `units`: shape (n,) of all records, whose each is."""
        own = part.values[at]
        known = np.flatnonzero(~np.isnan(own))
        predictors = tuple(_Predictor.of(p.values[at], p.levels) for p in before)
        x = _design(predictors, [p.values[at] for p in before], len(at))[known]
        here = ColumnPart(values=own, levels=part.levels)
        rules = Exclusions(pairs={}, ranges={}, levels=part.levels)
        if method.exclude:
            rules = Exclusions.of(here, [ColumnPart(values=p.values[at], levels=p.levels) for p in before])
        model = cls(part=part, predictors=predictors, exclusions=rules)
        if not len(known):
            return model
        if part.levels:
            logistic = Logistic.of(x, ints(own[known]))
            return replace(model, logistic=logistic.drawn(rng) if method.draw_parameters else logistic)
        scale = margin(own[known], method.marginals, "of synthesis")
        linear = LinearRegression.of(x, scale.there(own[known]))
        return replace(
            model,
            linear=linear.drawn(rng) if method.draw_parameters else linear,
            scale=scale,
            support=_support(own[known], units[at][known], method),
        )

    def drawn(self, x: Floats, rng: Generator) -> tuple[Floats, int]:
        """Shape (m,); values for new records whose earlier parts are (d, m), NaN where there is none; none breaks a
        rule that can be kept."""
        m = x.shape[1]
        rows = np.flatnonzero(x[-1] == 0) if self.part.after_kind else np.arange(m)
        drawn = np.full(m, np.nan)
        if not len(rows):
            return drawn, 0
        earlier = list(x[:, rows])
        design = _design(self.predictors, earlier, len(rows))
        everyone = np.arange(len(rows))
        if self.logistic is not None:
            drawn[rows] = self.logistic.values(design, self.exclusions.allowed(earlier, everyone), rng)
        elif self.linear is not None and self.scale is not None and self.support is not None:
            numbers = self._inside(self.scale.back(self.linear.values(design, rng)), rng)
            drawn[rows] = np.clip(numbers, *self.exclusions.bounds(earlier, everyone))
        return drawn, 0

    def _inside(self, numbers: Floats, rng: Generator) -> Floats:
        """The numbers in the column's support, with as many zeros as chance makes of its share of them."""
        support = self.support
        if support is None:
            return numbers
        limits = support.limits(numbers[None, :, None])
        zeros = (rng.random(len(numbers)) < support.zeros[0]).sum()
        return support.project(numbers[None, :, None], replace(limits, zeros=np.array([[zeros]])), last=True)[0, :, 0]


def _support(values: Floats, units: Longs, method: SequentialRegression) -> Support:
    """The support of numbers (n,), whose coarse range counts units."""
    support = Support.of(values[:, None], method.support)
    smallest, largest = ends_of_units(values, units)
    return replace(support, coarse=(coarse_range(smallest[:, None])[0], coarse_range(largest[:, None])[1]))


def _design(predictors: Sequence[_Predictor], values: Sequence[Floats], m: int) -> Floats:
    """Shape (m, p); a column of ones, and those of the predictors."""
    columns = [column for predictor, own in zip(predictors, values) for column in predictor.columns(own)]
    return np.column_stack([np.ones(m), *columns])
