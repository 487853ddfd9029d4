"""The whole table as one group."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.partition.base import Partitioner
from shoal.table.prelude import Generator, Partition, Progress, Records
from shoal.vocabulary.prelude import OfPlan, method


@method("whole", title="The whole table as one group", source="Domingo-Ferrer & Gonzalez-Nicolas (2010), k = n")
class Whole(Partitioner):
    """One group of all records: what is replaced inside it is fully synthetic (k = n).

    With strata, one group a stratum. Cells may be missing, for nobody is compared with anybody.
    """

    scales = "memory"
    one_group = True

    def _units(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        """All records, whatever their cells hold and whoever shares a household with them."""
        self._check_size(len(records), where, "record")
        part = self.assign(records, columns, rng, progress)
        return part if records.households is None else replace(part, facts={"unit": OfPlan(records.unit)})

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        return Partition(labels=np.zeros(len(records), dtype=np.int32))
