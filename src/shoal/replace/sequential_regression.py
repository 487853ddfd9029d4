"""Sequential regression: each column drawn from a regression on the columns before it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Ints, Longs, ints
from shoal.replace._regressions.models import LinearRegression, Logistic
from shoal.replace._residuals.rotation import NEGLIGIBLE
from shoal.replace.marginals import Margin, margin
from shoal.replace.structural_zeros import Exclusions, Feature
from shoal.replace.support import Rule, Support
from shoal.replace.synthesis import Synthesiser, account, kept, large_enough
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult, Variable, tracked
from shoal.table.records import unchanged
from shoal.vocabulary.prelude import Columns, Count, Fact, OfOriginal, method


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
    scores enter standardised, nominal ones as indicators, all without interactions. Whether a cell is missing is drawn
    first, by a logistic regression of its own, and predicts what follows. With one group (`whole`) the table is fully
    synthetic.

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

    given: Annotated[tuple[str, ...], Columns()] = ()
    draw_parameters: bool = True
    support: tuple[Rule, ...] = ("coarse-range", "zeros", "decimals")
    exclude: bool = True

    @property
    def anew(self) -> bool:
        return True

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.given

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        given = kept(records, columns, self.given, self.method_name)
        if not columns or not len(records):
            return StepResult(records=records, facts={"groups": Count(n=partition.n_groups, unit="groups")})
        models = [_Column.of(records[name], self) for name in columns]
        beside = [_Column.of(records[name], self) for name in given]
        needs = _largest_linear(beside, models) + 1
        groups = large_enough(
            partition, records.matrix(columns), lambda p: _dimensions(p, models), needs, 0, self.small, self.method_name
        )
        new = [column.variable.values.copy() for column in models]
        drawn = [column.variable.values.copy() for column in models]
        for rows in tracked(list(groups.members()), progress):
            self._group(rows, beside, models, drawn, new, rng)
        changed = [column.variable.with_values(values) for column, values in zip(models, new)]
        facts = _facts(models, drawn, new, partition, groups)
        facts["records unchanged"] = Count(n=int(unchanged(records, changed).sum()))
        return StepResult(records=records.with_variables(*changed), facts=facts)

    def _group(
        self,
        rows: Longs,
        beside: "list[_Column]",
        columns: "list[_Column]",
        drawn: list[Any],
        new: list[Any],
        rng: Generator,
    ) -> None:
        group = _Group(rows=rows, exclude=self.exclude, draw=self.draw_parameters)
        for column in beside:
            group.add(column, column.variable.values[rows])
        for j, column in enumerate(columns):
            missing = column.variable.missing[rows]
            lacks = group.lacking(missing, rng) if column.gaps else missing
            present, here = np.flatnonzero(~missing), np.flatnonzero(~lacks)
            new[j][rows] = drawn[j][rows] = np.nan if column.variable.continuous else -1
            if here.size:
                draws, released = group.values(column, present, here, rng)
                drawn[j][rows[here]], new[j][rows[here]] = draws, released
            group.add(column, new[j][rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """Data of a group's regressions: the columns so far, of the original records and of the new ones."""

    rows: Longs  # Shape (s,); the group's records
    # exclude, draw: as of the method: whether rules are kept, and whether coefficients are drawn
    exclude: bool
    draw: bool
    # fitted, applied: the predictors that the columns so far make, of the original records and of the new ones
    fitted: list[Floats] = field(default_factory=list)
    applied: list[Floats] = field(default_factory=list)
    # before, after: the same columns as rules see them
    before: list[Feature] = field(default_factory=list)
    after: list[Floats] = field(default_factory=list)

    def add(self, column: "_Column", new: Floats | Ints) -> None:
        """A column is there: the original's cells in the group, and the new ones."""
        values = column.variable.values[self.rows]
        place = column.predictor(values)
        self.fitted.append(place(values))
        self.applied.append(place(new))
        if column.gaps and column.variable.continuous:
            self._add_kind(np.isnan(values), np.isnan(new))
        self.before.append(column.feature(values))
        self.after.append(column.feature(new).values)

    def _add_kind(self, missing: Bools, lacks: Bools) -> None:
        self.before.append(Feature(values=missing.astype(np.float64), levels=2))
        self.after.append(lacks.astype(np.float64))

    def lacking(self, missing: Bools, rng: Generator) -> Bools:
        """Shape (s,); which new records lack a cell that these original ones lack.

        By the estimated coefficients: drawn ones would, where few cells are missing, make many more so.
        """
        everyone = np.arange(len(self.rows))
        free = self._rules(Feature(values=missing.astype(np.float64), levels=2)).allowed(self.after, everyone)
        x, at = self._designs(everyone, everyone)
        return np.asarray(_logistic(x, ints(missing), at, False, free, rng) == 1)

    def values(
        self, column: "_Column", rows: Longs, here: Longs, rng: Generator
    ) -> tuple[Floats | Ints, Floats | Ints]:
        """Shape (h,) each; values of the new records `here` from a regression on those with a known cell, as drawn
        and as released."""
        values = column.variable.values[self.rows]
        rules = self._rules(column.feature(values))
        x, at = self._designs(rows, here)
        own = values[rows]
        if not column.variable.continuous:
            codes = _logistic(x, own, at, self.draw, rules.allowed(self.after, here), rng)
            return codes, codes
        draws = column.margin.back(_linear(x, column.margin.there(own), at, self.draw, rng))
        limits = column.support.limits(own[None, :, None])
        zeros = np.rint(limits.zeros * (len(here) / len(rows))).astype(np.int64)
        inside = column.support.project(draws[None, :, None], replace(limits, zeros=zeros), last=True)[0, :, 0]
        return draws, np.clip(inside, *rules.bounds(self.after, here))

    def _rules(self, own: Feature) -> Exclusions:
        return Exclusions.of(own, self.before) if self.exclude else Exclusions(pairs={}, ranges={}, levels=own.levels)

    def _designs(self, rows: Longs, here: Longs) -> tuple[Floats, Floats]:
        """The predictors of some original and of some new records, with a column of ones."""
        ones = np.ones((len(self.rows), 1))
        return np.hstack([ones[rows], *(x[rows] for x in self.fitted)]), np.hstack(
            [ones[here], *(x[here] for x in self.applied)]
        )


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
        cells = variable.values[~variable.missing]
        return cls(
            variable=variable,
            margin=margin(cells, kind, variable.name),
            support=Support.of(cells[:, None].astype(np.float64) if len(cells) else np.zeros((1, 1)), rules),
        )

    @property
    def gaps(self) -> bool:
        """True if a cell of it is missing, in any group."""
        return bool(self.variable.missing.any())

    def feature(self, values: Floats | Ints) -> Feature:
        """Its values (n,), as structural zeros are looked for; a missing one among categories is a category."""
        if self.variable.continuous:
            return Feature(values=values.astype(np.float64), levels=0)
        count = len(self.variable.categories)
        return Feature(values=np.where(values < 0, count, values).astype(np.float64), levels=count + self.gaps)

    @property
    def width(self) -> int:
        """Number of columns as a predictor."""
        return (len(self.variable.categories) - 1 if self.variable.level == "nominal" else 1) + self.gaps

    def predictor(self, values: Floats | Ints) -> Any:
        """The map of values to predictor columns, standardised by those of the group: (n,) to (n, width).

        Missing values are at the mean, and an indicator says that they are missing.
        """
        missing = np.isnan if self.variable.continuous else (lambda codes: codes < 0)
        cells = values[~missing(values)]
        if self.variable.level == "nominal":
            present = np.unique(cells)[1:]
            return self._with_gaps(missing, lambda codes: (codes[:, None] == present).astype(np.float64))
        there: Any = self.margin.there if self.variable.continuous else (lambda x: x.astype(np.float64))
        placed = there(cells)
        centre, spread = (float(placed.mean()), float(placed.std())) if len(placed) else (0.0, 0.0)
        spread = spread if len(placed) and spread > NEGLIGIBLE * np.abs(placed).max() else 0.0

        def scores(x: Floats | Ints) -> Floats:
            gaps, out = missing(x), np.zeros(len(x))
            if spread:
                out[~gaps] = (there(x[~gaps]) - centre) / spread
            return out[:, None]

        return self._with_gaps(missing, scores)

    def _with_gaps(self, missing: Any, scores: Any) -> Any:
        if not self.gaps:
            return scores
        return lambda x: np.column_stack([scores(x), missing(x).astype(np.float64)])


