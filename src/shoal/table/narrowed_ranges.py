"""Ranges of numbers narrowed down by arithmetic: what laws of the original leave of a generalised cell.

A range such as `[30, 39]` hides an age only as long as nothing else bounds it. A year of birth beside it gives the age
back; a decade of birth leaves `[25, 34]` of it, so that both together say `[30, 34]`. Nothing in the release shows the
law, since no age is left in it; but everybody knows it, so that a law of the original is enough.

Every column of a law is an interval in each record: a number itself, a range from end to end, and the root of a
hierarchy, `*`, without any end. The computed column is as wide as its rounding on either side. A line, a sum, a
difference and a product of intervals take their least and greatest values at the ends, and so does a ratio unless the
divisor may be 0. The result and the cell's own range are intersected, and their ends moved to numbers written like the
original's.

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
from shoal.table.hierarchy_builders import ROOT
from shoal.table.number_range import NumberRange
from shoal.table.numeric_cells import DIGITS, ROUNDING, numbers_in
from shoal.table.records import Records
from shoal.table.variable import Variable

EVERYWHERE = NumberRange(low=-np.inf, high=np.inf, with_low=True, with_high=True)


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
        ends = [_ends(_range(str(category)), step) for category in variable.categories]
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
        low, high = self.low / step, self.high / step
        return Spans(np.ceil(low - _near(low, 1)) * step, np.floor(high + _near(high, 1)) * step)


def generalised(released: Records, original: Records) -> list[str]:
    """Released columns with ranges, of which the original has numbers."""
    names = [v.name for v in released.variables if v.name in original and has_ranges(v)]
    return [name for name in names if not np.isnan(numbers_in(original[name])).all()]


def has_ranges(variable: Variable) -> bool:
    """True if some categories are ranges of numbers."""
    return not variable.continuous and any(_range(str(c)) is not None for c in variable.categories)


def narrowed(
    records: Records, laws: Sequence[ArithmeticLaw], *, exceptions: bool = True
) -> tuple[Records, list[tuple[ArithmeticLaw, str, Bools]]]:
    """The records with ranges narrowed down by laws that have rounding steps.

    `exceptions`: laws may be wrong in a few records, whether they are in the original or not.

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
                low, high = both.low - _near(both.low, step), both.high + _near(both.high, step)
                empty, rows = low > both.high, (low > own.low) | (high < own.high)
            compared = int((~np.isnan(both.low)).sum())
            if (rows & ~empty).any() and int(empty.sum()) <= (EXCEPTIONS[False] * compared if exceptions else 0):
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
        left = Spans(np.fmin.reduce(corners), np.fmax.reduce(corners))  # 0 times infinity is 0, another corner
    if (divisor := _divisor(law, name)) is not None:
        anything = (spans[divisor].low <= 0) & (spans[divisor].high >= 0)
        left = Spans(np.where(anything, -np.inf, left.low), np.where(anything, np.inf, left.high))
    return left.widened(steps[law.on] / 2) if name == law.on else left


def _divisor(law: ArithmeticLaw, name: str) -> str | None:
    """The column that is divided by to compute another one; None if none is."""
    if law.operation == "*" and name != law.on:
        return law.by[name == law.by[0]]
    if law.operation == "/" and name != law.by[0]:
        return law.by[1] if name == law.on else law.on
    return None


def _range(label: str) -> NumberRange | None:
    return EVERYWHERE if label == ROOT else NumberRange.read(label)


def _near(numbers: Floats, step: float) -> Floats:
    """Shape (n,); largest distance that is put down to the arithmetic of a computer."""
    return np.asarray(np.where(np.isfinite(numbers), np.maximum(ROUNDING * step, DIGITS * np.abs(numbers)), 0))


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
    """The label of a number, or of a range that is bounded on one side at least."""
    low, high = (f"{end + 0.0:.15g}" for end in ends)
    if low == high:
        return low
    if np.isinf(ends).any():
        return f"<= {high}" if np.isinf(ends[0]) else f">= {low}"
    return f"[{low}, {high}]"


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
