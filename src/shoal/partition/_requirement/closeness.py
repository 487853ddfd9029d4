"""What the partitions share that make groups t-close: to the table, or to a natural superset of n records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from shoal.data.confidential_bins import confidential_bins
from shoal.data.partition import Partition, Progress, part_of
from shoal.data.records import Records
from shoal.errors import DataError, ParameterError
from shoal.facts import Count, Nested, of_original
from shoal.judges.natural_sets import class_points, nearest_set_distances, nested_boxes
from shoal.kernels.arrays import Floats, Ints, Longs, ints
from shoal.kernels.requirement import emd
from shoal.methods import family
from shoal.parameters import Setting
from shoal.partition._requirement.requirement import GroupRequirement, RequirementPartitioner


@family
class TClose(RequirementPartitioner):
    """Groups that are t-close to the whole table, or to a natural superset of theirs.

    Parameters
    ----------
    k
        Smallest group size.
    t
        Largest distance of a group's confidential values from the table's, the largest over several columns.
    distance
        How ordered columns are read, as by the privacy model t-closeness: `distinct` or `rank`.
    n
        Aim at (n, t)-closeness: groups are formed inside boxes of n records or more, as small as can be, and are
        t-close to their box instead of the table. A release by centroids then satisfies nt-closeness if all grouped
        columns are continuous; whatever is released, the requirement is proved on it. Not with strata.
    """

    k: Annotated[int, Ge(1)]
    t: Annotated[float, Gt(0), Le(1), Setting()]
    distance: Literal["distinct", "rank"] = "distinct"
    n: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        if self.n is not None and self.distance == "rank":
            raise ParameterError(
                f"{self.method_name}: distance must be distinct where n is given, as (n, t)-closeness is not defined "
                f"by ranks. Leave distance out."
            )

    def required(self, records: Records) -> GroupRequirement:
        columns = confidential_bins(records, self.distance)
        return GroupRequirement.of(columns, [emd.close(column.table(), self.t) for column in columns])

    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> dict[str, Any]:
        return {"t": float(np.ceil(required.distances(labels).max() * 1e6) / 1e6)}

    def assign(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> Partition:
        if self.n is None or not len(records):
            return super().assign(records, columns, rng, progress)
        required = self._required_of(records)
        points = class_points(records, columns, classes := records.classes(columns))
        levels = [boxes[classes.ids] for boxes in nested_boxes(points, classes.sizes, max(self.n, self.k))]
        for number, boxes in enumerate(levels):
            share = part_of(progress, number / len(levels), 1 / len(levels))
            part = self._within(records, columns, required, boxes, rng, share)
            distances = _from_natural_sets(points[classes.ids], required, part, self.n, self.t)
            if distances.max() <= self.t:
                break
        reached = {"t, to a natural set": float(np.ceil(distances.max() * 1e6) / 1e6)}
        return replace(part, facts={**part.facts, **of_original(reached)})

    def _by_stratum(
        self, records: Records, columns: Sequence[str], strata: Longs, rng: np.random.Generator, progress: Progress
    ) -> Partition:
        if self.n is not None:
            raise DataError(
                f"{self.method_name}: n must not be given for a table with strata, whose groups lie inside a stratum. "
                f"Leave n out, or give the stratum column another role."
            )
        return super()._by_stratum(records, columns, strata, rng, progress)

    def _within(
        self,
        records: Records,
        columns: Sequence[str],
        required: GroupRequirement,
        boxes: Longs,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Partition:
        """Groups inside each of some boxes, t-close to it; each as if the box were the table."""
        labels, count, done = np.empty(len(records), dtype=np.int32), 0, 0
        facts = {}
        for number in range(int(boxes.max()) + 1):
            rows = np.flatnonzero(boxes == number)
            share = part_of(progress, done / len(boxes), len(rows) / len(boxes))
            part = self.settled(records.take(rows), columns, self._of_box(required, rows), rng, share)
            labels[rows] = part.labels + count
            count, done = count + part.n_groups, done + len(rows)
            facts[f"natural set {number + 1}"] = Nested(part.facts)
        return Partition(labels=labels, facts={"natural sets": Count(n=len(facts), unit="sets"), **facts})

    def _of_box(self, required: GroupRequirement, rows: Longs) -> GroupRequirement:
        """What is required of groups inside a box; values are as far apart as in the whole table."""
        inside = [bins[rows] for bins in required.bins]
        columns = [
            replace(
                column,
                bins=ints(bins),
                counts=np.bincount(bins[bins >= 0], minlength=column.m).astype(np.int64),
                missing=int((bins < 0).sum()),
            )
            for column, bins in zip(required.columns, inside)
        ]
        return GroupRequirement.of(columns, [emd.close(column.table(), self.t) for column in columns])


def _from_natural_sets(points: Floats, required: GroupRequirement, part: Partition, n: int, t: float) -> Floats:
    """Shape (G,); each group's distance from a natural set, as the privacy model has it of its centroids."""
    means = part.means(points)
    width = np.ptp(means, axis=0)
    means = (means - means.min(axis=0)) / np.where(width > 0, width, 1.0)
    boxes = nested_boxes(means, part.sizes, n)
    columns = [replace(column, bins=ints(bins)) for column, bins in zip(required.columns, required.bins)]
    return np.asarray(nearest_set_distances(columns, part.labels.astype(np.int64), boxes, t).max(axis=0))
