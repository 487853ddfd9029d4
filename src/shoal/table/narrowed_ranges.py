"""Ranges of numbers narrowed down by arithmetic: what laws of the original leave of a generalised cell.

A range such as `[30, 39]` hides an age only as long as nothing else bounds it. A year of birth beside it gives the age
back; a decade of birth leaves `[25, 34]` of it, so that both together say `[30, 34]`. Nothing in the release shows the
law, since no age is left in it; but everybody knows it, so that a law of the original is enough.

Every column of a law is an interval in each record: a number itself, and a range from end to end. The computed column
is as wide as its rounding on either side. A line, a sum and a difference of intervals take their least and greatest
values at the ends, and so do products and ratios of positive ones. The result and the cell's own range are intersected,
and their ends moved to numbers written like the original's.

A law is used unless the release contradicts it: unless more of the intersections are empty than a law may have
exceptions. Ranges with an empty one stay as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from shoal.kernels.arrays import Bools, Floats
from shoal.table.arithmetic import ArithmeticLaw
from shoal.table.dependencies import EXCEPTIONS
from shoal.table.number_range import NumberRange
from shoal.table.numeric_cells import ROUNDING, numbers_in
from shoal.table.records import Records
from shoal.table.variable import Variable

POSITIVE_ONLY = "*/"
"""Operations whose extremes lie at the ends of intervals only where all numbers are positive."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Shape (n,) each; the ends of the interval that each cell stands for, NaN where it stands for none."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, variable: Variable, step: float) -> "Spans":
        """Numbers as they are, and ranges from their first number to their last, in multiples of a step if it is not 0.

        Where nothing bounds a range, its end is infinite.
        """
        numbers = numbers_in(variable)
        if variable.continuous:
            return cls(numbers, numbers)
        ends = [_ends(NumberRange.read(str(category)), step) for category in variable.categories]
        table = np.array([*ends, (np.nan, np.nan)])[variable.values]
        known = ~np.isnan(numbers)
        return cls(np.where(known, numbers, table[:, 0]), np.where(known, numbers, table[:, 1]))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        return self.low, self.high

    def widened(self, by: float) -> "Spans":
        return Spans(self.low - by, self.high + by)

    def on_grid(self, step: float) -> "Spans":
        """The first and last multiple of a step inside each interval; the intervals themselves if the step is 0."""
        if not step:
            return self
        return Spans(np.ceil(self.low / step - ROUNDING) * step, np.floor(self.high / step + ROUNDING) * step)


def generalised(released: Records, original: Records) -> list[str]:
    """Released columns with ranges, of which the original has numbers."""
    names = [v.name for v in released.variables if v.name in original and has_ranges(v)]
    return [name for name in names if not np.isnan(numbers_in(original[name])).all()]


def has_ranges(variable: Variable) -> bool:
    """True if some categories are ranges of numbers."""
    return not variable.continuous and any(NumberRange.read(str(c)) is not None for c in variable.categories)


def narrowed(records: Records, laws: Sequence[ArithmeticLaw]) -> tuple[Records, list[tuple[ArithmeticLaw, str, Bools]]]:
    """The records with ranges narrowed down by laws that have rounding steps.

    Returns the records (the same object if nothing becomes smaller), and for each law and column the mask of cells that
    it narrowed down.
    """
    smaller: list[tuple[ArithmeticLaw, str, Bools]] = []
    for law in laws:
        for name, step in zip(law.columns, law.steps or ()):
            if not has_ranges(records[name]):
                continue
            own, left = Spans.of(records[name], step), _left_by(law, name, records).on_grid(step)
            with np.errstate(invalid="ignore"):
                both = Spans(np.maximum(own.low, left.low), np.minimum(own.high, left.high))
                empty, rows = both.low > both.high, (both.low > own.low) | (both.high < own.high)
            compared = int((~np.isnan(both.low)).sum())
            if (rows & ~empty).any() and int(empty.sum()) <= (0 if law.exact else EXCEPTIONS[False] * compared):
                rows &= ~empty
                ends = zip(both.low[rows].tolist(), both.high[rows].tolist())
                records = records.with_variables(_with_labels(records[name], rows, map(_label, ends)))
                smaller.append((law, name, rows))
    return records, smaller


def _left_by(law: ArithmeticLaw, name: str, records: Records) -> Spans:
    """The interval in which a law leaves a column, by the intervals of its others; NaN where it tells nothing."""
    steps = dict(zip(law.columns, law.steps or ()))
    spans = {other: Spans.of(records[other], steps[other]) for other in law.others(name)}
    if law.on in spans:
        spans[law.on] = spans[law.on].widened(steps[law.on] / 2)
    unknown = np.full(len(records), np.nan)
    with np.errstate(all="ignore"):
        corners = [
            law.solved(name, {law.on: unknown, **dict(zip(spans, ends))})[0]
            for ends in product(*(span.ends for span in spans.values()))
        ]
        left = Spans(np.minimum.reduce(corners), np.maximum.reduce(corners))
        if law.operation in POSITIVE_ONLY:
            positive = np.logical_and.reduce([span.low > 0 for span in spans.values()])
            left = Spans(*(np.where(positive, end, np.nan) for end in left.ends))
    return left.widened(steps[law.on] / 2) if name == law.on else left


def _ends(span: NumberRange | None, step: float) -> tuple[float, float]:
    """The first and last multiple of a step in a range, or its ends if the step is 0; NaN for no range."""
    if span is None:
        return np.nan, np.nan
    if not step:
        return span.low, span.high
    low, high = (float(end[0]) for end in Spans(np.array([span.low]), np.array([span.high])).on_grid(step).ends)
    near = ROUNDING * step
    return (
        low if span.with_low or low - span.low > near else low + step,
        high if span.with_high or span.high - high > near else high - step,
    )


def _label(ends: tuple[float, float]) -> str:
    low, high = (str(int(end)) if end == int(end) else str(end) for end in ends)
    return low if low == high else f"[{low}, {high}]"


def _with_labels(variable: Variable, rows: Bools, labels: Iterable[str]) -> Variable:
    """The column with other labels in some rows."""
    categories = list(variable.categories)
    place = {str(category): code for code, category in enumerate(categories)}
    values = variable.values.copy()
    codes = []
    for label in labels:
        if label not in place:
            place[label] = len(categories)
            categories.append(label)
        codes.append(place[label])
    values[rows] = codes
    return replace(variable, categories=tuple(categories)).filled_in(values, rows)
