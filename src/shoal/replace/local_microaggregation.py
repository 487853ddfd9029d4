"""Microaggregation inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.errors import ParameterError, plural
from shoal.facts import Count, Figure
from shoal.kernels.partition.mdav import mdav
from shoal.methods import Scales, method
from shoal.replace.base import Replacement
from shoal.replace.centroid import Centroid
from shoal.step_result import StepResult


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

    scales: ClassVar[Scales] = "blocks"

    k: Annotated[int, Ge(1)]

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        records.complete(columns, self.method_name)
        if short := int((partition.sizes < self.k).sum()):
            raise ParameterError(
                f"local-microaggregation: k must be at most {partition.k}, the size of the smallest group; got "
                f"{self.k}, and {plural(short, 'group')} {'is' if short == 1 else 'are'} smaller. Lower k, or form "
                f"larger groups."
            )
        x = records.matrix(columns)
        labels, count, done = np.empty(len(records), dtype=np.int32), 0, 0
        for rows in partition.members() if len(records) else ():
            labels[rows] = mdav(x[rows], self.k) + count
            count, done = int(labels[rows].max()) + 1, done + len(rows)
            if progress is not None:
                progress(done / len(records))
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
