"""Rank swapping inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.kernels.swap.rank_swap import swap_partners, window_of
from shoal.replace.base import Replacement
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult, Variable, tracked
from shoal.vocabulary.prelude import Count, Facts, Gt, Le, ParameterError, Setting, method


@method(
    "local-rank-swap",
    title="Rank swapping inside the group",
    source="Oganian & Domingo-Ferrer (2017); Moore (1996)",
    example={"p": 0.2},
)
class LocalRankSwap(Replacement):
    """Each value changes places with one of its group whose rank there differs by at most p times the group's size.

    Every column's distribution stays what it was in every group. As the mask `rank-swap`, for each group by itself;
    missing cells stay where they are. A value's rank is still near its own, so nobody is hidden among the others of the
    group by it: no k-anonymity of any kind follows, and linkage is measured.

    Parameters
    ----------
    p
        Largest difference of two swapped ranks, as a fraction of the group's ranked values; at least to the next rank.
    """

    p: Annotated[float, Gt(0), Le(1), Setting()]

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        swapped = (self._swapped(records[name], partition, rng) for name in tracked(columns, progress))
        return StepResult.by_column(records, swapped, {"groups": Count(n=partition.n_groups, unit="groups")})

    def _swapped(self, variable: Variable, partition: Partition, rng: Generator) -> tuple[Variable, Facts]:
        if variable.level == "nominal":
            raise ParameterError(
                f"Column '{variable.name}' is nominal, so its values have no rank; local-rank-swap needs continuous or "
                f"ordinal columns. Use permutation for it."
            )
        values, alone = variable.values.copy(), 0
        for rows in partition.members():
            present = rows[~variable.missing[rows]]
            if len(present) < 2:
                alone += len(present)
                continue
            order = present[np.argsort(variable.values[present], kind="stable")]
            partner = swap_partners(len(present), max(window_of(self.p, len(present)), 1), rng)
            values[order] = variable.values[order[partner]]
            alone += int((partner == np.arange(len(present))).sum())
        new = variable.with_values(values)
        same = int((new.identity() == variable.identity()).sum())
        return new, {"without a partner": Count(n=alone), "unchanged": Count(n=same)}
