"""Change of contingency tables of one to three columns."""

from itertools import combinations
from typing import Annotated

import numpy as np

from shoal.judges.joint_codes import parts_between
from shoal.judges.prelude import Finding, Generator, Longs, TablePair, Variable
from shoal.judges.recoded import in_terms_of_release
from shoal.utility.base import OfColumns
from shoal.vocabulary.prelude import ByColumn, Count, Ge, Le, NoFigure, OfOriginal, OfPlan, Share, in_digits, method


@method("contingency", title="Change of contingency tables", source="Hundepool et al. (2012)")
class Contingency(OfColumns):
    """Mean total variation distance of all tables of up to `order` columns.

    The total variation distance of two tables is half the sum over cells of the absolute difference of their
    relative frequencies: the share of records that would have to change cells. Continuous columns are cut at quantiles
    of the original; values that were recoded are counted under the labels that stand for them. Missing is a category.

    Parameters
    ----------
    order
        Most columns of a table.
    bins
        Number of quantile groups of a continuous column; 0 leaves continuous columns out.
    """

    prominence = 30
    unchanged = 0.0
    limits = (0.0, 1.0)

    order: Annotated[int, Ge(1), Le(3)] = 3
    bins: Annotated[int, Ge(0)] = 5

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = pair.common(self.columns, "quasi-identifier", "confidential")
        wanted = tuple(n for n in names if self.bins > 1 or not original[n].continuous)
        worded = {n: in_terms_of_release(original[n], released[n], pair.place) for n in wanted}
        before = {n: column for n, column in worded.items() if column is not None}
        names = tuple(before)
        if not names or not len(original) or not len(released):
            raise NoFigure("There is no column to tabulate, or one of the tables has no records.")
        codes = [self._codes(before[n], released[n]) for n in names]
        means, worst = {}, (-1.0, "")
        everything = []
        for order in range(1, min(self.order, len(names)) + 1):
            distances = []
            for chosen in combinations(range(len(names)), order):
                distance = _distance([codes[j] for j in chosen])
                distances.append(distance)
                worst = max(worst, (distance, " x ".join(names[j] for j in chosen)))
            means[str(order)] = float(np.mean(distances))
            everything += distances
        value = float(np.mean(everything))
        # One record more moves one count of each table of categories; it may move all bins of numbers, or a recoding
        plain = all(before[n] is original[n] and not original[n].continuous for n in names)
        influence = 1 / len(original) if plain else None
        return self.finding(
            value,
            f"On average {in_digits(100 * value, 3)} % of the records change cells in tables of up to {self.order} "
            f"columns; most, {in_digits(100 * worst[0], 3)} %, in {worst[1]}.",
            influence=influence,
            facts={
                "tables": Count(n=len(everything), unit="tables"),
                "mean by number of columns": ByColumn(
                    {size: Share(value=mean, influence=influence) for size, mean in means.items()}
                ),
                "largest": Share(value=worst[0], influence=influence),
                "largest in": OfOriginal(worst[1]),
                "bins": OfPlan(self.bins),
                "columns left out, numbers in one table only": OfOriginal([n for n in wanted if n not in names]),
            },
        )

    def _codes(self, before: Variable, after: Variable) -> tuple[Longs, Longs]:
        """Both columns, of numbers or in the same words, in the same integer codes from 0."""
        if before.continuous:
            present = before.values[~before.missing]
            cuts = np.unique(np.quantile(present, np.arange(1, self.bins) / self.bins)) if len(present) else np.empty(0)
            return parts_between(before, cuts), parts_between(after, cuts)
        numbers: dict[str, int] = {}
        for category in (*before.categories, *after.categories):
            numbers.setdefault(str(category), len(numbers))
        return _numbered(before, numbers), _numbered(after, numbers)


def _numbered(variable: Variable, numbers: dict[str, int]) -> Longs:
    places = np.array([*(numbers[str(c)] for c in variable.categories), len(numbers)], dtype=np.int64)
    return np.asarray(places[variable.values])


def _distance(columns: list[tuple[Longs, Longs]]) -> float:
    before, after = np.zeros(len(columns[0][0]), dtype=np.int64), np.zeros(len(columns[0][1]), dtype=np.int64)
    for x, y in columns:
        width = int(max(x.max(), y.max())) + 1
        _, ids = np.unique(np.concatenate([before * width + x, after * width + y]), return_inverse=True)
        before, after = ids[: len(before)], ids[len(before) :]
    cells = int(max(before.max(), after.max())) + 1
    p = np.bincount(before, minlength=cells) / len(before)
    q = np.bincount(after, minlength=cells) / len(after)
    return float(np.abs(p - q).sum() / 2)
