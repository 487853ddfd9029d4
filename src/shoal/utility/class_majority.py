"""The classification metric: records that their class's majority misleads."""

import numpy as np

from shoal.judges.labels import suppressed
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.kernels.classes import classes
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import ByColumn, NoFigure, in_digits, method, of_original


@method("class-majority", title="Records against the majority of their class", source="Iyengar (2002)")
class ClassMajority(UtilityMeasure):
    """The share of records whose confidential value is not the most frequent one of their class, or that are missing.

    The classification metric: what the best guess of the confidential column from the released quasi-identifiers gets
    wrong. Of several confidential columns that are categorical the mean counts.
    """

    limits = (0.0, 1.0)
    cheap = True
    needs = ("quasi-identifiers",)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released = pair.released
        names = [name for name in released.confidential if not released[name].continuous]
        if not names or not len(released):
            raise NoFigure("There is no categorical confidential column, or no record.")
        dropped = suppressed(pair)
        by_column = {}
        for name in names:
            cells, sizes = classes([pair.classes.ids, released[name].codes()], len(released))
            largest = np.zeros(len(pair.classes.sizes), dtype=np.int64)
            np.maximum.at(largest, pair.classes.ids, sizes[cells])
            by_column[name] = float(len(released) - largest.sum() + dropped) / (len(released) + dropped)
        value = float(np.mean(list(by_column.values())))
        return self.finding(
            value,
            f"{in_digits(100 * value, 3)} % of the records do not have the most frequent value of their class.",
            by_column=ByColumn(of_original(by_column)),
        )
