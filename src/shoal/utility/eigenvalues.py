"""Change of the eigenvalues of the correlation matrix."""

from typing import Literal

import numpy as np

from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.kernels import linear
from shoal.utility.base import OfNumbers
from shoal.utility.correlation_change import correlated
from shoal.vocabulary.prelude import NoFigure, in_digits, method, of_original, quoted


@method(
    "eigenvalues",
    title="Change of the correlation matrix's eigenvalues",
    source="Templ, Kowarik & Meindl (2015), after Mateo-Sanz et al. (2004)",
)
class Eigenvalues(OfNumbers):
    """Mean of |e - e'| / e over the eigenvalues of the original's correlation matrix.

    Eigenvalues are paired by size. Those that are zero but for rounding (columns that determine one another) have no
    relative change; they are left out, and their absolute change stands in the details.

    Parameters
    ----------
    figure
        The `mean` over the eigenvalues; or their `sum`, as in the source.
    """

    unchanged = 0.0
    cheap = True

    figure: Literal["mean", "sum"] = "mean"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        x, y = correlated(pair, names)
        if len(names) < 2 or min(x.records, y.records) < 3:
            raise NoFigure("There are not two continuous columns with three complete records in both tables.")
        if constant := [n for n, a, b in zip(names, x.varies, y.varies) if not (a and b)]:
            raise NoFigure(f"Columns constant in one of the tables have no correlation: {quoted(constant)}.")
        before = linear.eigen(x.matrix)[0]
        after = linear.eigen(y.matrix)[0]
        real = before > before[0] * len(names) * np.finfo(float).eps * 100
        change = np.abs(after - before)
        relative = change[real] / before[real]
        mean = float(relative.mean())
        return self.finding(
            mean if self.figure == "mean" else float(relative.sum()),
            f"The eigenvalues of the correlations change by {in_digits(100 * mean, 3)} % on average.",
            facts=of_original(
                {
                    "original": before.tolist(),
                    "released": after.tolist(),
                    "eigenvalues left out": int((~real).sum()),
                    "absolute change of those": float(change[~real].sum()),
                }
            ),
        )
