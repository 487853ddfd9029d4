"""Microaggregation inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.kernels.partition import mdav
from shoal.replace.base import Replacement
from shoal.replace.centroid import Centroid
from shoal.replace.synthesis import at_mean
from shoal.table.equal_rows import patterns
from shoal.table.prelude import Floats, Generator, Ints, Partition, Progress, Records, StepResult, tracked
from shoal.vocabulary.prelude import Count, DataError, Figure, Ge, ParameterError, method, plural


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
    Records that lack the same columns are divided among themselves, by the others.

    Parameters
    ----------
    k
        Smallest size of the small groups; no group of the partition may have fewer records.
    """

    k: Annotated[int, Ge(1)]

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        if short := int((partition.sizes < self.k).sum()):
            raise ParameterError(
                f"local-microaggregation: k must be at most {partition.k}, the size of the smallest group; got "
                f"{self.k}, and {plural(short, 'group')} {'is' if short == 1 else 'are'} smaller. Lower k, or form "
                f"larger groups."
            )
        x = records.matrix(columns)
        labels, count = np.empty(len(records), dtype=np.int32), 0
        for members in tracked(list(partition.members()), progress):
            for lacking, own in patterns(np.isnan(x[members])):
                rows = members[own]
                labels[rows] = self._divided(x[rows][:, ~lacking]) + count
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
                "information loss in percent, of the small groups": Figure(
                    value=small.information_loss(np.column_stack([at_mean(column) for column in x.T]))
                ),
            },
        )

    def _divided(self, x: Floats) -> Ints:
        """Small groups of records of a group that know the same columns, standardised."""
        if len(x) < self.k:
            raise DataError(
                f"local-microaggregation divides records by themselves that lack the same columns. In a group only "
                f"{plural(len(x), 'record')} {'is' if len(x) == 1 else 'are'} of such a kind, fewer than "
                f"k = {self.k}. Set missing: drop or impute for columns with missing values, or lower k."
            )
        return mdav(x, self.k) if x.shape[1] else np.zeros(len(x), dtype=np.int32)
