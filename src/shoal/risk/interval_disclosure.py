"""Interval disclosure: released values so near that they give the original ones away."""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from annotated_types import MinLen

from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, TablePair
from shoal.judges.table_pair import ROUNDING
from shoal.kernels.arrays import longs
from shoal.kernels.swap.rank_swap import window_of
from shoal.risk.base import RiskMeasure
from shoal.table.standardisation import deviation
from shoal.vocabulary.prelude import ByColumn, Columns, Gt, Le, NoFigure, OfPlan, Setting, Share, in_digits, method

ONE_TO_TEN_PERCENT = tuple(i / 100 for i in range(1, 11))

Width = Annotated[float, Gt(0), Le(1)]


@method(
    "interval-disclosure",
    title="Interval disclosure",
    source="Pagliuca & Seri (1999); Domingo-Ferrer & Torra (2001); Mateo-Sanz, Sebe & Domingo-Ferrer (2004)",
)
class IntervalDisclosure(RiskMeasure):
    """Share of original values that lie in a narrow interval around their released version, averaged over widths.

    The whole curve over the widths stands in the details. A cell that is missing in the release discloses nothing;
    one that is missing in the original has nothing to disclose and is not counted. Columns that were made anew for the
    table as a whole hold no version of anybody's value and are left out.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    scale
        With `sd` the interval reaches w standard deviations of the released column to either side; with `rank` it
        reaches the values w n ranks below and above the released value in the released column.
    unit
        By `value` cells are counted, by `record` the records of which every value lies in its interval.
    widths
        Fractions w, by default 1 to 10 percent.
    """

    score_weight = 0.25
    question = "inference"
    needs = ("columns", "pairing", "records", "versions")
    continuous = True
    cheap = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    scale: Literal["sd", "rank"] = "sd"
    unit: Literal["value", "record"] = "value"
    widths: Annotated[tuple[Width, ...], MinLen(1), Setting()] = ONE_TO_TEN_PERCENT

    def compared(self, pair: TablePair) -> tuple[str, ...]:
        names = super().compared(pair)
        return tuple(name for name in names if name not in pair.made_anew) or names

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        reached = _by_sd if self.scale == "sd" else _by_rank
        widths = np.unique(self.widths)
        present = np.empty((len(released), len(names)), dtype=bool)
        first = np.empty(present.shape, dtype=np.int32)
        for j, name in enumerate(names):
            before = original[name].values[place]
            present[:, j] = ~np.isnan(before)
            first[:, j] = reached(before, released[name].values, widths)
        if not present.any():
            raise NoFigure("The original has no values in these columns.")
        of_units = first[present]
        if self.unit == "record":
            of_units = np.where(present, first, 0).max(axis=1)[present.any(axis=1)]
        within = np.cumsum(np.bincount(of_units, minlength=len(widths) + 1))[:-1] / len(of_units)
        curve = dict(zip(widths.tolist(), within.tolist()))
        influence = self._influence(present)
        return self.finding(
            float(np.mean(list(curve.values()))),
            self._sentence(curve),
            influence=influence,
            facts={
                "curve": ByColumn({f"{width:g}": Share(value=v, influence=influence) for width, v in curve.items()}),
                "columns": OfPlan(list(names)),
                "scale": OfPlan(self.scale),
                "unit": OfPlan(self.unit),
            },
        )

    def _sentence(self, curve: Mapping[float, float]) -> str:
        what = "records lie, in every value," if self.unit == "record" else "values lie"
        reach = "standard deviations" if self.scale == "sd" else "of all ranks"
        widest, mean = max(curve), in_digits(100 * float(np.mean(list(curve.values()))), 3)
        at_widest = f"{in_digits(100 * curve[widest], 3)} %"
        near = f"within {widest:g} {reach} of their released version"
        if len(curve) == 1:
            return f"{at_widest} of the {what} {near}."
        return f"{mean} % on average over {len(curve)} widths: {at_widest} of the {what} {near}, fewer nearer to it."

    def _influence(self, present: Bools) -> float | None:
        """A cell counts by itself, against the released column: a record moves the share by its own cells at most."""
        own, total = (
            (1, int(present.any(axis=1).sum())) if self.unit == "record" else (present.shape[1], int(present.sum()))
        )
        return own / (total - own) if total > own else None


def _by_sd(x: Floats, y: Floats, widths: Floats) -> Longs:
    """Shape (n,); number of the narrowest of the ascending widths that holds a value, or of all widths if none does."""
    cells = y[~np.isnan(y)]
    middle = np.median(cells) if len(cells) else 0.0
    apart = np.abs(x - y) - ROUNDING * np.abs(x)
    return longs(np.searchsorted(widths * deviation(cells - middle), apart))  # not a number comes after all


def _by_rank(x: Floats, y: Floats, widths: Floats) -> Longs:
    """As `_by_sd`."""
    ordered = np.sort(y[~np.isnan(y)])
    n, slack = len(ordered), ROUNDING * np.abs(x)
    low, high = np.searchsorted(ordered, y, "left"), np.searchsorted(ordered, y, "right") - 1
    last = np.searchsorted(ordered, x + slack, "right") - 1  # the last rank that does not exceed x
    first = np.searchsorted(ordered, x - slack, "left")
    needed = np.maximum(np.maximum(low - last, first - high), 0)
    needed[(last < 0) | (first == n) | np.isnan(x) | np.isnan(y)] = n + 1  # beyond every released value
    return longs(np.searchsorted([window_of(width, n) for width in widths.tolist()], needed))
