"""Change of the eigenvalues of the correlation matrix."""

from typing import Literal

import numpy as np

from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.utility.base import OfNumbers
from shoal.utility.correlation_change import eigen_of_correlations
from shoal.vocabulary.prelude import in_digits, method, of_original


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
        before, after = (values for values, _ in eigen_of_correlations(pair, names))
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
