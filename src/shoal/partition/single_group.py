"""The whole table as one group."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.facts import OfPlan
from shoal.methods import Scales, method
from shoal.partition.base import Partitioner


@method("whole", title="The whole table as one group", source="Domingo-Ferrer & Gonzalez-Nicolas (2010), k = n")
class Whole(Partitioner):
    """One group of all records: what is replaced inside it is fully synthetic (k = n).

    With strata, one group a stratum. Cells may be missing, for nobody is compared with anybody.
    """

    scales: ClassVar[Scales] = "memory"
    one_group: ClassVar[bool] = True

    def _units(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress, where: str
    ) -> Partition:
        """All records, whatever their cells hold and whoever shares a household with them."""
        self._check_size(len(records), where, "record")
        part = self.assign(records, columns, rng, progress)
        return part if records.households is None else replace(part, facts={"unit": OfPlan(records.unit)})

    def assign(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress
    ) -> Partition:
        return Partition(labels=np.zeros(len(records), dtype=np.int32))
