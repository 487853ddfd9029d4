"""What a step of a plan hands on: the records as they are now, and what is to be known of how they came about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from shoal.data.partition import Partition, meet
from shoal.data.records import Records
from shoal.facts import Facts, private_form
from shoal.kernels.arrays import Longs

Dealing = Literal["drawn", "columns", "records"]
"""How cells are dealt out anew inside groups: new ones are drawn from what the group has in common, each column's own
cells change places by an order of its own, or those of a record change places together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """What a step depends on, as its methods say it: what is known of it before any record is looked at.

    Parameters
    ----------
    columns
        Columns that the step changes.
    reads
        Columns whose cells decide on the groups, on the new cells or on which records stay; None where any may.
    dealing
        How the cells of `columns` are dealt out anew; None if they are not.
    """

    columns: tuple[str, ...]
    reads: frozenset[str] | None
    dealing: Dealing | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouping:
    """Columns that were replaced inside the groups of a partition.

    Parameters
    ----------
    partition
        The groups.
    rows
        Shape (n,); row numbers, in the table that came in, of the records that the partition divides.
    exchangeable
        Whether the columns were dealt out anew: given the rest of the table, the new cells would have been as likely
        for any other order of a group's records, so that a record's place in its group says nothing of what it was.
    """

    columns: tuple[str, ...]
    partition: Partition
    rows: Longs
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
    """The outcome of a step, a replacement, a mask or a repair.

    Parameters
    ----------
    records
        All records and columns after the step.
    facts
        What it has to tell (see `shoal.facts`); no cell's value.
    grouping
        The columns that were replaced inside groups, and these groups; None where there were none.
    masked
        The columns that were masked one record at a time.
    averaged
        Of the columns that were changed, the continuous ones whose cells are averages now, with digits that no cell
        that came in had.
    """

    records: Records
    facts: Facts = field(default_factory=dict)
    grouping: Grouping | None = None
    masked: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()

    @property
    def details(self) -> dict[str, Any]:
        """The facts as they are; private."""
        return private_form(self.facts)

    @property
    def changed(self) -> tuple[str, ...]:
        """Columns that the step masked or replaced."""
        return self.masked + (self.grouping.columns if self.grouping else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAccount:
    """What a step did.

    Parameters
    ----------
    step
        The names of its methods.
    columns
        The columns that it changed.
    facts
        What it has to tell, as facts that know how they may be shown.
    place
        Which of the plan's steps it is, from 0; None for what every plan does.
    """

    step: str
    columns: tuple[str, ...]
    facts: Facts
    place: int | None = None


def last_partition(results: Sequence[StepResult], rows: Longs) -> Partition | None:
    """The groups of the last step that formed any, for the records that are still there, in their order.

    Parameters
    ----------
    rows
        Shape (n,); row numbers, in the table that came in, of the records that are left.
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
