"""Sequential regression: each column drawn from a regression on the columns before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.facts import Count, Fact, OfOriginal
from shoal.kernels.arrays import Bools, Floats, Ints, ints
from shoal.kernels.draws import chi_squared, standard_normal
from shoal.kernels.logit import INTERCEPT_PRECISION, SLOPE_PRECISION, multinomial_logit
from shoal.kernels.tall import cross, singular, times
from shoal.methods import Scales, method
from shoal.parameters import Columns
from shoal.replace._residuals.rotation import NEGLIGIBLE
from shoal.replace.marginals import Margin, margin
from shoal.replace.structural_zeros import Exclusions, Feature
from shoal.replace.support import Rule, Support
from shoal.replace.synthesis import Synthesiser, account, kept, large_enough
from shoal.step_result import StepResult


@method(
    "sequential-regression",
    title="Sequential regression",
    source="Raghunathan, Lepkowski, van Hoewyk & Solenberger (2001)",
)
class SequentialRegression(Synthesiser):
    """Columns drawn one after the other, each from a regression on those already drawn.

    The models are fitted to the original columns: linear with normal errors for continuous columns, logistic or
    multinomial logistic for ordinal and nominal ones. The first column is drawn from its own distribution (normal,
    or its shares). Predictors are the drawn columns before and the `given` ones; continuous columns and ordinal
    scores enter standardised, nominal ones as indicators, all without interactions. With one group (`whole`) the
    table is fully synthetic.

    Parameters
    ----------
    given
        Kept columns that predict all others.
    draw_parameters
        Draw each regression's coefficients (and variance) from their approximate posterior distribution, as multiple
        imputation does, instead of taking their estimates.
    small
        A group must hold two records more than the largest linear regression has coefficients; smaller ones make the
        step refuse, are merged with the group of the nearest mean, or, with `allow`, are described by fewer
        directions of their predictors.
    support, marginals
        As for IPSO; moments are not restored, as they are not kept in the first place. So by default values stay in
        the range, coarsened, are written as finely as the column is, and are 0 as often.
    exclude
        Keep from it what never occurs together in the original, where that is a rule rather than chance.

    Notes
    -----
    Logistic coefficients have independent normal priors (standard deviation 2.5, intercept 10), so that separated
    categories do no harm.
    """

    scales: ClassVar[Scales] = "blocks"

    given: Annotated[tuple[str, ...], Columns()] = ()
    draw_parameters: bool = True
    support: tuple[Rule, ...] = ("coarse-range", "zeros", "decimals")
    exclude: bool = True

    @property
    def anew(self) -> bool:
        return True

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        given = kept(records, columns, self.given, self.method_name)
        records.complete((*columns, *given), self.method_name)
        if not columns or not len(records):
            return StepResult(records=records, facts={"groups": Count(n=partition.n_groups, unit="groups")})
        models = [_Column.of(records[name], self) for name in columns]
        beside = [_Column.of(records[name], self) for name in given]
        needs = _largest_linear(beside, models) + 1
        groups = large_enough(
            partition, records.matrix(columns), np.empty((len(records), 0)), needs, self.small, self.method_name
        )
        new = [column.variable.values.copy() for column in models]
        drawn = [column.variable.values.copy() for column in models]
        for number, rows in enumerate(groups.members()):
            self._group(rows, beside, models, drawn, new, rng)
            if progress is not None:
                progress((number + 1) / groups.n_groups)
        changed = [column.variable.with_values(values) for column, values in zip(models, new)]
        return StepResult(records=records.with_variables(*changed), facts=_facts(models, drawn, new, partition, groups))

    def _group(
        self,
        rows: Any,
        beside: "list[_Column]",
        columns: "list[_Column]",
        drawn: list[Any],
        new: list[Any],
        rng: np.random.Generator,
    ) -> None:
        fitted = [np.ones((len(rows), 1))]
        applied = [np.ones((len(rows), 1))]
        for column in beside:
            place = column.predictor(rows)
            fitted.append(place(column.variable.values[rows]))
            applied.append(fitted[-1])
        before = [column.feature(column.variable.values[rows]) for column in beside]
        after = [feature.values for feature in before]
        for j, column in enumerate(columns):
            x, at = np.hstack(fitted), np.hstack(applied)
            values = column.variable.values[rows]
            own = column.feature(values)
            rules = Exclusions.of(own, before) if self.exclude else Exclusions(pairs={}, ranges={}, levels=own.levels)
            if column.variable.continuous:
                draws = column.margin.back(_linear(x, column.margin.there(values), at, self.draw_parameters, rng))
                drawn[j][rows] = draws
                inside = column.support.project(
                    draws[None, :, None], column.support.limits(values[None, :, None]), last=True
                )[0, :, 0]
                new[j][rows] = np.clip(inside, *rules.bounds(after, np.arange(len(rows))))
            else:
                free = rules.allowed(after, np.arange(len(rows)))
                new[j][rows] = drawn[j][rows] = _logistic(x, values, at, self.draw_parameters, free, rng)
            before.append(own)
            after.append(new[j][rows].astype(np.float64))
            place = column.predictor(rows)
            fitted.append(place(values))
            applied.append(place(new[j][rows]))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """A column with its scale and support."""

    variable: Variable
    margin: Margin
    support: Support

    @classmethod
    def of(cls, variable: Variable, method: SequentialRegression) -> "_Column":
        kind = method.marginals if variable.continuous else "raw"
        rules = method.support if variable.continuous else ()
        return cls(
            variable=variable,
            margin=margin(variable.values, kind, variable.name),
            support=Support.of(variable.values[:, None].astype(np.float64), rules),
        )

    def feature(self, values: Floats | Ints) -> Feature:
        """Its values (n,), as structural zeros are looked for."""
        levels = 0 if self.variable.continuous else len(self.variable.categories)
        return Feature(values=values.astype(np.float64), levels=levels)

    @property
    def width(self) -> int:
        """Number of columns as a predictor."""
        return len(self.variable.categories) - 1 if self.variable.level == "nominal" else 1

    def predictor(self, rows: Any) -> Any:
        """The map of values to predictor columns, standardised in the group: shape (n,) to (n, width)."""
        values = self.variable.values[rows]
        if self.variable.level == "nominal":
            present = np.unique(values)[1:]
            return lambda codes: (codes[:, None] == present).astype(np.float64)
        there = self.margin.there if self.variable.continuous else (lambda x: x.astype(np.float64))
        known = there(values)
        centre, spread = float(known.mean()), float(known.std())
        spread = spread if spread > NEGLIGIBLE * np.abs(known).max() else 0.0
        return lambda x: ((there(x) - centre) / spread if spread else np.zeros(len(x)))[:, None]


def _largest_linear(beside: list[_Column], columns: list[_Column]) -> int:
    """Coefficients of the largest linear regression; 1 where no column is continuous."""
    width, largest = 1 + sum(column.width for column in beside), 1
    for column in columns:
        if column.variable.continuous:
            largest = width
        width += column.width
    return largest


def _linear(x: Floats, y: Floats, at: Floats, draw: bool, rng: np.random.Generator) -> Floats:
    """Draws of y at the rows of `at` from the normal linear regression of y on x.

    In the orthonormal coordinates of the design the coefficients are independent with the error variance, whose
    posterior distribution is RSS / chi^2 (the usual uninformative prior).
    """
    middle = float(y.mean())
    values, right = (part[0] for part in singular(x[None]))
    rank = int((values > NEGLIGIBLE * values[0]).sum())
    rank = min(rank, max(1, len(x) - 2))
    to_rotated = right[:rank].T / values[:rank]
    left = times(x[None], to_rotated[None])
    coefficients = cross(left, (y - middle)[None, :, None])[0, :, 0]
    about = y - middle - times(left, coefficients[None, :, None])[0, :, 0]
    rss = float((about**2).sum())
    freedom = len(x) - rank
    if freedom == 0 or rss <= (NEGLIGIBLE**2) * float(((y - middle) ** 2).sum()):
        return middle + _applied(at, _applied(to_rotated, coefficients))
    sigma = np.sqrt(rss / (float(chi_squared(rng, freedom)) if draw else freedom))
    if draw:
        coefficients = coefficients + sigma * standard_normal(rng, rank)
    return np.asarray(middle + _applied(at, _applied(to_rotated, coefficients)) + sigma * standard_normal(rng, len(at)))


def _applied(x: Floats, coefficients: Floats) -> Floats:
    return times(x[None], coefficients[None, :, None])[0, :, 0]


def _logistic(x: Floats, codes: Ints, at: Floats, draw: bool, free: Bools, rng: np.random.Generator) -> Ints:
    """Draws of a category at the rows of `at`; only categories that the group holds can come.

    Of these the ones that `free`, shape (n, categories), allows, unless there is none.
    """
    present, y = np.unique(codes, return_inverse=True)
    if len(present) == 1:
        return np.full(len(at), present[0], dtype=np.int32)
    precision = np.full(x.shape[1], SLOPE_PRECISION)
    precision[0] = INTERCEPT_PRECISION
    model = multinomial_logit(x, np.eye(len(present))[y], precision)
    chances = (model.drawn(rng) if draw else model).probabilities(at)
    if free.shape[1]:
        allowed = chances * free[:, present]
        some = allowed.sum(axis=1, keepdims=True)
        chances = np.where(some > 0, allowed / np.where(some > 0, some, 1.0), chances)
    edges = np.cumsum(chances, axis=1)
    pick = (rng.random(len(at))[:, None] > edges[:, :-1]).sum(axis=1)
    return ints(present[pick])


def _facts(
    columns: list[_Column], drawn: list[Any], new: list[Any], partition: Partition, groups: Partition
) -> dict[str, Fact]:
    numeric = [j for j, column in enumerate(columns) if column.variable.continuous]
    same = np.ones(len(partition), dtype=bool)
    for column, values in zip(columns, new):
        same &= values == column.variable.values
    facts: dict[str, Fact] = {
        "groups": Count(n=groups.n_groups, unit="groups"),
        "groups merged because too small": Count(n=partition.n_groups - groups.n_groups, unit="groups"),
    }
    if numeric:
        x = np.column_stack([columns[j].variable.values for j in numeric])
        after = np.column_stack([new[j] for j in numeric])
        names = tuple(columns[j].variable.name for j in numeric)
        support = Support.of(x, ())
        facts |= account(x, after, np.empty((len(x), 0)), groups, names)
        facts["values as drawn"] = OfOriginal(support.violations(np.column_stack([drawn[j] for j in numeric])))
        facts["values as released"] = OfOriginal(support.violations(after))
    facts["records unchanged"] = Count(n=int(same.sum()))
    return facts
