"""Rank swapping (Moore 1996): values change places with values of similar rank."""

from collections.abc import Sequence
from math import sqrt
from typing import Annotated

import numpy as np
from annotated_types import Lt

from shoal.kernels.swap.rank_swap import RankPairing, window_of
from shoal.mask.base import Mask
from shoal.table.prelude import Generator, Longs, Progress, Records, StepResult, Variable, seed_of, tracked
from shoal.vocabulary.prelude import Count, Facts, Gt, Le, ParameterError, Setting, method

USUAL = 0.1
"""Value of p where neither it nor a correlation is given."""

LOSS_PER_SQUARE = 2.4
"""Loss of a column's rank correlation with its original, in p^2, at most: 6 times 0.4, as in the notes below."""


@method("rank-swap", title="Rank swapping", source="Moore (1996)", example={"p": 0.2})
class RankSwap(Mask):
    """Each value changes places with another whose rank differs by at most p n.

    Every column is ranked and swapped on its own, so its distribution stays exactly what it was while the
    tie between columns loosens. With strata, ranks are counted and values swapped inside each stratum.
    Missing cells stay where they are and have no rank. Ordinal columns are swapped by category.

    Parameters
    ----------
    p
        Largest difference of two swapped ranks, as a fraction of the number of ranked values; 0.1 if neither it nor a
        correlation is given.
    correlation
        Instead of p: the rank correlation of two swapped columns is to be at least this share of what it was, on
        average (R0 in Moore's paper and in sdcMicro). To bound how far means of subsets move (K0), require
        `{utility: subgroup-means, at most: 0.05}`.

    Notes
    -----
    Each of two columns swapped apart keeps a correlation of r with its original, so r^2 of theirs is left. The squared
    difference of partners' ranks is at most 0.4 p^2 n^2 on average (measured; it falls with p), so r >= 1 - 2.4 p^2,
    and p is sqrt((1 - sqrt(correlation)) / 2.4).

    A record keeps its value where every rank of its window already has a partner; that happens to few
    records at the upper end. The record counts them, and those whose new value equals the old because of
    ties. The window is published knowledge: a release by rank swapping alone can be attacked by intersecting
    windows (Nin, Herranz & Torra 2008), which the risk measures do.
    """

    scales = "sorting"
    reads_others = False
    leaves_gaps = True

    p: Annotated[Annotated[float, Gt(0), Le(1)] | None, Setting()] = None
    correlation: Annotated[Annotated[float, Gt(0), Lt(1)] | None, Setting()] = None

    def __post_init__(self) -> None:
        if self.p is not None and self.correlation is not None:
            raise ParameterError("rank-swap takes only one of the parameters 'p' and 'correlation'. Leave one out.")

    @property
    def reach(self) -> float:
        """The largest difference of two swapped ranks, as a fraction of the number of ranked values."""
        if self.correlation is not None:
            return min(sqrt((1 - sqrt(self.correlation)) / LOSS_PER_SQUARE), 1.0)
        return USUAL if self.p is None else self.p

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        for name in columns:
            self.check_ranked(records[name])
        by_stratum = records.by_stratum
        swapped = (self._swapped(records[name], by_stratum, rng) for name in tracked(columns, progress))
        return StepResult.by_column(records, swapped)

    @staticmethod
    def facts_of(alone: int, unchanged: int) -> Facts:
        """Facts about a column: values without a partner, and unchanged values."""
        return {"without a partner": Count(n=alone), "unchanged": Count(n=unchanged)}

    def check_ranked(self, variable: Variable) -> None:
        """Refuse a column whose values have no rank."""
        if variable.level == "nominal":
            raise ParameterError(
                f"Column '{variable.name}' is nominal, so its values have no rank; rank-swap needs continuous or "
                f"ordinal columns. Use data-swap or pram for it."
            )

    def pairing(self, name: str, n: int, rng: Generator) -> RankPairing:
        """Pairing of the ranks of so many values of a column. Raises ParameterError if none may."""
        if n < 2:
            return RankPairing(n, 0, 0)
        window = window_of(self.reach, n)
        if window < 1:
            raise ParameterError(
                f"rank-swap: p times the number of values must be at least 1; column '{name}' has {n:,} "
                f"values to rank and p is {self.reach:.4g}. "
                f"{'Raise p' if self.correlation is None else 'Lower correlation'}."
            )
        return RankPairing(n, window, seed_of(rng))

    def _swapped(self, variable: Variable, by_stratum: Sequence[Longs], rng: Generator) -> tuple[Variable, Facts]:
        values, alone = variable.values.copy(), 0
        for rows in by_stratum:
            present = rows[~variable.missing[rows]]
            (partner,) = self.pairing(variable.name, len(present), rng).in_turn([len(present)])
            order = present[np.argsort(variable.values[present], kind="stable")]
            values[order] = variable.values[order[partner]]
            alone += int((partner == np.arange(len(present))).sum())
        return variable.with_values(values), self.facts_of(alone, int((values == variable.values).sum()))
