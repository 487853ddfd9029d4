"""k-Anonymity-first, t-closeness-aware microaggregation (Soria-Comas et al. 2015, Algorithm 2)."""

from collections.abc import Sequence

from shoal.kernels.arrays import Partner
from shoal.kernels.requirement import k_anonymity_first, merge_groups
from shoal.partition._requirement.closeness import TClose
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Progress, Records
from shoal.vocabulary.prelude import Count, Facts, method


@method(
    "k-anonymity-first",
    title="k-anonymity-first",
    source="Soria-Comas et al. (2015), Algorithm 2",
    example={"k": 3, "t": 0.2},
)
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
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        points = Packed.of(records, columns)
        labels = k_anonymity_first(points.x, required.check, self.k, progress, coding=points.coding)
        merged, merges = merge_groups(
            points.x, required.check, labels, self.k, partner=self.partner, coding=points.coding
        )
        return merged, {"groups merged": Count(n=merges, unit="groups")}
