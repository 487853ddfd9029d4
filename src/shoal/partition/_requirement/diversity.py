"""Base of the partitions that make groups diverse: exchanges, merging and refinement."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from shoal.kernels.arrays import Kind
from shoal.kernels.requirement import emd
from shoal.partition._requirement.requirement import GroupRequirement, RequirementPartitioner, near_lists
from shoal.partition.ancestor_loss import AncestorLoss
from shoal.partition.base import Partitioner
from shoal.partition.mdav import MDAV
from shoal.partition.tcloseness_refined import START, annealed, satisfying_groups
from shoal.table.confidential_bins import without_missing
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Longs, Progress, Records, part_of
from shoal.vocabulary.prelude import ByLabel, Count, Facts, Ge, Nested, family, nested

ROUNDING = 1e-5
"""Millionths of a diversity that are forgiven when it is rounded down: excesses are computed in steps of 2^-40."""


@family
class Diversified(RequirementPartitioner):
    """Groups of any partition, made to satisfy a required of diversity and then refined under it.

    Where all columns have hierarchies, what is annealed is what cells lose that become the nearest common ancestors of
    their groups (see refined).

    Parameters
    ----------
    k
        Smallest group size.
    start
        The partition to start from; MDAV with the same k by default.
    moves
        Proposals to make; by default 10 000 a record, 20 million at most.
    """

    k: Annotated[int, Ge(1)]
    start: Annotated[Partitioner | None, nested("partition")] = None
    moves: Annotated[int, Ge(0)] | None = None

    @property
    @abstractmethod
    def diversity(self) -> tuple[Kind, float, float]:
        """Kind, l and c."""

    def required(self, records: Records) -> GroupRequirement:
        kind, level, c = self.diversity
        columns = without_missing(records)
        return GroupRequirement.of(columns, [emd.Diverse(kind, level, c) for _ in columns])

    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> ByLabel:
        kind, level, c = self.diversity
        if kind != "recursive":
            return {"l": float(np.floor((level - required.excess(labels).max()) * 1e6 + ROUNDING) / 1e6)}
        while level > 0 and self._required_of_level(required, level).excess(labels).max() > 0:
            level -= 1
        return {"l": level}

    def _required_of_level(self, required: GroupRequirement, level: float) -> GroupRequirement:
        kind, _, c = self.diversity
        return replace(required, requirements=tuple(emd.Diverse(kind, max(level, 1.0), c) for _ in required.columns))

    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        points = Packed.of(records, columns)
        near = near_lists(points.x, points.coding)
        start = (self.start or MDAV(k=self.k)).assign(records, columns, rng, part_of(progress, 0.0, START))
        feasible = satisfying_groups(points, required, start.labels, near, self.k)
        rest = part_of(progress, START, 1 - START)
        made = Nested({"groups": Count(n=start.n_groups, unit="groups"), **start.facts})
        if (ancestors := AncestorLoss.of(records, columns)) is not None:
            starts = [feasible, *ancestors.walked(self.k, required.check)]
            labels, facts = ancestors.refined(starts, self.k, required.check, rng, self.moves, rest)
            return labels, {"start": made, **facts}
        labels, facts = annealed(points, required.check, feasible, near, self.k, rng, self.moves, rest)
        return labels, {"start": made, **facts}
