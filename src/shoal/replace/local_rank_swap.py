"""Rank swapping inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import ParameterError
from shoal.facts import ByColumn, Count, Nested
from shoal.kernels.swap.rank_swap import swap_partners, window_of
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.replace.base import Replacement
from shoal.step_result import StepResult


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

    scales: ClassVar[Scales] = "blocks"

    p: Annotated[float, Gt(0), Le(1), Setting()]

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        changed, facts = [], {}
        for number, name in enumerate(columns):
            variable = records[name]
            if variable.level == "nominal":
                raise ParameterError(
                    f"Column '{name}' is nominal, so its values have no rank; local-rank-swap needs continuous or "
                    f"ordinal columns. Use permutation for it."
                )
            new, alone = self._swapped(variable, partition, rng)
            same = int((new.identity() == variable.identity()).sum())
            changed.append(new)
            facts[name] = Nested({"without a partner": Count(n=alone), "unchanged": Count(n=same)})
            if progress is not None:
                progress((number + 1) / len(columns))
        groups = Count(n=partition.n_groups, unit="groups")
        return StepResult(
            records=records.with_variables(*changed), facts={"groups": groups, "by column": ByColumn(facts)}
        )

    def _swapped(self, variable: Variable, partition: Partition, rng: np.random.Generator) -> tuple[Variable, int]:
        """The column with its values swapped, and how many found no partner."""
        values, alone = variable.values.copy(), 0
        for rows in partition.members():
            known = rows[~variable.missing[rows]]
            if len(known) < 2:
                alone += len(known)
                continue
            order = known[np.argsort(variable.values[known], kind="stable")]
            partner = swap_partners(len(known), max(window_of(self.p, len(known)), 1), rng)
            values[order] = variable.values[order[partner]]
            alone += int((partner == np.arange(len(known))).sum())
        return variable.with_values(values), alone
