"""IL1s: absolute change in units of the standard deviation."""

from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import NoFigure, quoted
from shoal.facts import ByColumn
from shoal.judges.base import Need
from shoal.judges.clipped import clipped_change
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair, moved_constant
from shoal.methods import method
from shoal.parameters import Columns
from shoal.utility.base import UtilityMeasure


@method(
    "il1s", title="Absolute change of values (IL1s)", source="Yancey, Winkler & Creecy (2002); Mateo-Sanz et al. (2005)"
)
class IL1s(UtilityMeasure):
    """IL1s = sum over cells of |x - x'| / (sqrt(2) s), s the original column's n-1 standard deviation.

    Cells that are missing in either table cannot be compared; their number is stated, and the mean per cell,
    which does not grow with the table, is over the others.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    """

    cheap: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("columns", "pairing")
    continuous: ClassVar[bool | None] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        by_column: dict[str, float] = {}
        cells, without_scale = 0, []
        for name in names:
            column = original[name]
            change = np.abs(column.values[place] - released[name].values)
            change = change[~np.isnan(change)]
            cells += len(change)
            spread = _deviation(column.values[~column.missing])
            if moved_constant(column, released[name]):
                without_scale.append(name)
            by_column[name] = float((change / spread).sum() / np.sqrt(2)) if spread > 0 else 0.0
        if without_scale:
            raise NoFigure(f"Constant in the original and yet changed, so there is no scale: {quoted(without_scale)}.")
        if not cells:
            raise NoFigure("No cell is present in both tables.")
        total = sum(by_column.values())
        return self.finding(
            total,
            f"A released value differs from the original one by {np.sqrt(2) * total / cells:.3g} standard "
            f"deviations on average.",
            clipped=clipped_change(pair, names),
            by_column=ByColumn(by_column),
            facts={
                "mean per cell": total / cells,
                "cells compared": cells,
                "cells not compared": len(original) * len(names) - cells,
            },
        )


def _deviation(values: np.ndarray) -> float:
    """The n-1 standard deviation; 0 for a constant column, whatever its size."""
    return float(values.std(ddof=1)) if len(values) > 1 and np.ptp(values) > 0 else 0.0
