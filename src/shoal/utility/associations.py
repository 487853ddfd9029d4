"""Associations between columns of any level of measurement."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.judges.prelude import Finding, Floats, Generator, TablePair, Variable, comparable
from shoal.judges.table_pair import ROUNDING
from shoal.table.equal_rows import mean_ranks
from shoal.utility.base import OfColumns
from shoal.utility.correlation_change import correlations
from shoal.vocabulary.prelude import NoFigure, in_digits, method, of_original


@method(
    "associations",
    title="Change of associations",
    source="Pearson (1896); Spearman (1904); Cramer (1946); Fisher (1925)",
)
class Associations(OfColumns):
    """Mean absolute change of the association of all pairs of columns, each by its levels of measurement.

    Two continuous columns: Pearson's correlation and Spearman's; two ordinal ones, or an ordinal and a continuous one:
    Spearman's; two nominal ones: Cramer's V; a nominal one with one that has an order: the correlation ratio eta (of
    ranks if ordinal). Each pair over the records complete in it. Pairs without an association in the original (a
    constant column) are left out and counted; one that vanishes in the release counts as 0 there.
    """

    unchanged = 0.0
    limits = (0.0, 2.0)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        wanted = pair.common(self.columns, "quasi-identifier", "confidential")
        names = comparable(original, released, wanted)
        changes: dict[str, list[tuple[float, str, str]]] = {}
        undefined = 0
        for a, b in combinations(names, 2):
            for kind, measure in _measures(original[a], original[b]).items():
                before, after = measure(original[a], original[b]), measure(released[a], released[b])
                if before is None:
                    undefined += 1
                else:
                    change = abs((after or 0.0) - before)
                    changes.setdefault(kind, []).append((change if change > ROUNDING else 0.0, a, b))
        everything = [change for kind in changes.values() for change in kind]
        if not everything:
            raise NoFigure("There are no two columns that vary and are in both tables.")
        worst = max(everything)
        mean = float(np.mean([change for change, _, _ in everything]))
        return self.finding(
            mean,
            f"Associations change by {in_digits(mean, 3)} on average; most, by {in_digits(worst[0], 3)}, that of "
            f"'{worst[1]}' and '{worst[2]}'."
            if mean
            else "No association of two columns changes.",
            facts=of_original(
                {
                    "by kind": {
                        kind: {
                            "pairs": len(of_kind),
                            "mean": float(np.mean([c for c, _, _ in of_kind])),
                            "largest": max(of_kind)[0],
                            "columns": list(max(of_kind)[1:]),
                        }
                        for kind, of_kind in changes.items()
                    },
                    "pairs without association": undefined,
                    "columns left out, numbers in one table only": [n for n in wanted if n not in names],
                }
            ),
        )


Measure = Callable[[Variable, Variable], float | None]


def _measures(a: Variable, b: Variable) -> dict[str, Measure]:
    levels = {a.level, b.level}
    if levels == {"continuous"}:
        return {"Pearson": pearson, "Spearman": spearman}
    if levels == {"nominal"}:
        return {"Cramer's V": cramers_v}
    if "nominal" in levels:
        return {"eta": eta if a.level == "nominal" else lambda x, y: eta(y, x)}
    return {"Spearman": spearman}


def _known(a: Variable, b: Variable) -> tuple[NDArray[Any], NDArray[Any]]:
    both = ~a.missing & ~b.missing
    return a.values[both], b.values[both]


def pearson(a: Variable, b: Variable) -> float | None:
    """Pearson's r; None where a column does not vary."""
    return _correlation(*_known(a, b))


def spearman(a: Variable, b: Variable) -> float | None:
    """Pearson's r of the ranks, ties sharing theirs."""
    x, y = _known(a, b)
    return _correlation(mean_ranks(x), mean_ranks(y))


def _correlation(x: NDArray[Any], y: NDArray[Any]) -> float | None:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(correlations(np.column_stack([x, y]).astype(np.float64))[0, 1])


def cramers_v(a: Variable, b: Variable) -> float | None:
    """Cramer's V: chi-squared over n times the smaller number of categories less one, its root."""
    x, y = _known(a, b)
    rows, columns = (np.unique(v, return_inverse=True)[1] for v in (x, y))
    if not len(x) or min(rows.max(), columns.max()) == 0:
        return None
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    cells, counts = np.unique(rows * shape[1] + columns, return_counts=True)
    row, column = np.bincount(rows), np.bincount(columns)
    # Chi-squared / n is the sum over occupied cells of count^2 / (row x column), less 1: empty cells cost no memory.
    phi = float((counts / row[cells // shape[1]] * counts / column[cells % shape[1]]).sum()) - 1
    return float(np.sqrt(max(phi, 0.0) / (min(shape) - 1)))


def eta(group: Variable, value: Variable) -> float | None:
    """Correlation ratio: root of the share of the variance that lies between groups."""
    x, y = _known(group, value)
    if len(x) < 2 or np.ptp(y) == 0 or np.ptp(x) == 0:
        return None
    numbers: Floats = mean_ranks(y) if value.level == "ordinal" else y - np.median(y)
    _, ids = np.unique(x, return_inverse=True)
    sizes = np.bincount(ids)
    numbers = numbers / np.abs(numbers).max()
    means = np.bincount(ids, weights=numbers) / sizes
    centre = numbers.mean()
    between = float((sizes * (means - centre) ** 2).sum())
    total = float(((numbers - centre) ** 2).sum())
    return float(np.sqrt(min(between / total, 1.0)))
