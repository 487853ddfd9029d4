"""Base of the partitions that make groups t-close: to the table, or to a natural superset of n records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from shoal.judges.natural_sets import class_points, nearest_set_distances, nested_boxes
from shoal.kernels.requirement import emd
from shoal.partition._requirement.requirement import GroupRequirement, RequirementPartitioner
from shoal.partition.base import in_turn
from shoal.table.confidential_bins import Bins, confidential_bins
from shoal.table.equal_rows import rows_by_number
from shoal.table.prelude import Floats, Generator, Ints, Longs, Partition, Progress, Records, ints, part_of
from shoal.table.records import Classes
from shoal.vocabulary.prelude import ByLabel, Count, DataError, Ge, Gt, Le, ParameterError, Setting, family, of_original


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
        return self._close(confidential_bins(records, self.distance))

    def _close(self, columns: list[Bins]) -> GroupRequirement:
        return GroupRequirement.of(columns, [emd.Close(column.table(), self.t) for column in columns])

    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> ByLabel:
        return {"t": float(np.ceil(required.distances(labels).max() * 1e6) / 1e6)}

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> Partition:
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

    def _kinds(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        if self.n is not None:
            records.complete(columns, f"{self.method_name} with n")
        return super()._kinds(records, columns, rng, progress, where)

    def _by_stratum(
        self, records: Records, columns: Sequence[str], strata: Longs, rng: Generator, progress: Progress
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
        rng: Generator,
        progress: Progress,
    ) -> Partition:
        """Groups inside each of some boxes, t-close to it; each as if the box were the table."""

        def box(_: int, rows: Longs, share: Progress) -> Partition:
            return self.settled(records.take(rows), columns, self._of_box(required, rows), rng, share)

        part = in_turn("natural set", rows_by_number(boxes), box, progress)
        return replace(part, facts={"natural sets": Count(n=len(part.facts), unit="sets"), **part.facts})

    def _of_box(self, required: GroupRequirement, rows: Longs) -> GroupRequirement:
        """Requirement on groups inside a box; values are as far apart as in the whole table."""
        columns = []
        for column, bins in zip(required.columns, required.take(rows).bins):
            counts = np.bincount(bins[bins >= 0], minlength=column.m).astype(np.int64)
            columns.append(replace(column, bins=ints(bins), counts=counts, missing=int((bins < 0).sum())))
        return self._close(columns)


def _from_natural_sets(points: Floats, required: GroupRequirement, part: Partition, n: int, t: float) -> Floats:
    """Shape (G,); each group's distance from a natural set, as the privacy model has it of its centroids."""
    means = part.means(points)
    width = np.ptp(means, axis=0)
    means = (means - means.min(axis=0)) / np.where(width > 0, width, 1.0)
    boxes = nested_boxes(means, part.sizes, n)
    columns = [replace(column, bins=ints(bins)) for column, bins in zip(required.columns, required.bins)]
    groups = Classes(ids=part.labels.astype(np.int64), sizes=part.sizes)
    return np.asarray(nearest_set_distances([(column, groups) for column in columns], boxes, t).max(axis=0))
