"""t-closeness by merging the groups of any partition (Soria-Comas et al. 2015, Algorithm 1)."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from shoal.groups import Progress
from shoal.kernels.arrays import Ints
from shoal.kernels.guarded import merge_groups
from shoal.methods import method, nested
from shoal.partition.guarded import Demand, TClose
from shoal.partition.mdav import MDAV
from shoal.partition.partitioner import Partitioner
from shoal.records import Records


@method("tcloseness-merge", title="t-closeness by merging", source="Soria-Comas et al. (2015), Algorithm 1")
class TClosenessMerge(TClose):
    """Groups of any partition, merged until each is t-close.

    While some group's distance from the table exceeds t, the group with the greatest distance is merged with
    the group whose centroid of quasi-identifiers is nearest. Distances are those of the privacy model
    t-closeness under `distinct`; with several confidential columns the largest counts.

    Parameters
    ----------
    k
        Smallest group size. Groups of the start that are smaller are merged first.
    start
        The partition to start from; MDAV with the same k by default.
    """

    start: Annotated[Partitioner | None, nested("partition")] = None

    def divide(
        self, records: Records, demand: Demand, rng: np.random.Generator, progress: Progress
    ) -> tuple[Ints, Mapping[str, Any]]:
        start = (self.start or MDAV(k=self.k)).assign(records, rng, None)
        labels, merges = merge_groups(records.matrix(), demand.guard, start.labels, self.k, progress)
        return labels, {"start": {"groups": start.n_groups, **start.facts}, "groups merged": merges}
