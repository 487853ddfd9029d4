"""Suppression of whole records."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le

from shoal.data.partition import Progress
from shoal.data.records import MissingCells, Records
from shoal.errors import Refused
from shoal.facts import Count, Share
from shoal.mask.base import Mask
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.step_result import StepResult


@method(
    "suppress-records",
    title="Suppression of records",
    source="Samarati (2001)",
    example={"k": 3, "limit": 1},
    example_columns=("sex",),
)
class SuppressRecords(Mask):
    """Drops the records that share the step's columns with fewer than k records, up to a limit.

    Under `wildcard` a record dropped may leave others with too few matches; they are dropped in turn until
    all that are left reach k.

    Parameters
    ----------
    k
        Records that must share the columns.
    limit
        Largest share of the records that may be dropped; if more would have to be, nothing is released.
    missing
        What a missing cell matches: another missing cell, everything, or nothing.
    """

    scales: ClassVar[Scales] = "memory"

    k: Annotated[int, Ge(1)]
    limit: Annotated[float, Ge(0), Le(1), Setting()]
    missing: MissingCells = "equal"

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        left = records
        while len(left):
            kept = left.matching(columns, self.missing) >= self.k
            if kept.all():
                break
            left = left.take(kept)
        dropped = len(records) - len(left)
        if dropped > self.limit * len(records) * (1 + 1e-12):
            raise Refused(
                f"suppress-records would have to drop {dropped:,} of {len(records):,} records to reach k = {self.k}, "
                f"more than the limit of {self.limit:g}. Raise the limit, or recode first."
            )
        influence = None if self.missing == "wildcard" else float(self.k)
        of_share = None if influence is None or len(records) < 2 else influence / (len(records) - 1)
        facts = {
            "records dropped": Count(n=dropped, influence=influence),
            "share": Share(value=dropped / max(len(records), 1), influence=of_share),
        }
        return StepResult(records=left, facts=facts)
