"""Global recoding: values become coarser in the same way throughout the table."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Annotated, Any, Literal

import numpy as np

from shoal.kernels.elementary import decade, exp, log
from shoal.mask.base import Mask
from shoal.table.dependencies import shares_of_household
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_builders import number_label
from shoal.table.prelude import Floats, Generator, Progress, Records, StepResult, Variable, ints
from shoal.vocabulary.errors import DataError, ParameterError, plural
from shoal.vocabulary.facts import Count, Facts, OfOriginal, OfPlan
from shoal.vocabulary.prelude import Ge, Gt, HoldsCells, method

Period = Literal["year", "quarter", "month", "week", "day"]

DAY = 86_400_000_000
"""Microseconds in a day."""

MOST_CUTS = 10_000
"""More intervals than this group no records in any table that is worth recoding, and fill the memory with labels."""

DIGITS = 3
"""Equal-width and log-spaced cut points are rounded to so many digits of the width, so that they do not spell
out the smallest and largest cell."""


@method("recode", title="Global recoding", source="Hundepool et al. (2012), section 3.2.2", example={"bins": 4})
class Recode(Mask):
    """Makes columns coarser in one of seven ways; exactly one is given.

    Intervals are closed below and open above, the outermost ones unbounded: `< 20`, `[20, 40)`, `>= 40`, so
    that labels do not tell the extremes. A recoded number becomes ordinal (or, with `to: mean`, stays a
    number). Missing cells stay missing.

    Parameters
    ----------
    cuts
        Cut points of a continuous column, ascending.
    bins
        A number of intervals of a continuous column, spaced as `spacing` says.
    width
        Intervals of this width, at multiples of it.
    level
        A level of the column's hierarchy: 0 is the value itself.
    groups
        For named categories: `{label: [category, ...]}`, where a code whose meaning the file tells (SPSS, Stata) can
        be named by either. Some of them may be absent, and the record says how many; a column that has none of them
        is refused.
    rare
        Categories of fewer than so many records are lumped together under `other`; if the lump is still
        smaller, the next rarest categories join it. Of a column that is the same throughout households, households
        are counted.
    period
        Dates are moved to the first day of their year, quarter, month, ISO week or day. Dates written as text
        (`2026-03-17`) are cut to the period (`2026-03`).
    prefix
        Codes keep so many leading characters, as in geographic codes; the rest become `*`.
    spacing
        For `bins`: `equal-width`, `equal-count`, or `log` (equal width on the logarithms of positive values; zeros are
        an interval of their own, which ends at a power of ten that is at most the smallest positive value).
    other
        Label of what `groups` does not name (left out: it stays as it is) and of the lump of `rare`.
    to
        Whether intervals are released as labels or as the mean of the values inside.
    weighted
        Sampling weights enter equal-count cut points and interval means.

    Notes
    -----
    Cut points are written in the record; equal-count ones lie midway between neighbouring values, so that none
    is a cell's value. Equal counts of tied values may leave fewer intervals than asked for. Where a column is the same
    throughout households, a household counts as one record in equal counts, means and counts of rare categories: one
    large family makes neither a cut point nor a category.
    """

    scales = "rows"
    reads_others = False
    sees_categories = True

    cuts: Annotated[tuple[float, ...] | None, HoldsCells()] = None
    bins: Annotated[int, Ge(2)] | None = None
    width: Annotated[Annotated[float, Gt(0)] | None, HoldsCells()] = None
    level: Annotated[int, Ge(0)] | None = None
    groups: Annotated[dict[str, tuple[str | int | float | bool, ...]] | None, HoldsCells()] = None
    rare: Annotated[int, Ge(2)] | None = None
    period: Period | None = None
    prefix: Annotated[int, Ge(0)] | None = None
    spacing: Literal["equal-width", "equal-count", "log"] = "equal-width"
    other: Annotated[str | None, HoldsCells()] = None
    to: Literal["label", "mean"] = "label"
    weighted: bool = False

    def __post_init__(self) -> None:
        ways = ("cuts", "bins", "width", "level", "groups", "rare", "period", "prefix")
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) != 1:
            raise ParameterError(f"recode needs exactly one of {', '.join(ways)}; got {', '.join(given) or 'none'}.")
        if self.cuts is not None and (not self.cuts or list(self.cuts) != sorted(set(self.cuts))):
            raise ParameterError("recode: cuts must be one or more different numbers in ascending order.")
        named = [category for categories in (self.groups or {}).values() for category in categories]
        if len(set(named)) < len(named):
            raise ParameterError("recode: groups must name every category once.")
        if self.to == "mean" and given[0] not in ("cuts", "bins", "width"):
            raise ParameterError(f"recode: to: mean is for intervals, and {given[0]} makes none; leave it out.")

    @property
    def whole_needed(self) -> str:
        if self.bins is not None or self.width is not None:
            return "intervals that reach over the range of a column; give cuts instead"
        if self.rare is not None:
            return "categories that are rare in the whole table; name them in groups instead"
        return "means of intervals; leave out to and weighted" if self.weighted or self.to == "mean" else ""

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        cuts = list(self.cuts or ())
        return tuple(_interval_label(cuts, i) for i in range(len(cuts) + 1)) if cuts else ()

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        weights = self.weights(records, self.weighted)

        def recoded(name: str) -> tuple[Variable, Facts]:
            shares = shares_of_household(records, name)
            counted = shares if weights is None else weights if shares is None else weights * shares
            return self._recoded(records[name], counted, shares)

        averaged = tuple(columns) if self.to == "mean" else ()
        return StepResult.by_column(records, map(recoded, columns), averaged=averaged)

    def _recoded(self, variable: Variable, weights: Floats | None, shares: Floats | None) -> tuple[Variable, Facts]:
        """One column recoded; its records count by `weights`, and by `shares` where households count as one."""
        if self.cuts is not None or self.bins is not None or self.width is not None:
            self._of_level(variable, True)
            if variable.unit is not None:
                raise DataError(f"Column '{variable.name}' holds dates or times; recode them with period.")
            cuts = self._cut_points(variable, weights)
            return _in_intervals(variable, cuts, weights, self.to), {"cut points": OfOriginal(cuts)}
        if self.period is not None and variable.continuous:
            if variable.unit not in ("date", "datetime"):
                raise DataError(f"Column '{variable.name}' holds no dates; recode with period needs a column of dates.")
            length = DAY if variable.unit == "datetime" else 1
            starts = _period_starts(variable.values, self.period, length)
            return variable.with_values(starts), {"period": OfPlan(self.period)}
        self._of_level(variable, False)
        if self.level is not None:
            new = _at_level(variable, self.level)
        elif self.rare is not None:
            new = _rare_lumped(variable, self.rare, self.other or "other", shares)
        else:
            new = _relabelled(variable, self._relabelling(variable))
        absent = self._absent(variable)
        # One record has one category, and one label; only the lump of rare ones depends on how many there are
        return new, {
            "values named that no record has": Count(n=absent, unit="values", influence=1),
            "categories before": Count(n=len(variable.categories), unit="categories", influence=1),
            "categories after": Count(
                n=len(new.categories), unit="categories", influence=None if self.rare is not None else 1
            ),
        }

    def _relabelling(self, variable: Variable) -> Callable[[Any], Any]:
        if self.prefix is not None:
            kept = self.prefix
            return lambda category: str(category)[:kept] + "*" * max(len(str(category)) - kept, 0)
        if self.period is not None:
            period = self.period
            return lambda category: _period_label(category, period, variable.name)
        label = self._labels_of_groups(variable)
        return lambda category: label.get(category, category if self.other is None else self.other)

    def _labels_of_groups(self, variable: Variable) -> dict[Any, str]:
        """For each category that a group names, by itself or by the label of a code, the group's label."""
        named = sum(map(len, (self.groups or {}).values()))
        if named and self._absent(variable) == named:
            raise ParameterError(
                f"recode: groups name {plural(named, 'value')}, and column '{variable.name}' has none of them. "
                f"Write them as they stand in the table{', or as their labels' if variable.labels else ''}."
            )
        label: dict[Any, str] = {}
        for name, members in (self.groups or {}).items():
            for code in (code for member in members for code in _codes_named(member, variable)):
                if label.setdefault(code, name) != name:
                    raise ParameterError(
                        f"recode: groups name a value of column '{variable.name}' by its code and by its label, in two "
                        f"groups. Name it once."
                    )
        return label

    def _absent(self, variable: Variable) -> int:
        """Number of values named in groups that no record has: in this month's file they need not all occur."""
        present = set(variable.categories)
        named = [value for values in (self.groups or {}).values() for value in values]
        return sum(present.isdisjoint(_codes_named(value, variable)) for value in named)

    def _cut_points(self, variable: Variable, weights: Floats | None) -> list[float]:
        present = variable.values[~variable.missing]
        if self.cuts is not None:
            return list(self.cuts)
        if not len(present) or present.min() == present.max():
            return []
        if self.width is not None:
            first, last = np.floor(present.min() / self.width) + 1, np.floor(present.max() / self.width)
            if last - first >= MOST_CUTS:
                raise DataError(
                    f"recode: intervals of this width would cut the range of '{variable.name}' more than "
                    f"{MOST_CUTS:,} times. Choose a larger width."
                )
            return [float(i * self.width) for i in range(int(first), int(last) + 1)]
        bins = int(self.bins or 2)
        if self.spacing == "equal-count":
            return _equal_counts(present, bins, None if weights is None else weights[~variable.missing])
        if self.spacing == "log":
            if present.min() < 0:
                raise DataError(
                    f"Column '{variable.name}' has values below 0, which have no logarithm. Use another spacing."
                )
            return _equal_on_logarithms(present, bins)
        width = (present.max() - present.min()) / bins
        return sorted({_tidy(float(present.min() + i * width), float(width)) for i in range(1, bins)})


