"""Result of one step of a plan: the changed records and the facts recorded about the change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from shoal.kernels.arrays import Longs
from shoal.table.partition import Partition, meet
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.facts import ByColumn, ByLabel, Facts, Nested, private_form

Dealing = Literal["drawn", "columns", "records"]
"""Ways of dealing cells out anew inside groups: new ones are drawn from what the group has in common, each column's own
cells change places by an order of its own, or those of a record change places together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """Dependencies of a step, declared by its methods before any record is looked at."""

    columns: tuple[str, ...]  # Columns that the step changes
    # Columns whose cells decide on the groups, on the new cells or on which records stay; None where any may
    reads: frozenset[str] | None
    dealing: Dealing | None = None  # How the cells of `columns` are dealt out anew; None if they are not


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouping:
    """Columns that were replaced inside the groups of a partition."""

    columns: tuple[str, ...]
    partition: Partition  # The groups
    rows: Longs  # Shape (n,); row numbers, in the table that came in, of the records that the partition divides
    # True if the columns were dealt out anew: given the rest of the table, the new cells would have been as likely for
    # any other order of a group's records, so that a record's place in its group says nothing of what it was
    exchangeable: bool = False

    def among(self, rows: Longs) -> Partition:
        """The partition of those of its records that are left, in their order."""
        if len(rows) == len(self.rows) and (rows == self.rows).all():
            return self.partition
        place = np.full(int(self.rows.max()) + 1, -1)
        place[self.rows] = np.arange(len(self.rows))
        return Partition.of(self.partition.labels[place[rows]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepResult:
    """The outcome of a step, a replacement, a mask or a repair."""

    records: Records  # All records and columns after the step
    facts: Facts = field(default_factory=dict)  # What it has to tell (see `shoal.vocabulary.facts`); no cell's value
    # The columns that were replaced inside groups, and these groups; None where there were none
    grouping: Grouping | None = None
    masked: tuple[str, ...] = ()  # The columns that were masked one record at a time
    # Of the columns that were changed, the continuous ones whose cells are averages now, with digits that no cell that
    # came in had
    averaged: tuple[str, ...] = ()
    cuts: ByLabel = field(default_factory=dict)  # For the private record alone: where the table was cut into blocks

    @classmethod
    def by_column(
        cls,
        records: Records,
        columns: Iterable[tuple[Variable, Facts]],
        facts: Facts | None = None,
        averaged: tuple[str, ...] = (),
    ) -> Self:
        """The outcome of changing columns one by one, each given with what it has to tell, beside facts of all."""
        changed = list(columns)
        of_columns = ByColumn({variable.name: Nested(of_column) for variable, of_column in changed})
        return cls(
            records=records.with_variables(*(variable for variable, _ in changed)),
            facts={**(facts or {}), "by column": of_columns},
            averaged=averaged,
        )

    @property
    def details(self) -> ByLabel:
        """The facts as they are; private."""
        return private_form(self.facts)

    @property
    def changed(self) -> tuple[str, ...]:
        """Columns that the step masked or replaced."""
        return self.masked + (self.grouping.columns if self.grouping else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAccount:
    """Account of one step."""

    step: str  # The names of its methods
    columns: tuple[str, ...]  # The columns that it changed
    facts: Facts  # What it has to tell, as facts that know how they may be shown
    place: int | None = None  # Which of the plan's steps it is, from 0; None for what every plan does


def last_partition(results: Sequence[StepResult], rows: Longs) -> Partition | None:
    """The groups of the last step that formed any, for the records that are still there, in their order.

    `rows`, shape (n,): row numbers, in the table that came in, of the records that are left.
    """
    groupings = [result.grouping for result in results if result.grouping is not None]
    return groupings[-1].among(rows) if groupings else None


def groups_by_column(results: Sequence[StepResult], rows: Longs) -> dict[str, Partition]:
    """For each column that a step changed, the groups inside which it was replaced; `rows` as for `last_partition`.

    Those of a column that several steps replaced are the records that stayed together in all of them; those of a
    column that masks alone changed, or a replacement that does not deal its cells out anew, are of one record each.
    """
    inside: dict[str, list[Partition]] = {}
    alone = Partition(labels=np.arange(len(rows), dtype=np.int32))
    for result in results:
        if result.grouping is not None:
            here = result.grouping.among(rows) if result.grouping.exchangeable else alone
            for name in result.grouping.columns:
                inside.setdefault(name, []).append(here)
    masked = {name for result in results for name in result.masked}
    return dict.fromkeys(sorted(masked), alone) | {name: meet(parts) for name, parts in inside.items()}
