"""The result of a step of a plan: the changed records and the recorded facts."""

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
"""Ways of redistributing cells inside groups.

`drawn`: new cells are drawn from the group's distribution; `columns`: each column is permuted by itself; `records`: the
cells of a record move together.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """Dependencies of a step, declared by its methods before any record is looked at."""

    columns: tuple[str, ...]  # Columns that the step changes
    # Columns whose cells decide the groups, the new cells or the records that stay; None if any column may
    reads: frozenset[str] | None
    dealing: Dealing | None = None  # How the cells of `columns` are redistributed; None if they are not


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouping:
    """Columns that were replaced within the groups of a partition."""

    columns: tuple[str, ...]
    partition: Partition  # The groups
    rows: Longs  # Shape (n,); row numbers in the original table of the records that the partition divides
    # True if the columns were redistributed: given the rest of the table, the new cells would have been as likely for
    # any other order of a group's records, so that a record's position in its group reveals nothing of its old cells
    exchangeable: bool = False

    def among(self, rows: Longs) -> Partition:
        """The partition restricted to the remaining records, in their order."""
        if len(rows) == len(self.rows) and (rows == self.rows).all():
            return self.partition
        place = np.full(int(self.rows.max()) + 1, -1)
        place[self.rows] = np.arange(len(self.rows))
        return Partition.of(self.partition.labels[place[rows]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepResult:
    """The outcome of a step, a replacement, a mask or a repair."""

    records: Records  # All records and columns after the step
    facts: Facts = field(default_factory=dict)  # Recorded facts (see `shoal.vocabulary.facts`); no cell's value
    # The columns that were replaced within groups, and these groups; None if there are none
    grouping: Grouping | None = None
    masked: tuple[str, ...] = ()  # The columns that were masked one record at a time
    # Changed continuous columns whose cells are now averages, with digits that no original cell had
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
        """The outcome of changing columns one by one, each with its own facts, besides facts about the whole step."""
        changed = list(columns)
        of_columns = ByColumn({variable.name: Nested(of_column) for variable, of_column in changed})
        return cls(
            records=records.with_variables(*(variable for variable, _ in changed)),
            facts={**(facts or {}), "by column": of_columns},
            averaged=averaged,
        )

    @property
    def details(self) -> ByLabel:
        """The facts in their private form."""
        return private_form(self.facts)

    @property
    def changed(self) -> tuple[str, ...]:
        """Columns that the step masked or replaced."""
        return self.masked + (self.grouping.columns if self.grouping else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAccount:
    """Record of one step."""

    step: str  # The names of its methods
    columns: tuple[str, ...]  # The columns that it changed
    facts: Facts  # The recorded facts, each with its rule of publication
    place: int | None = None  # Number of the step in the plan, from 0; None for work that is part of every plan


def last_partition(results: Sequence[StepResult], rows: Longs) -> Partition | None:
    """The groups of the last step that formed any, restricted to the remaining records in their order.

    `rows`, shape (n,): row numbers in the original table of the remaining records.
    """
    groupings = [result.grouping for result in results if result.grouping is not None]
    return groupings[-1].among(rows) if groupings else None


def groups_by_column(results: Sequence[StepResult], rows: Longs) -> dict[str, Partition]:
    """For each changed column, the groups within which it was replaced; `rows` as for `last_partition`.

    For a column that several steps replaced, the groups are the records that stayed together in all of them. For one
    that only masks changed, or a replacement that does not redistribute its cells, each record is a group.
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
