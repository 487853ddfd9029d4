"""Shifted dates: one secret number of days for all dates of a person."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Floats, Generator, Longs, Progress, Records, StepResult, Variable
from shoal.vocabulary.facts import Facts
from shoal.vocabulary.prelude import Count, DataError, Ge, ParameterError, Refused, Setting, method, plural

DAY = {"date": 1.0, None: 1.0, "datetime": 86_400e6}
"""A day in the units of dates, of plain numbers, which count days, and of times."""


@method("shift-dates", title="Shifting of dates", source="Hripcsak et al. (2016)", example={"most": 30})
class ShiftDates(Mask):
    """Moves all dates of a person by one secret number of days, so that intervals and their order stay exact.

    The days are drawn for each person by itself, uniformly among those that are allowed. They are the same in all
    columns of the step, and are written down nowhere. Season and, unless whole weeks are asked for, day of the week are
    lost. Whoever knows one date of a person finds out all others: the step hides when, not what. Plain numbers count
    days. In a table without a person column each record is a person.

    Parameters
    ----------
    most
        Largest shift, in days, forward or back.
    weeks
        Shift by whole weeks, so that days of the week stay.
    earliest, latest
        Days, as 2020-01-31, that no date passes by its shift. A person whose dates leave no room is not shifted, and
        counted.
    """

    scales = "memory"

    most: Annotated[int, Ge(1), Setting()]
    weeks: bool = False
    earliest: Annotated[str | None, Setting()] = None
    latest: Annotated[str | None, Setting()] = None

    def __post_init__(self) -> None:
        if self.weeks and self.most < 7:
            raise ParameterError(f"shift-dates: most must be at least 7 days for whole weeks; got {self.most}.")
        if self._day("earliest") > self._day("latest"):
            raise ParameterError("shift-dates: earliest must not be after latest. Exchange them.")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        persons = records.unit_numbers("person")
        if persons is None:
            persons = np.arange(len(records))
        if nobody := int((persons < 0).sum()):
            raise DataError(
                f"shift-dates: {plural(nobody, 'record')} without a person. Set missing: drop for that column."
            )
        persons = np.unique(persons, return_inverse=True)[1]
        days, facts = self.shifts([(records[name], persons) for name in columns], rng)
        return StepResult(records=self.moved(records, columns, days[persons]), facts=facts)

    def shifts(self, dates: Sequence[tuple[Variable, Longs]], rng: Generator) -> tuple[Floats, Facts]:
        """Shape (p,); the days by which the dates of each person move, and facts about them.

        `dates`: columns of dates, of one table or several, each with the number of the person of every record.
        """
        if not dates:
            raise DataError("shift-dates: no column is to be moved. Name columns of dates under 'columns'.")
        low, high = self._limits([(_checked(column), persons) for column, persons in dates])
        step = 7 if self.weeks else 1
        lowest, highest = np.ceil(low / step), np.floor(high / step)
        drawn = lowest + np.floor(rng.random(len(low)) * (highest - lowest + 1))
        fixed = Count(n=int((lowest == highest).sum()), unit="persons")
        return drawn * step, {"persons": Count(n=len(low), unit="persons"), "persons without room for a shift": fixed}

    def moved(self, records: Records, columns: Sequence[str], days: Floats) -> Records:
        """The records with the dates of some columns moved; `days`, shape (n,), by how much."""
        dates = [_checked(records[name]) for name in columns]
        return records.with_variables(*(c.with_values(c.values + days * DAY[c.unit]) for c in dates))

    def _limits(self, dates: Sequence[tuple[Variable, Longs]]) -> tuple[Floats, Floats]:
        """Shapes (p,); the least and the largest shift of each person, in days."""
        count = 1 + max(int(persons.max(initial=-1)) for _, persons in dates)
        first, last = np.full(count, np.inf), np.full(count, -np.inf)
        for column, persons in dates:
            there = ~column.missing
            days = np.floor(column.values[there] / DAY[column.unit])
            np.minimum.at(first, persons[there], days)
            np.maximum.at(last, persons[there], days)
        if outside := int(((first < self._day("earliest")) | (last > self._day("latest"))).sum()):
            raise Refused(
                f"shift-dates: {plural(outside, 'person')} {'has' if outside == 1 else 'have'} dates before earliest "
                f"or after latest. Widen these bounds, or leave the records out."
            )
        low = np.maximum(self._day("earliest") - first, -float(self.most))
        return low, np.minimum(self._day("latest") - last, float(self.most))

    def _day(self, name: str) -> float:
        """A bound in days since 1970; infinite where it is not given."""
        text = self.earliest if name == "earliest" else self.latest
        if text is None:
            return -np.inf if name == "earliest" else np.inf
        try:
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        except ValueError:
            raise ParameterError(f"shift-dates: {name} must be a day such as 2020-01-31; got {text!r}.") from None


def _checked(column: Variable) -> Variable:
    if not column.continuous or column.unit not in DAY:
        raise DataError(
            f"Column '{column.name}' holds no dates, so shift-dates cannot move it. Leave it out of the step's "
            f"columns, or read it as dates."
        )
    return column
