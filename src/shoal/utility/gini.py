"""Change of the Gini coefficient of inequality."""

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, Records, TablePair
from shoal.utility.base import OfNumbers
from shoal.vocabulary.prelude import NoFigure, method, of_original, quoted


def gini(values: Floats, weights: Floats | None = None) -> float | None:
    """Gini coefficient of values of at least 0; None where there are negative ones or the total is 0.

    Notes
    -----
    Half the mean absolute difference of two people drawn with replacement, over the mean. From the values in
    ascending order with weights w, cumulated C: sum w x (2 C - w) / (W sum w x) - 1.
    """
    w = np.ones(len(values)) if weights is None else weights
    total = float((w * values).sum())
    if not len(values) or (values < 0).any() or not total > 0:
        return None
    order = np.argsort(values, kind="stable")
    x, w = values[order], w[order]
    cumulated = np.cumsum(w)
    return max(float((w * x * (2 * cumulated - w)).sum() / (cumulated[-1] * total) - 1), 0.0)  # rounding of equals


@method("gini", title="Change of the Gini coefficient", source="Gini (1912)")
class Gini(OfNumbers):
    """Largest absolute change of a column's Gini coefficient, over continuous columns without negative values.

    Weighted where the tables have sampling weights. Columns with negative values in the original have no Gini
    coefficient and are left out (and listed); if only the release has some, there is no figure.
    """

    unchanged = 0.0
    limits = (0.0, 1.0)
    cheap = True

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        pairs: dict[str, tuple[float, float]] = {}
        left_out, lost = [], []
        for name in names:
            before, after = _of(original, name), _of(released, name)
            if before is None:
                left_out.append(name)
            elif after is None:
                lost.append(name)
            else:
                pairs[name] = before, after
        details = {
            "original and released": {name: list(pair) for name, pair in pairs.items()},
            "columns with negative values or without a total": left_out,
        }
        if lost:
            raise NoFigure(f"Only the release has negative values, or lost the whole total, in: {quoted(lost)}.")
        if not pairs:
            raise NoFigure("There is no continuous column without negative values in both tables.")
        worst = max(pairs, key=lambda name: abs(pairs[name][1] - pairs[name][0]))
        before, after = pairs[worst]
        return self.finding(
            abs(after - before),
            f"Inequality changes most in '{worst}': its Gini coefficient goes from {before:.3f} to {after:.3f}."
            if before != after
            else "No column's Gini coefficient changes.",
            facts=of_original(details),
        )


def _of(records: Records, name: str) -> float | None:
    present = ~records[name].missing
    weights = records.weights
    return gini(records[name].values[present], None if weights is None else weights[present])
