"""Changes of means and variances, column by column."""

import numpy as np

from shoal.judges.clipped import clipped_mean_change
from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.judges.table_pair import moved_constant
from shoal.utility.base import OfNumbers, without_rounding
from shoal.vocabulary.prelude import ByColumn, Figure, NoFigure, method, of_original, quoted


@method("univariate-change", title="Change of means and variances", source="Domingo-Ferrer & Torra (2001)")
class UnivariateChange(OfNumbers):
    """Largest change of a column's mean, in original standard deviations, or of its variance, as a share.

    For each continuous column: |mean' - mean| / s and |s'^2 / s^2 - 1|. The tables need not hold the same number
    of records. A column that is constant in the original has no scale: unchanged it counts 0, changed there is
    no figure.
    """

    prominence = 10
    unchanged = 0.0
    cheap = True
    needs = ("columns",)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        changes: dict[str, dict[str, float]] = {}
        failed = []
        for name in names:
            change = _change(original[name].values, released[name].values)
            if change is None or moved_constant(original[name], released[name]):
                failed.append(name)
            else:
                changes[name] = change
        if failed:
            raise NoFigure(
                f"Fewer than two values, or constant in the original and yet changed, so there is no scale: "
                f"{quoted(failed)}."
            )
        worst = max(changes, key=lambda name: max(abs(v) for v in changes[name].values()))
        mean, variance = changes[worst]["mean"], changes[worst]["variance"]
        return self.finding(
            max(abs(mean), abs(variance)),
            f"The column that changes most is '{worst}': its mean moves by {mean:+.3g} standard deviations, "
            f"its variance by {100 * variance:+.3g} %."
            if mean or variance
            else "No column's mean or variance changes.",
            by_column=ByColumn(of_original(changes)),
        )

    def clipped(self, pair: TablePair) -> Figure | None:
        return clipped_mean_change(pair, self.compared(pair))


def _change(before: Floats, after: Floats) -> dict[str, float] | None:
    """Signed changes of mean and variance; None where there are not two values."""
    x, y = before[~np.isnan(before)], after[~np.isnan(after)]
    if len(x) < 2 or len(y) < 2:
        return None
    middle = float(np.median(x))  # a huge offset must not cost digits
    x, y = x - middle, y - middle
    if np.ptp(x) == 0:
        return {"mean": 0.0, "variance": 0.0}
    spread = float(x.std(ddof=1))
    if spread == 0:  # values so close that their squares vanish
        return None
    return {
        "mean": without_rounding(float(y.mean() - x.mean()) / spread),
        "variance": without_rounding(float((y / spread).var(ddof=1) / (x / spread).var(ddof=1)) - 1),
    }