def _tidy(cut: float, width: float) -> float:
    """A cut point rounded to DIGITS digits of the width."""
    return round(cut, DIGITS - 1 - int(decade(abs(width))))


def _equal_on_logarithms(present: Floats, bins: int) -> list[float]:
    """Cut points equally spaced on the logarithms of the positive values; zeros have an interval of their own."""
    positive = present[present > 0]
    if not len(positive):
        return []
    zeros = len(positive) < len(present)
    inner = exp(np.linspace(log(positive.min()), log(positive.max()), bins - zeros + 1))[1:-1]
    above_zero = {float(f"1e{int(decade(float(positive.min())))}")} if zeros else set[float]()
    return sorted(above_zero | {_tidy(float(cut), float(cut)) for cut in inner})


def _equal_counts(present: Floats, bins: int, weights: Floats | None) -> list[float]:
    """Cut points midway between the neighbouring values at the (weighted) quantiles."""
    values, place = np.unique(present, return_inverse=True)
    mass = np.cumsum(np.bincount(place, weights=weights))
    below = np.searchsorted(mass, np.arange(1, bins) / bins * mass[-1] * (1 - 1e-12), "left")
    below = np.unique(below[below < len(values) - 1])
    return [float(cut) for cut in values[below] + (values[below + 1] - values[below]) / 2]


