"""MDAV, the maximum distance to average vector heuristic."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from shoal.groups import Partition, Progress
from shoal.kernels.mdav import mdav
from shoal.methods import method
from shoal.partition.partitioner import Partitioner
from shoal.records import Records


@method("mdav", title="MDAV", source="Domingo-Ferrer & Torra (2005), MDAV-generic")
class MDAV(Partitioner):
    """Groups of k to 2k - 1 records around the records farthest from the average.

    While 3k or more records remain: the record farthest from their average and its k - 1 nearest make a
    group, then the record farthest from that one and its k - 1 nearest. Of 2k to 3k - 1 remaining records
    one more group is taken, and the rest is the last group. Ties go to the lowest row. The result is exact
    and does not depend on seeds, threads or instruction sets.

    Parameters
    ----------
    k
        Smallest group size.
    """

    k: Annotated[int, Ge(1)]

    def assign(self, records: Records, rng: np.random.Generator, progress: Progress) -> Partition:
        return Partition(labels=mdav(records.matrix(), self.k, progress=progress))
