"""The attack on rank swapping by intersecting its windows (Nin, Herranz & Torra 2008)."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le

from shoal.errors import NoFigure, quoted
from shoal.facts import Count, OfPlan, Share
from shoal.judges.base import Need, by_record
from shoal.judges.evidence import Finding
from shoal.judges.intervals import cautious_interval
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.kernels.swap.rank_swap import window_of
from shoal.methods import Scales, method
from shoal.parameters import Columns, Setting
from shoal.risk.base import RiskMeasure

PAIRS = 500_000_000
"""So many pairs are some seconds' work; above it records are sampled."""

BLOCK = 4_000_000
"""Pairs in memory at a time."""


@method("rank-swap-attack", title="Rank-swapping windows intersected", source="Nin, Herranz & Torra (2008)")
class RankSwapAttack(RiskMeasure):
    """Mean chance of picking someone's released record by intersecting the windows of their values.

    An attacker who knows that columns were rank swapped with p knows that a value's replacement is one of those at
    most p n ranks away. Of someone whose values are known, the released record therefore lies in all windows at once:
    with c records there, it is found with probability 1/c. Where the true record lies outside (the release was not
    rank swapped with this p), the attack fails and the chance is 0. Tied values lie in the window if any of
    their ranks does.

    Parameters
    ----------
    p
        The window, as a fraction of the records.
    columns
        Continuous or ordinal columns that were swapped and that the attacker knows; by default those quasi-identifiers.
    sample
        Attack so many records, drawn at random; by default all, or as many as make 500 million pairs.
    """

    scales: ClassVar[Scales] = "sample"
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[tuple[Need, ...]] = ("pairing", "records")

    p: Annotated[float, Gt(0), Le(1), Setting()] = 0.05
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.columns or tuple(
            n for n in original.quasi_identifiers if original[n].level != "nominal" and n in released
        )
        if not names:
            raise NoFigure("The released table has no continuous or ordinal quasi-identifier.")
        if wrong := [n for n in names if original[n].level == "nominal"]:
            raise NoFigure(f"Nominal columns have no ranks: {quoted(wrong)}.")
        place = pair.pairing
        if incomplete := [n for n in names if original[n].missing.any() or released[n].missing.any()]:
            raise NoFigure(f"Columns with missing values have no ranks for every record: {quoted(incomplete)}.")
        n = len(released)
        rows = np.arange(n)
        wanted = self.sample or max(100, PAIRS // n)
        if wanted < n:
            rows = np.sort(rng.choice(n, wanted, replace=False))
        values = [released[name].values for name in names]
        windows = [_window(original[name].values[place], y, self.p) for name, y in zip(names, values)]
        chances = _chances(rows, values, windows)
        hits = float(chances.sum())
        sure, outside = float((chances == 1).mean()), float((chances == 0).mean())
        missed = (
            (
                f" For {100 * outside:.3g} % the true record lies outside the windows: the table was not rank "
                f"swapped with this p."
            )
            if outside
            else ""
        )
        return self.finding(
            hits / len(rows),
            f"Someone who knows {quoted(names)} and that ranks moved by at most {100 * self.p:g} % finds "
            f"{100 * hits / len(rows):.1f} % of the records again, {100 * sure:.1f} % with certainty.{missed}",
            interval=cautious_interval(hits, len(rows)),
            facts={
                "p": OfPlan(self.p),
                "share found with certainty": Share(value=sure),
                "records attacked": Count(n=len(rows)),
                "share outside the windows": Share(value=outside),
                "by chance": Share(value=1 / n),
            },
            record_risk=by_record(released, rows, chances),
        )


def _chances(rows: Longs, values: list[np.ndarray], windows: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Shape (len(rows),); the chance that a record drawn from all in the windows of a record is its own."""
    n = len(values[0])
    chances = np.empty(len(rows))
    step = max(1, BLOCK // n)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        inside = np.ones((len(part), n), dtype=bool)
        for y, (low, high) in zip(values, windows):
            inside &= (y >= low[part, None]) & (y <= high[part, None])
        chances[start : start + step] = inside[np.arange(len(part)), part] / np.maximum(inside.sum(axis=1), 1)
    return chances


def _window(x: np.ndarray, y: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest released value within the window of each original value."""
    n = len(y)
    reach = window_of(p, n)
    ordered = np.sort(y)
    first: Longs = np.searchsorted(ordered, x, "left")
    last: Longs = np.searchsorted(ordered, x, "right") - 1
    return ordered[np.clip(first - reach, 0, n - 1)], ordered[np.clip(last + reach, 0, n - 1)]
