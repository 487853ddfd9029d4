"""Change of the eigenvalues of the correlation matrix."""

from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import NoFigure, quoted
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.parameters import Columns
from shoal.utility.base import UtilityMeasure
from shoal.utility.correlation_change import complete, correlations


@method(
    "eigenvalues",
    title="Change of the correlation matrix's eigenvalues",
    source="Templ, Kowarik & Meindl (2015), after Mateo-Sanz et al. (2004)",
)
class Eigenvalues(UtilityMeasure):
    """Sum of |e - e'| / e over the eigenvalues of the original's correlation matrix.

    Eigenvalues are paired by size. Those that are zero but for rounding (columns that determine one another) have no
    relative change; they are left out, and their absolute change stands in the details.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    """

    cheap: ClassVar[bool] = True
    continuous: ClassVar[bool | None] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        x, y = complete(original.raw(names)), complete(released.raw(names))
        if len(names) < 2 or len(x) < 3 or len(y) < 3:
            raise NoFigure("There are not two continuous columns with three complete records in both tables.")
        if constant := [n for n, a, b in zip(names, np.ptp(x, axis=0), np.ptp(y, axis=0)) if a == 0 or b == 0]:
            raise NoFigure(f"Columns constant in one of the tables have no correlation: {quoted(constant)}.")
        before = np.linalg.eigvalsh(correlations(x))[::-1]
        after = np.linalg.eigvalsh(correlations(y))[::-1]
        real = before > before[0] * len(names) * np.finfo(float).eps * 100
        change = np.abs(after - before)
        total = float((change[real] / before[real]).sum())
        return self.finding(
            total,
            f"The eigenvalues of the correlations change by {100 * total / int(real.sum()):.3g} % on average.",
            facts={
                "original": before.tolist(),
                "released": after.tolist(),
                "eigenvalues left out": int((~real).sum()),
                "absolute change of those": float(change[~real].sum()),
            },
        )
