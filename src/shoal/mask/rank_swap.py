"""Rank swapping (Moore 1996): values change places with values of similar rank."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import NDArray

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import ParameterError
from shoal.facts import ByColumn, Count, Fact, Nested
from shoal.kernels.arrays import Longs
from shoal.kernels.swap.rank_swap import swap_partners, window_of
from shoal.mask.base import Mask, strata
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.step_result import StepResult


@method("rank-swap", title="Rank swapping", source="Moore (1996)", example={"p": 0.2})
class RankSwap(Mask):
    """Each value changes places with another whose rank differs by at most p n.

    Every column is ranked and swapped on its own, so its distribution stays exactly what it was while the
    tie between columns loosens. With strata, ranks are counted and values swapped inside each stratum.
    Missing cells stay where they are and have no rank. Ordinal columns are swapped by category.

    Parameters
    ----------
    p
        Largest difference of two swapped ranks, as a fraction of the number of ranked values.

    Notes
    -----
    A record keeps its value where every rank of its window already has a partner; that happens to few
    records at the upper end. The record counts them, and those whose new value equals the old because of
    ties. The window is published knowledge: a release by rank swapping alone can be attacked by intersecting
    windows (Nin, Herranz & Torra 2008), which the risk measures do.
    """

    scales: ClassVar[Scales] = "memory"

    p: Annotated[float, Gt(0), Le(1), Setting()]

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        changed: list[Variable] = []
        facts: dict[str, Fact] = {}
        for number, name in enumerate(columns):
            variable = records[name]
            self._check(variable)
            values = variable.values.copy()
            alone = 0
            for rows in strata(records):
                known = rows[~variable.missing[rows]]
                alone += self._swap(variable, known, values, rng)
            changed.append(variable.with_values(values))
            unchanged = int((values == variable.values).sum())
            facts[name] = Nested({"without a partner": Count(n=alone), "unchanged": Count(n=unchanged)})
            if progress is not None:
                progress((number + 1) / len(columns))
        return StepResult(records=records.with_variables(*changed), facts={"by column": ByColumn(facts)})

    def _check(self, variable: Variable) -> None:
        if variable.level == "nominal":
            raise ParameterError(
                f"Column '{variable.name}' is nominal, so its values have no rank; rank-swap needs continuous or "
                f"ordinal columns. Use data-swap or pram for it."
            )

    def _swap(self, variable: Variable, known: Longs, values: NDArray[Any], rng: np.random.Generator) -> int:
        """Swap the values of some rows in place; the number of rows left without a partner."""
        n = len(known)
        window = window_of(self.p, n)
        if n < 2:
            return n
        if window < 1:
            raise ParameterError(
                f"rank-swap: p times the number of values must be at least 1; column '{variable.name}' has {n:,} "
                f"values to rank and p is {self.p}. Raise p."
            )
        order = known[np.argsort(variable.values[known], kind="stable")]
        partner = swap_partners(n, window, rng)
        values[order] = variable.values[order[partner]]
        return int((partner == np.arange(n)).sum())
