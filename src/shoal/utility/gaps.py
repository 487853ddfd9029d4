"""Gaps between the records of a person."""

from typing import Annotated

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.judges.successive import ordering, persons_in_both, successive
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import NoFigure
from shoal.vocabulary.prelude import ColumnName, OfOriginal, in_digits, method


@method("gaps", title="Change of gaps between records", source="Kolmogorov (1933)", example={"order": "age"})
class Gaps(UtilityMeasure):
    """Largest difference between the cumulative shares of gaps, from 0 to 1 (the statistic of Kolmogorov and Smirnov).

    A gap is the difference between a record of a person and the record before it, in a column of days or numbers: the
    days between two visits. The same shift of all of a person's days leaves gaps as they are.

    Parameters
    ----------
    order
        Column of days or numbers in both tables.
    """

    limits = (0.0, 1.0)
    unchanged = 0.0
    needs = ("records",)

    order: Annotated[str, ColumnName()]

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        gaps: list[Floats] = []
        for persons, column in zip(persons_in_both(pair), ordering(pair, self.order)):
            if not column.continuous:
                raise NoFigure(f"Column '{self.order}' holds no days or numbers any more, so there are no gaps.")
            later, earlier = successive(persons, column, np.zeros(len(persons), dtype=np.int64))
            gaps.append(np.sort(column.values[later] - column.values[earlier]))
        before, after = gaps
        if not len(before) or not len(after):
            raise NoFigure("No person has two records in one of the tables, so there are no gaps.")
        places = np.unique(np.concatenate(gaps))
        shares = [np.searchsorted(some, places, side="right") / len(some) for some in gaps]
        middle = {"original": float(np.median(before)), "release": float(np.median(after))}
        return self.finding(
            float(np.abs(shares[0] - shares[1]).max()),
            f"The median gap in '{self.order}' is {in_digits(middle['original'], 3)}, "
            f"{in_digits(middle['release'], 3)} in the release.",
            facts={
                "median gap": OfOriginal(middle),
                "gaps": OfOriginal({"original": len(before), "release": len(after)}),
            },
        )
