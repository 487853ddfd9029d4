"""Change of Pearson correlations."""

from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import NoFigure
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Floats
from shoal.methods import method
from shoal.parameters import Columns
from shoal.utility.base import UtilityMeasure


@method("correlation-change", title="Change of correlations", source="Domingo-Ferrer & Torra (2001)")
class CorrelationChange(UtilityMeasure):
    """Mean absolute difference of the Pearson correlations of all pairs of continuous columns.

    Over the records without a missing value in these columns. Columns that are constant in the original have no
    correlation and are left out (and listed); one that only the release made constant has lost its correlations,
    which then count as 0.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 2.0)
    cheap: ClassVar[bool] = True
    continuous: ClassVar[bool | None] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        x, y = complete(original.raw(names)), complete(released.raw(names))
        if len(x) < 3 or len(y) < 3:
            raise NoFigure("Fewer than three records are complete in the continuous columns.")
        varies: Bools = np.ptp(x, axis=0) > 0
        if varies.sum() < 2:
            raise NoFigure("Fewer than two continuous columns vary in the original, so there is no correlation.")
        pairs = np.triu_indices(int(varies.sum()), 1)
        before, after = correlations(x[:, varies])[pairs], correlations(y[:, varies])[pairs]
        change = np.abs(after - before)
        kept = [name for name, v in zip(names, varies) if v]
        worst = int(change.argmax())
        a, b = kept[pairs[0][worst]], kept[pairs[1][worst]]
        return self.finding(
            float(change.mean()),
            f"Correlations change by {change.mean():.3g} on average; most for '{a}' and '{b}', "
            f"from {before[worst]:.3f} to {after[worst]:.3f}.",
            facts={
                "largest": float(change[worst]),
                "pairs": len(change),
                "columns": kept,
                "constant columns": [name for name, v in zip(names, varies) if not v],
            },
        )


def complete(x: Floats) -> Floats:
    """The rows without a missing value."""
    return x[~np.isnan(x).any(axis=1)]


def correlations(x: Floats) -> Floats:
    """Shape (d, d); Pearson correlations, 0 where a column is constant."""
    moved = x - np.median(x, axis=0)
    moved = moved / np.maximum(np.abs(moved).max(axis=0), np.finfo(float).tiny)
    centred = moved - moved.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    centred = centred / np.where(norms > 0, norms, 1.0)
    centred[:, np.ptp(x, axis=0) == 0] = 0.0
    return np.asarray(np.clip(centred.T @ centred, -1.0, 1.0))
