"""k-Anonymity-first, t-closeness-aware microaggregation (Soria-Comas et al. 2015, Algorithm 2)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.groups import Progress
from shoal.kernels.arrays import Ints
from shoal.kernels.guarded import Partner, k_anonymity_first, merge_groups
from shoal.methods import method
from shoal.partition.guarded import Demand, TClose
from shoal.records import Records


@method("k-anonymity-first", title="k-anonymity-first", source="Soria-Comas et al. (2015), Algorithm 2")
class KAnonymityFirst(TClose):
    """Groups as in MDAV, whose members give way to others until the group is t-close.

    A group begins as the k records nearest to its seed. While its distance from the table exceeds t, the
    nearest candidate outside takes the place of the member whose replacement brings the distance lowest, if
    that is lower; each candidate is tried once for a group. Groups that end above t are merged as in
    Algorithm 1.

    Parameters
    ----------
    partner
        What a group above t is merged with: the "nearest", the "cheapest" or the "farthest" group, as for
        tcloseness-merge.
    """

    partner: Partner = "nearest"

    def divide(
        self, records: Records, demand: Demand, rng: np.random.Generator, progress: Progress
    ) -> tuple[Ints, Mapping[str, Any]]:
        x = records.matrix()
        labels = k_anonymity_first(x, demand.guard, self.k, progress)
        merged, merges = merge_groups(x, demand.guard, labels, self.k, partner=self.partner)
        return merged, {"groups merged": merges}
