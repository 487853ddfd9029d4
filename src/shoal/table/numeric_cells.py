"""Cells of a column read as numbers, whatever its level, and numbers written as cells.

A reader of a file sees numbers, days and years, even if the plan treats them as categories. Dates count days since
1970, and so do times and spans, with fractions. Texts count if they are numbers, or days such as `1984-05-01`.
"""

import math
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from shoal.kernels.arrays import Bools, Floats, floats
from shoal.kernels.elementary import power_of_ten
from shoal.table.variable import Variable

ROUNDING = 1e-9
"""Relative difference up to which two numbers count as equal."""

DIGITS = 1e-12
"""Relative difference from a whole number that float arithmetic may leave."""

LARGEST = 1e60
"""Largest absolute value of a number, and inverse of the smallest, whose products and squares stay finite."""

DAY = 86_400_000_000
"""Microseconds in a day."""

CLOCK = (DAY, DAY // 24, 60_000_000, 1_000_000, 1000, 1)
"""Rounding steps of times in microseconds."""

DECIMALS = range(-6, 10)
"""Decimals to which numbers may be rounded; -6 stands for millions."""

FIRST_DAY = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumericCells:
    """A column as numbers."""

    variable: Variable
    values: Floats  # Shape (n,); NaN for missing cells, and for those that are no numbers
    step: float  # Rounding step of all values: a power of ten, or a unit of time in days; 0 if there is none

    @classmethod
    def of(cls, variable: Variable, step: float | None = None) -> "NumericCells | None":
        """The numbers of a column; None if it has no two different ones.

        `step`: the column's rounding step, if known; the result is then None only for a column with cells none of which
        is a number.
        """
        values = numbers_in(variable)
        present = values[~np.isnan(values)]
        if step is not None:
            return cls(variable=variable, values=values, step=step) if len(present) or variable.missing.all() else None
        if not len(present) or (present == present[0]).all():
            return None
        return cls(variable=variable, values=values, step=_step(variable, np.unique(present)))

    @property
    def name(self) -> str:
        return self.variable.name

    @cached_property
    def present(self) -> Floats:
        """The distinct numbers, ascending."""
        return np.unique(self._known)

    @property
    def _known(self) -> Floats:
        return self.values[~np.isnan(self.values)]

    @cached_property
    def most(self) -> float:
        """The most frequent number; of several, the least."""
        values, counts = np.unique(self._known, return_counts=True)
        return float(values[counts.argmax()])

    @cached_property
    def deviation(self) -> float:
        """The standard deviation; identical on every machine."""
        count = max(len(self._known), 1)
        mean = math.fsum(self._known) / count
        return math.sqrt(math.fsum((self._known - mean) ** 2) / count)

    @property
    def half(self) -> float:
        """The largest distance at which two numbers are written alike."""
        largest = float(np.abs(self.present[[0, -1]]).max()) if len(self.present) else 0.0
        return max(self.step / 2 * (1 + ROUNDING), ROUNDING * largest)

    def on_grid(self, numbers: Floats) -> Floats:
        """Numbers rounded to the column's step; those within rounding error of a known value become that value."""
        if self.step:
            numbers = np.round(numbers / self.step) * self.step
        if not len(self.present):
            return numbers
        above = np.minimum(np.searchsorted(self.present, numbers), len(self.present) - 1)
        below = np.maximum(above - 1, 0)
        high, low = self.present[above], self.present[below]
        near = np.where(np.abs(high - numbers) < np.abs(low - numbers), high, low)
        return np.where(np.abs(near - numbers) <= ROUNDING * np.maximum(np.abs(near), self.step), near, numbers)

    def filled_in(self, cells: Bools, numbers: Floats) -> Variable:
        """The column with missing cells, mask of shape (n,), filled in by numbers; new categories are added."""
        numbers, values = self.on_grid(numbers), self.variable.values.copy()
        if self.variable.continuous:
            values[cells] = np.round(numbers * DAY) if self.variable.unit in ("datetime", "duration") else numbers
            return self.variable.filled_in(values, cells)
        categories = list(self.variable.categories)
        place = {number: code for code, number in enumerate(map(_number, categories)) if not math.isnan(number)}
        like = next((category for category in categories if not math.isnan(_number(category))), 0.0)
        for number in dict.fromkeys(numbers.tolist()):
            if number not in place:
                place[number] = len(categories)
                categories.append(_written(number, like, self.step))
        values[cells] = [place[number] for number in numbers.tolist()]
        return replace(self.variable, categories=tuple(categories)).filled_in(values, cells)


def numbers_in(variable: Variable) -> Floats:
    """Shape (n,); a column's cells as numbers, times in days; NaN for missing cells and cells that are no number."""
    if variable.continuous:
        values = floats(variable.values)
        values = values / DAY if variable.unit in ("datetime", "duration") else values
    else:
        values = np.append([_number(category) for category in variable.categories], np.nan)[variable.values]
    sizes = np.abs(values)
    computable = (sizes == 0) | ((sizes > 1 / LARGEST) & (sizes < LARGEST))
    return np.asarray(np.where(computable, values, np.nan))


def _number(cell: Any) -> float:
    """A category as a number; NaN if it is none."""
    if isinstance(cell, datetime):
        start = datetime(1970, 1, 1, tzinfo=UTC if cell.tzinfo else None)
        return (cell - start) / timedelta(days=1)
    if isinstance(cell, date):
        return float((cell - FIRST_DAY).days)
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal, str)):
        return math.nan
    try:
        number = float(cell)
    except (ValueError, OverflowError):
        return _day(cell) if isinstance(cell, str) else math.nan
    return number if math.isfinite(number) else math.nan


def _day(text: str) -> float:
    try:
        return float((date.fromisoformat(text) - FIRST_DAY).days)
    except ValueError:
        return math.nan


def _written(number: float, like: Any, step: float) -> Any:
    """A number as a category, in the form of a given category."""
    if isinstance(like, datetime):
        return datetime(1970, 1, 1, tzinfo=like.tzinfo) + timedelta(microseconds=round(number * DAY))
    if isinstance(like, date):
        return FIRST_DAY + timedelta(days=round(number))
    if isinstance(like, str):
        if not math.isnan(_day(like)) and "-" in like[1:]:
            return (FIRST_DAY + timedelta(days=round(number))).isoformat()
        return str(int(number)) if number == int(number) and "." not in like else str(number)
    return type(like)(number) if isinstance(like, float) or number == int(number) else number


def _step(variable: Variable, numbers: Floats) -> float:
    """The largest step of which all numbers are multiples."""
    if variable.unit in ("datetime", "duration") or any(isinstance(c, datetime) for c in variable.categories):
        whole = np.round(numbers * DAY)
        return next(unit for unit in CLOCK if not (whole % unit).any()) / DAY
    for places in DECIMALS:
        scaled = numbers / power_of_ten(-places) if places < 0 else numbers * power_of_ten(places)
        if (np.abs(scaled - np.round(scaled)) <= DIGITS * np.maximum(np.abs(scaled), 1)).all():
            return float(power_of_ten(-places))
    return 0.0
