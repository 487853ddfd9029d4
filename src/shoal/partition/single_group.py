"""The whole table as one group."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.methods import Scales, method
from shoal.partition.base import Partitioner


@method("whole", title="The whole table as one group", source="Domingo-Ferrer & Gonzalez-Nicolas (2010), k = n")
class Whole(Partitioner):
    """One group of all records: what is replaced inside it is fully synthetic (k = n).

    With strata, one group a stratum.
    """

    scales: ClassVar[Scales] = "memory"
    one_group: ClassVar[bool] = True

    def assign(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress
    ) -> Partition:
        return Partition(labels=np.zeros(len(records), dtype=np.int32))
