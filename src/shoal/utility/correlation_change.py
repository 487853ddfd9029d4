"""Change of Pearson correlations."""

from dataclasses import dataclass

import numpy as np

from shoal.judges.prelude import Bools, Finding, Floats, Generator, Records, TablePair
from shoal.kernels import linear
from shoal.utility.base import OfNumbers
from shoal.vocabulary.prelude import NoFigure, in_digits, method, of_original, quoted


@method("correlation-change", title="Change of correlations", source="Domingo-Ferrer & Torra (2001)")
class CorrelationChange(OfNumbers):
    """Mean absolute difference of the Pearson correlations of all pairs of continuous columns.

    Over the records without a missing value in these columns. Columns that are constant in the original have no
    correlation and are left out (and listed); one that only the release made constant has lost its correlations,
    which then count as 0.
    """

    unchanged = 0.0
    limits = (0.0, 2.0)
    cheap = True

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        x, y = correlated(pair, names)
        if min(x.records, y.records) < 3:
            raise NoFigure("Fewer than three records are complete in the continuous columns.")
        if x.varies.sum() < 2:
            raise NoFigure("Fewer than two continuous columns vary in the original, so there is no correlation.")
        chosen = np.flatnonzero(x.varies)
        pairs = np.triu_indices(len(chosen), 1)
        before, after = (table.matrix[np.ix_(chosen, chosen)][pairs] for table in (x, y))
        change = np.abs(after - before)
        kept = [names[j] for j in chosen]
        worst = int(change.argmax())
        a, b = kept[pairs[0][worst]], kept[pairs[1][worst]]
        return self.finding(
            float(change.mean()),
            f"Correlations change by {in_digits(change.mean(), 3)} on average; most for '{a}' and '{b}', "
            f"from {before[worst]:.3f} to {after[worst]:.3f}."
            if change[worst]
            else "No correlation changes.",
            facts=of_original(
                {
                    "largest": float(change[worst]),
                    "pairs": len(change),
                    "columns": kept,
                    "constant columns": [name for name in names if name not in kept],
                }
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlated:
    """The correlations of a table's continuous columns."""

    records: int  # The complete ones
    varies: Bools  # Shape (d,)
    matrix: Floats  # Shape (d, d)

    @classmethod
    def of(cls, table: Records, names: tuple[str, ...]) -> "Correlated":
        x = complete(table.raw(names))
        if not len(x):
            return cls(records=0, varies=np.zeros(len(names), dtype=bool), matrix=np.zeros((len(names),) * 2))
        return cls(records=len(x), varies=np.ptp(x, axis=0) > 0, matrix=correlations(x))


def correlated(pair: TablePair, names: tuple[str, ...]) -> tuple[Correlated, Correlated]:
    """Both tables' correlations."""
    return (
        pair.once(("correlations before", names), lambda: Correlated.of(pair.before, names)),
        pair.once(("correlations after", names), lambda: Correlated.of(pair.released, names)),
    )


def eigen_of_correlations(
    pair: TablePair, names: tuple[str, ...]
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Eigenvalues, largest first, and eigenvectors of both tables' correlations, in which no column is constant."""
    x, y = correlated(pair, names)
    if len(names) < 2 or min(x.records, y.records) < 3:
        raise NoFigure("There are not two continuous columns with three complete records in both tables.")
    if constant := [n for n, a, b in zip(names, x.varies, y.varies) if not (a and b)]:
        raise NoFigure(f"Columns constant in one of the tables have no correlation: {quoted(constant)}.")
    return linear.eigen(x.matrix), linear.eigen(y.matrix)


def complete(x: Floats) -> Floats:
    """The rows without a missing value."""
    lacking = np.isnan(x)
    return x[~lacking.any(axis=1)] if lacking.any() else x


def correlations(x: Floats) -> Floats:
    """Shape (d, d); Pearson correlations, 0 where a column is constant."""
    centred = x - np.median(x, axis=0)  # and all that follows in place: a table may be large
    centred /= np.maximum(np.maximum(centred.max(axis=0), -centred.min(axis=0)), np.finfo(float).tiny)
    centred -= centred.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(norms > 0, norms, 1.0)
    centred[:, np.ptp(x, axis=0) == 0] = 0.0
    return np.asarray(np.clip(linear.cross_product(centred, centred), -1.0, 1.0))
