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
from shoal.kernels.arrays import Longs, seed_of
from shoal.kernels.swap.rank_swap import RankPairing, window_of
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

    scales: ClassVar[Scales] = "sorting"
    reads_others: ClassVar[bool] = False
    leaves_gaps: ClassVar[bool] = True

    p: Annotated[float, Gt(0), Le(1), Setting()]

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        changed: list[Variable] = []
        facts: dict[str, Fact] = {}
        for number, name in enumerate(columns):
            variable = records[name]
            self.check_ranked(variable)
            values = variable.values.copy()
            alone = 0
            for rows in strata(records):
                known = rows[~variable.missing[rows]]
                alone += self._swap(variable, known, values, rng)
            changed.append(variable.with_values(values))
            facts[name] = self.facts_of(alone, int((values == variable.values).sum()))
            if progress is not None:
                progress((number + 1) / len(columns))
        return StepResult(records=records.with_variables(*changed), facts={"by column": ByColumn(facts)})

    @staticmethod
    def facts_of(alone: int, unchanged: int) -> Fact:
        """What there is to tell of a column: values without a partner, and those that are what they were."""
        return Nested({"without a partner": Count(n=alone), "unchanged": Count(n=unchanged)})

    def check_ranked(self, variable: Variable) -> None:
        """Refuse a column whose values have no rank."""
        if variable.level == "nominal":
            raise ParameterError(
                f"Column '{variable.name}' is nominal, so its values have no rank; rank-swap needs continuous or "
                f"ordinal columns. Use data-swap or pram for it."
            )

    def pairing(self, name: str, n: int, rng: np.random.Generator) -> RankPairing:
        """Which ranks of so many values of a column change places.

        Raises
        ------
        ParameterError
            If none may.
        """
        if n < 2:
            return RankPairing(n, 0, 0)
        window = window_of(self.p, n)
        if window < 1:
            raise ParameterError(
                f"rank-swap: p times the number of values must be at least 1; column '{name}' has {n:,} "
                f"values to rank and p is {self.p}. Raise p."
            )
        return RankPairing(n, window, seed_of(rng))

    def _swap(self, variable: Variable, known: Longs, values: NDArray[Any], rng: np.random.Generator) -> int:
        """Swap the values of some rows in place; the number of rows left without a partner."""
        n = len(known)
        (partner,) = self.pairing(variable.name, n, rng).in_turn([n])
        order = known[np.argsort(variable.values[known], kind="stable")]
        values[order] = variable.values[order[partner]]
        return int((partner == np.arange(n)).sum())