def _dimensions(partition: Partition, columns: list[_Column]) -> Longs:
    """Shape (G,); one less than the records of each group, or than the known cells of a number that has some there."""
    least = partition.sizes
    for column in columns:
        if column.variable.continuous and column.gaps:
            counts = np.bincount(partition.labels, weights=~column.variable.missing).astype(np.int64)
            least = np.where(counts > 0, np.minimum(least, counts), least)
    return np.asarray(least - 1)


def _largest_linear(beside: list[_Column], columns: list[_Column]) -> int:
    """Coefficients of the largest linear regression; 1 where no column is continuous."""
    width, largest = 1 + sum(column.width for column in beside), 1
    for column in columns:
        if column.variable.continuous:
            largest = width
        width += column.width
    return largest


def _linear(x: Floats, y: Floats, at: Floats, draw: bool, rng: Generator) -> Floats:
    """Draws of y at the rows of `at` from the normal linear regression of y on x."""
    model = LinearRegression.of(x, y)
    return (model.drawn(rng) if draw else model).values(at, rng)


def _logistic(x: Floats, codes: Ints, at: Floats, draw: bool, free: Bools, rng: Generator) -> Ints:
    """Draws of a category at the rows of `at`, of those that the group holds and `free` allows."""
    model = Logistic.of(x, codes)
    return (model.drawn(rng) if draw else model).values(at, free, rng)


def _facts(
    columns: list[_Column], drawn: list[Any], new: list[Any], partition: Partition, groups: Partition
) -> dict[str, Fact]:
    variables = [column.variable for column in columns]
    numeric = [j for j, variable in enumerate(variables) if variable.continuous and not variable.missing.all()]
    facts: dict[str, Fact] = {
        "groups": Count(n=groups.n_groups, unit="groups"),
        "groups merged because too small": Count(n=partition.n_groups - groups.n_groups, unit="groups"),
    }
    if numeric:
        x, after = (np.column_stack([table[j] for j in numeric]) for table in ([v.values for v in variables], new))
        names = tuple(variables[j].name for j in numeric)
        support = Support.of(x, ())
        facts |= account(x, after, np.empty((len(x), 0)), groups, names)
        facts["values as drawn"] = OfOriginal(support.violations(np.column_stack([drawn[j] for j in numeric])))
        facts["values as released"] = OfOriginal(support.violations(after))
    return facts
