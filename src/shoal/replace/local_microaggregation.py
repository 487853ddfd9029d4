"""Microaggregation inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.kernels.partition import mdav
from shoal.replace.base import Replacement
from shoal.replace.centroid import Centroid
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult, tracked
from shoal.vocabulary.prelude import Count, Figure, Ge, ParameterError, method, plural


@method(
    "local-microaggregation",
    title="Microaggregation inside the group",
    source="Oganian & Domingo-Ferrer (2017); Domingo-Ferrer & Torra (2005)",
    example={"k": 3},
)
class LocalMicroaggregation(Replacement):
    """Each group is divided by MDAV into small groups of k or more, whose records get their centroid.

    No small group reaches across two groups of the step's partition, which says what belongs together (a mixture, say,
    or groups formed `by` other columns). The replaced columns are shared by k records or more.

    Parameters
    ----------
    k
        Smallest size of the small groups; no group of the partition may have fewer records.
    """

    k: Annotated[int, Ge(1)]

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        records.complete(columns, self.method_name)
        if short := int((partition.sizes < self.k).sum()):
            raise ParameterError(
                f"local-microaggregation: k must be at most {partition.k}, the size of the smallest group; got "
                f"{self.k}, and {plural(short, 'group')} {'is' if short == 1 else 'are'} smaller. Lower k, or form "
                f"larger groups."
            )
        x = records.matrix(columns)
        labels, count = np.empty(len(records), dtype=np.int32), 0
        for rows in tracked(list(partition.members()), progress):
            labels[rows] = mdav(x[rows], self.k) + count
            count = int(labels[rows].max()) + 1
        small = Partition(labels=labels)
        change = Centroid().apply(records, columns, small, rng)
        return StepResult(
            records=change.records,
            averaged=change.averaged,
            facts={
                "groups divided": Count(n=partition.n_groups, unit="groups"),
                "small groups": Count(n=small.n_groups, unit="groups"),
                "smallest of them": Count(n=small.k),
                "information loss in percent, of the small groups": Figure(value=small.information_loss(x)),
            },
        )
