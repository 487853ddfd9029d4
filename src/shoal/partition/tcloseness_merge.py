"""t-closeness by merging the groups of any partition (Soria-Comas et al. 2015, Algorithm 1)."""

from collections.abc import Sequence
from typing import Annotated

from shoal.kernels.arrays import Partner
from shoal.kernels.requirement import merge_groups
from shoal.partition._requirement.closeness import TClose
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.partition.base import Partitioner
from shoal.partition.mdav import MDAV
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Progress, Records, part_of
from shoal.vocabulary.prelude import Count, Facts, Nested, method, nested


@method(
    "tcloseness-merge",
    title="t-closeness by merging",
    source="Soria-Comas et al. (2015), Algorithm 1",
    example={"k": 3, "t": 0.2},
)
class TClosenessMerge(TClose):
    """Groups of any partition, merged until each is t-close.

    While some group's distance from the table exceeds t, the group with the greatest distance is merged with
    the group whose centroid of quasi-identifiers is nearest. With several confidential columns the largest distance
    counts.

    Parameters
    ----------
    k
        Smallest group size. Groups of the start that are smaller are merged first.
    start
        The partition to start from; MDAV with the same k by default.
    partner
        What a group above t is merged with. "nearest": the group of the nearest centroid, as in the paper.
        "cheapest": the group that adds least to the within-group sum of squares for the excess over t that
        the union settles; it usually loses less information. "farthest": the group of the farthest centroid,
        which gives the smallest groups, at a loss near that of a single group.

    Notes
    -----
    Records with like quasi-identifiers tend to have like confidential values, so that with the nearest partner a
    union is often no closer to the table than its parts were, and one group grows until it is most of the table.
    """

    start: Annotated[Partitioner | None, nested("partition")] = None
    partner: Partner = "nearest"

    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        start = (self.start or MDAV(k=self.k)).assign(records, columns, rng, part_of(progress, 0.0, 0.5))
        points = Packed.of(records, columns)
        labels, merges = merge_groups(
            points.x,
            required.check,
            start.labels,
            self.k,
            part_of(progress, 0.5, 0.5),
            partner=self.partner,
            coding=points.coding,
        )
        return labels, {
            "start": Nested({"groups": Count(n=start.n_groups, unit="groups"), **start.facts}),
            "groups merged": Count(n=merges, unit="groups"),
        }
