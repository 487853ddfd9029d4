"""The attack on rank swapping by intersecting its windows (Nin, Herranz & Torra 2008)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.judges.base import by_record
from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Finding, Generator, Longs, TablePair, Variable
from shoal.judges.table_pair import codes_like
from shoal.kernels.draws import drawn_rows
from shoal.kernels.search.ranges import ranges_together
from shoal.kernels.swap.rank_swap import window_of
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import NoFigure, in_digits, quoted
from shoal.vocabulary.prelude import Columns, Count, Ge, Gt, Le, OfPlan, Setting, Share, method

PAIRS = 500_000_000
"""So many pairs are some seconds' work; above it records are sampled."""

BLOCK = 250_000
"""Pairs in memory at a time."""


@method("rank-swap-attack", title="Rank-swapping windows intersected", source="Nin, Herranz & Torra (2008)")
class RankSwapAttack(RiskMeasure):
    """Mean chance of picking someone's released record by intersecting the windows of their values.

    An attacker who knows that columns were rank swapped with p knows that a value's replacement is one of those at
    most p n ranks away. Of someone whose values are known, the released record therefore lies in all windows at once:
    with c records there, it is found with probability 1/c. Tied values lie in the window if any of their ranks does.
    Where the table has strata, ranks are counted inside them, as rank-swap counts them, and the attacker knows
    everyone's stratum.

    Where the true record lies outside the windows the attack fails, and the chance is 0. That is so where the values
    were not swapped with this p, or not only swapped, and of a few records where not all are judged that were swapped
    (some left the table, or the figure is taken on a sample), for then ranks are counted among others.

    Parameters
    ----------
    p
        The window, as a fraction of the records.
    columns
        Continuous or ordinal columns that were swapped and that the attacker knows; by default those quasi-identifiers.
    sample
        Attack so many records, drawn at random; by default all, or as many as make 500 million pairs.
    """

    question = "linkability"
    needs = ("pairing", "records")

    p: Annotated[float, Gt(0), Le(1), Setting()] = 0.05
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
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
        original_of = {name: original[name].values[place] for name in names}
        values = {name: _comparable(original[name], released[name]) for name in names}
        n = len(released)
        rows = drawn_rows(rng, n, self.sample or max(100, PAIRS // n))
        members = released.by_stratum
        chances = np.zeros(n)
        for among in members:
            attacked = np.flatnonzero(np.isin(among, rows, assume_unique=True))
            columns = [(original_of[name][among], values[name][among]) for name in names]
            chances[among[attacked]] = _chances(attacked, columns, self.p)
        chances = chances[rows]
        hits = float(chances.sum())
        sure, outside = float((chances == 1).mean()), float((chances == 0).mean())
        missed = (
            f" For {in_digits(100 * outside, 3)} % the true record lies outside the windows, and is missed."
            if outside
            else ""
        )
        stratum = " and the stratum" if len(members) > 1 else ""
        return self.finding(
            hits / len(rows),
            f"Someone who knows {quoted(names)}{stratum}, and that ranks moved by at most {100 * self.p:g} % finds "
            f"{100 * hits / len(rows):.1f} % of the records again, {100 * sure:.1f} % with certainty.{missed}",
            interval=cautious_interval(hits, len(rows)),
            facts={
                "p": OfPlan(self.p),
                "share found with certainty": Share(value=sure),
                "records attacked": Count(n=len(rows)),
                "share outside the windows": Share(value=outside),
                "by chance": Share(value=len(members) / n),
            },
            record_risk=by_record(released, rows, chances),
        )


def _comparable(before: Variable, after: Variable) -> np.ndarray:
    """Released values, those of an ordinal column in the original's codes.

    NoFigure if they are of another kind than the original's.
    """
    if before.continuous and after.continuous:
        return after.values
    codes = codes_like(before, after)
    if before.continuous or after.continuous or (codes < 0).any():
        raise NoFigure(f"Column '{before.name}' holds other kinds of values than the original, so no ranks in common.")
    return codes


def _chances(rows: Longs, columns: Sequence[tuple[np.ndarray, np.ndarray]], p: float) -> np.ndarray:
    """Shape (len(rows),); the chance that a record drawn from all in the windows of a record is its own.

    `columns`: original and released values of each.
    """
    places, starts, widths, own = [], [], [], np.ones(len(rows), dtype=bool)
    for x, y in columns:
        low, high = _window(x[rows], y, p)
        ordered = np.sort(y)
        places.append(np.searchsorted(ordered, y, "left").astype(np.uint32))
        starts.append(np.searchsorted(ordered, low, "left").astype(np.uint32))
        widths.append(np.searchsorted(ordered, high, "right").astype(np.uint32) - starts[-1])
        own &= places[-1][rows] - starts[-1] < widths[-1]  # what lies before the window wraps around
    lead = int(np.argmin([width.sum() for width in widths]))
    order = np.argsort(places[lead], kind="stable")
    places = [place[order] for place in places]
    start = starts[lead].astype(np.int64)
    candidates = np.zeros(len(rows), dtype=np.int64)
    for part, near in ranges_together(start, start + widths[lead], BLOCK):
        inside = np.ones((len(part), near.stop - near.start), dtype=bool)
        for place, first, width in zip(places, starts, widths):
            inside &= place[near] - first[part, None] < width[part, None]
        candidates[part] = inside.sum(axis=1)
    return np.asarray(own / np.maximum(candidates, 1))


def _window(x: np.ndarray, y: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest released value within the window of each original value."""
    n = len(y)
    reach = window_of(p, n)
    ordered = np.sort(y)
    first: Longs = np.searchsorted(ordered, x, "left")
    last: Longs = np.searchsorted(ordered, x, "right") - 1
    return ordered[np.clip(first - reach, 0, n - 1)], ordered[np.clip(last + reach, 0, n - 1)]
