"""Numbers of records that persons have."""

import numpy as np

from shoal.judges.prelude import Finding, Generator, Longs, TablePair
from shoal.judges.successive import apart, persons_in_both
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import NoFigure
from shoal.vocabulary.prelude import OfOriginal, in_digits, method


@method("records-per-person", title="Change of records per person", source="shoal")
class RecordsPerPerson(UtilityMeasure):
    """Share of persons by which the numbers of records differ: half the sum over numbers of the difference of shares.

    0 if as large a share of persons has one record, two, and so on, in both tables; 1 if no number occurs in both.
    Persons without a record are in no table, and are not counted.
    """

    limits = (0.0, 1.0)
    unchanged = 0.0
    needs = ("records",)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        before, after = (_counts(persons) for persons in persons_in_both(pair))
        if not len(before) or not len(after):
            raise NoFigure("A table has no record of a person.")
        means = {"original": float(before.mean()), "release": float(after.mean())}
        return self.finding(
            apart(before, after),
            f"A person has {in_digits(means['original'], 3)} records on average, "
            f"{in_digits(means['release'], 3)} in the release.",
            facts={
                "records per person, mean": OfOriginal(means),
                "most records of a person": OfOriginal({"original": int(before.max()), "release": int(after.max())}),
            },
        )


def _counts(persons: Longs) -> Longs:
    """Shape (p,); number of records of each person."""
    return np.unique(persons[persons >= 0], return_counts=True)[1].astype(np.int64)
