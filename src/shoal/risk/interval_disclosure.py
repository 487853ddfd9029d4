"""Interval disclosure: released values so near that they give the original ones away."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Le, MinLen

from shoal.errors import NoFigure
from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import ROUNDING, TablePair
from shoal.kernels.arrays import Bools, Floats
from shoal.kernels.swap.rank_swap import window_of
from shoal.methods import method
from shoal.parameters import Columns, Setting
from shoal.risk.base import RiskMeasure

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
    one that is missing in the original has nothing to disclose and is not counted.

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

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[tuple[Need, ...]] = ("columns", "pairing", "records")
    continuous: ClassVar[bool | None] = True
    cheap: ClassVar[bool] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    scale: Literal["sd", "rank"] = "sd"
    unit: Literal["value", "record"] = "value"
    widths: Annotated[tuple[Width, ...], MinLen(1), Setting()] = ONE_TO_TEN_PERCENT

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        inside = _by_sd if self.scale == "sd" else _by_rank
        x, y = original.raw(names)[place], released.raw(names)
        known = ~np.isnan(x)
        if not known.any():
            raise NoFigure("The original has no values in these columns.")
        curve = {}
        for width in self.widths:
            near = np.column_stack([inside(x[:, j], y[:, j], width) for j in range(len(names))])
            if self.unit == "record":
                curve[width] = float(np.mean((near | ~known)[known.any(axis=1)].all(axis=1)))
            else:
                curve[width] = float(near[known].mean())
        widest = max(curve)
        what = "records of which every value lies" if self.unit == "record" else "values that lie"
        reach = "standard deviations" if self.scale == "sd" else "of all ranks"
        return self.finding(
            float(np.mean(list(curve.values()))),
            f"Share of {what} near their released version: {100 * curve[widest]:.3g} % within {widest:g} {reach}.",
            influence=self._influence(known),
            facts={
                "curve": {f"{width:g}": share for width, share in curve.items()},
                "columns": list(names),
                "scale": self.scale,
                "unit": self.unit,
            },
        )

    def _influence(self, known: Bools) -> float | None:
        """A cell counts by itself, against the released column: a record moves the share by its own cells at most."""
        own, total = (1, int(known.any(axis=1).sum())) if self.unit == "record" else (known.shape[1], int(known.sum()))
        return own / (total - own) if total > own else None


def _by_sd(x: Floats, y: Floats, width: float) -> Bools:
    known = y[~np.isnan(y)]
    middle = np.median(known) if len(known) else 0.0
    spread = float((known - middle).std(ddof=1)) if len(known) > 1 and np.ptp(known) > 0 else 0.0
    return np.asarray(np.abs(x - y) <= width * spread + ROUNDING * np.abs(x))


def _by_rank(x: Floats, y: Floats, width: float) -> Bools:
    ordered = np.sort(y[~np.isnan(y)])
    inside: Bools = np.zeros(len(x), dtype=bool)
    if not len(ordered):
        return inside
    reach = window_of(width, len(ordered))
    known = ~np.isnan(y)
    low = np.searchsorted(ordered, y[known], "left") - reach
    high = np.searchsorted(ordered, y[known], "right") - 1 + reach
    slack = ROUNDING * np.abs(x[known])
    inside[known] = (x[known] >= ordered[np.maximum(low, 0)] - slack) & (
        x[known] <= ordered[np.minimum(high, len(ordered) - 1)] + slack
    )
    return inside
