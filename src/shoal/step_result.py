"""What a step of a plan hands on: the records as they are now, and what is to be known of how they came about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.kernels.arrays import Longs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouping:
    """Columns that were replaced inside the groups of a partition.

    Parameters
    ----------
    partition
        The groups.
    rows
        Shape (n,); row numbers, in the table that came in, of the records that the partition divides.
    """

    columns: tuple[str, ...]
    partition: Partition
    rows: Longs

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
    """

    records: Records
    facts: Mapping[str, Any] = field(default_factory=dict)
    grouping: Grouping | None = None
    masked: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """Columns that the step masked or replaced."""
        return self.masked + (self.grouping.columns if self.grouping else ())