def _in_intervals(variable: Variable, cuts: list[float], weights: Floats | None, to: str) -> Variable:
    codes = np.searchsorted(cuts, variable.values, "right")
    codes[variable.missing] = -1
    occurring, codes = np.unique(codes, return_inverse=True)
    if to == "mean":
        mass = np.ones(len(codes)) if weights is None else weights
        safe = np.where(variable.missing, 0.0, variable.values)
        with np.errstate(invalid="ignore"):
            means = np.bincount(codes, weights=safe * mass) / np.bincount(codes, weights=mass)
        return variable.with_values(np.where(variable.missing, np.nan, means[codes]))
    if len(occurring) and occurring[0] == -1:  # missing cells come first and keep the code -1
        occurring, codes = occurring[1:], codes - 1
    labels = tuple(_interval_label(cuts, int(i)) for i in occurring)
    return replace(variable, level="ordinal", values=ints(codes), categories=labels, scale="sd", hierarchy=None)


def _interval_label(cuts: Sequence[float], i: int) -> str:
    if not cuts:
        return "all"
    if i == 0:
        return f"< {number_label(cuts[0])}"
    if i == len(cuts):
        return f">= {number_label(cuts[-1])}"
    return f"[{number_label(cuts[i - 1])}, {number_label(cuts[i])})"


