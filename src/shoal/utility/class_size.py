"""Sizes of the classes: average class size and discernibility."""

from typing import Annotated, Literal

import numpy as np

from shoal.judges.labels import suppressed
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import Ge, NoFigure, in_digits, method


@method("class-size", title="Size of the classes", source="LeFevre et al. (2006); Bayardo & Agrawal (2005)")
class ClassSize(UtilityMeasure):
    """Number of records that share their quasi-identifiers: the fewer, the more a release tells apart.

    - `average`: n over the number of classes, over k: 1 where every class has just k records (LeFevre et al. 2006).
    - `discernibility`: the mean over the records of the share of records that one cannot be told from; a record that
      the release does not have counts for all (Bayardo & Agrawal 2005, over n squared).

    Parameters
    ----------
    kind
        Which of the two.
    k
        For `average`: what classes had to reach; 1 gives the average size itself.
    """

    cheap = True
    needs = ("quasi-identifiers", "people")

    kind: Literal["average", "discernibility"] = "average"
    k: Annotated[int, Ge(1)] = 1

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        sizes = pair.classes.sizes.astype(np.float64)
        if not len(sizes):
            raise NoFigure("The released table has no records.")
        if self.kind == "average":
            value = float(sizes.mean()) / self.k
            whole = f"The average equivalence class has size {in_digits(sizes.mean())}"
            if not pair.released.complete_in(pair.released.quasi_identifiers):
                whole += ", a missing cell matching only a missing cell"
            return self.finding(
                value, f"{whole}." if self.k == 1 else f"{whole}, {in_digits(value)} times {self.k}.", influence=0
            )
        n, dropped = len(pair.before), suppressed(pair)
        value = float((sizes**2).sum() + dropped * n) / max(n, 1) ** 2
        return self.finding(
            value,
            f"A record cannot be told from {in_digits(100 * value, 3)} % of the records on average.",
            limits=(0.0, 1.0),
        )
