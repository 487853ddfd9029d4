"""Change of quantiles."""

from typing import Annotated

import numpy as np
from annotated_types import MinLen

from shoal.judges.prelude import Bools, Finding, Generator, Longs, TablePair
from shoal.judges.table_pair import moved_constant
from shoal.utility.base import OfNumbers
from shoal.vocabulary.prelude import ByColumn, Ge, Le, NoFigure, OfOriginal, OfPlan, Setting, in_digits, method, quoted

FEWEST = 5
"""Original records that a tail must hold for its quantile to be told by column: others are extreme values."""

Probability = Annotated[float, Ge(0), Le(1)]


@method("quantiles", title="Change of quantiles", source="Hundepool et al. (2012)")
class Quantiles(OfNumbers):
    """Mean absolute change of quantiles, in original standard deviations, over columns and probabilities.

    Quantiles interpolate linearly between order statistics (Hyndman & Fan 1996, type 7); missing values are left
    out. A column constant in the original has no scale: unchanged it counts 0, changed there is no figure. By column
    only those changes are told that show no extreme value: the tail of the original up to the quantile holds 5
    records or more.

    Parameters
    ----------
    probabilities
        By default 5, 10, 25, 50, 75, 90 and 95 percent, as fractions.
    """

    prominence = 20
    unchanged = 0.0
    cheap = True
    needs = ("columns",)

    probabilities: Annotated[tuple[Probability, ...], MinLen(1), Setting()] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        changes: dict[str, list[float]] = {}
        shown: dict[str, Bools] = {}
        failed = []
        for name in names:
            x = original[name].values[~original[name].missing]
            y = released[name].values[~released[name].missing]
            if not len(x) or not len(y) or moved_constant(original[name], released[name]):
                failed.append(name)
                continue
            middle = float(np.median(x))
            moved = np.quantile(y - middle, self.probabilities) - np.quantile(x - middle, self.probabilities)
            shown[name] = _tails(len(x), self.probabilities) >= FEWEST
            if np.ptp(x) > 0:
                changes[name] = (moved / float((x - middle).std(ddof=1))).tolist()
            else:
                changes[name] = [0.0] * len(moved)
        if failed:
            raise NoFigure(
                f"Without values in one table, or constant in the original and yet changed: {quoted(failed)}."
            )
        means = {name: float(np.abs(change).mean()) for name, change in changes.items()}
        value, worst = float(np.mean(list(means.values()))), max(means, key=lambda name: means[name])
        return self.finding(
            value,
            f"Quantiles move by {in_digits(value, 3)} standard deviations on average; most, by "
            f"{in_digits(means[worst], 3)}, those of '{worst}'."
            if value
            else "No quantile moves.",
            by_column=ByColumn(
                {
                    name: OfOriginal(
                        {f"{p:g}": v for p, v, safe in zip(self.probabilities, change, shown[name]) if safe}
                    )
                    for name, change in changes.items()
                }
            ),
            facts={"probabilities": OfPlan(list(self.probabilities))},
        )


def _tails(n: int, probabilities: tuple[float, ...]) -> Longs:
    """Numbers of records at or beyond the outer one of the two order statistics that a quantile is between."""
    place = (n - 1) * np.asarray(probabilities)
    return np.asarray(np.minimum(np.floor(place) + 1, n - np.ceil(place)), dtype=np.int64)