def _codes_named(value: Any, variable: Variable) -> list[Any]:
    """The categories that a value names: itself, or else the codes that have it as their label."""
    meant = [code for code, label in variable.labels.items() if label == value]
    return meant if meant and value not in variable.categories else [value]


def _relabelled(variable: Variable, label: Callable[[Any], Any]) -> Variable:
    """Categories under new labels; equal labels become one category, in the order of their first."""
    labels = [None if category is None else label(category) for category in variable.categories]
    categories = tuple(dict.fromkeys(labels))
    code = {category: i for i, category in enumerate(categories)}
    table = ints([*(code[text] for text in labels), -1])
    return replace(variable, values=table[variable.values], categories=categories, hierarchy=None)


def _at_level(variable: Variable, level: int) -> Variable:
    hierarchy = variable.hierarchy
    if hierarchy is None:
        raise DataError(f"Column '{variable.name}' has no hierarchy; recode with level needs one. Name it in the plan.")
    if level > hierarchy.height:
        raise ParameterError(
            f"recode: level must be in [0, {hierarchy.height}] for column '{variable.name}', whose "
            f"hierarchy has so many levels; got {level}."
        )
    if level == 0:
        return variable
    row = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
    new = _relabelled(variable, lambda category: hierarchy.paths[row[str(category)]][level])
    rest = tuple(dict.fromkeys(path[level:] for path in hierarchy.paths))
    return replace(new, hierarchy=Hierarchy(rest) if level < hierarchy.height else None)


def _rare_lumped(variable: Variable, least: int, label: str, shares: Floats | None) -> Variable:
    present = ~variable.missing
    counted = None if shares is None else shares[present]
    sizes = np.bincount(variable.values[present], weights=counted, minlength=len(variable.categories))
    counts = np.rint(sizes).astype(np.int64)  # shares of a third and the like add up to whole households
    order = [int(i) for i in np.argsort(counts, kind="stable") if counts[i]]
    lump, lumped_records = set(), 0
    for i in order:
        if counts[i] >= least and (lumped_records == 0 or lumped_records >= least):
            break
        lump.add(variable.categories[i])
        lumped_records += int(counts[i])
    return _relabelled(variable, lambda category: label if category in lump else category)


def _period_starts(values: Floats, period: Period, unit: int) -> Floats:
    """First day of the period since 1970, in the unit that came in."""
    days = np.floor(np.where(np.isnan(values), 0.0, values) / unit).astype(np.int64)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    starts = {
        "year": dates.astype("datetime64[Y]"),
        "quarter": months - months.astype(np.int64) % 3,
        "month": months,
        "week": dates - (days + 3) % 7,  # 1 January 1970 was a Thursday
        "day": dates,
    }[period].astype("datetime64[D]")
    return np.where(np.isnan(values), np.nan, starts.astype(np.int64).astype(np.float64) * unit)


def _period_label(category: Any, period: Period, column: str) -> str:
    try:
        day = category if isinstance(category, date) else datetime.fromisoformat(str(category))
    except ValueError:
        raise DataError(
            f"Column '{column}' has a category that is no ISO date (as 2026-03-17); recode with period needs dates."
        ) from None
    year, week, _ = day.isocalendar()
    return {
        "year": f"{day.year:04d}",
        "quarter": f"{day.year:04d}-Q{(day.month + 2) // 3}",
        "month": f"{day.year:04d}-{day.month:02d}",
        "week": f"{year:04d}-W{week:02d}",
        "day": f"{day.year:04d}-{day.month:02d}-{day.day:02d}",
    }[period]
