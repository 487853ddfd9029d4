"""IL1s: absolute change in units of the standard deviation."""

from typing import Literal

import numpy as np

from shoal.judges.clipped import clipped_change
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.judges.table_pair import moved_constant
from shoal.table.standardisation import deviation
from shoal.utility.base import OfNumbers
from shoal.vocabulary.prelude import ByColumn, Figure, NoFigure, in_digits, method, of_original, quoted


@method(
    "il1s", title="Absolute change of values (IL1s)", source="Yancey, Winkler & Creecy (2002); Mateo-Sanz et al. (2005)"
)
class IL1s(OfNumbers):
    """Mean over cells of |x - x'| / (sqrt(2) s), s the original column's n-1 standard deviation.

    Cells that are missing in either table cannot be compared; their number is stated, and the mean is over the others.

    Parameters
    ----------
    figure
        The `mean` over cells; or their `sum`, the IL1s of the source, which grows with the table.
    """

    unchanged = 0.0
    cheap = True
    needs = ("columns", "pairing", "versions")

    figure: Literal["mean", "sum"] = "mean"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        sums: dict[str, float] = {}
        cells: dict[str, int] = {}
        without_scale = []
        for name in names:
            column = original[name]
            change = np.abs(column.values[place] - released[name].values)
            change = change[~np.isnan(change)]
            cells[name] = len(change)
            spread = deviation(column.values)
            if moved_constant(column, released[name]):
                without_scale.append(name)
            sums[name] = float((change / spread).sum() / np.sqrt(2)) if spread > 0 else 0.0
        if without_scale:
            raise NoFigure(f"Constant in the original and yet changed, so there is no scale: {quoted(without_scale)}.")
        compared, total = sum(cells.values()), sum(sums.values())
        if not compared:
            raise NoFigure("No cell is present in both tables.")
        mean = total / compared
        by_column = {name: value / max(cells[name], 1) for name, value in sums.items()}
        return self.finding(
            mean if self.figure == "mean" else total,
            f"A released value differs from the original one by {in_digits(np.sqrt(2) * mean, 3)} standard deviations "
            f"on average.",
            by_column=ByColumn(of_original(by_column if self.figure == "mean" else sums)),
            facts=of_original(
                {
                    "mean per cell": mean,
                    "sum over cells": total,
                    "cells compared": compared,
                    "cells not compared": len(original) * len(names) - compared,
                }
            ),
        )

    def clipped(self, pair: TablePair) -> Figure | None:
        return clipped_change(pair, self.compared(pair))
