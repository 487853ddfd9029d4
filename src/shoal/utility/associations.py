"""Associations between columns of any level of measurement."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.judges.prelude import Finding, Floats, Generator, Longs, Records, TablePair, Variable, comparable
from shoal.judges.table_pair import ROUNDING
from shoal.table.equal_rows import mean_ranks
from shoal.table.schema import Level
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
        before_all, after_all = (_Associated(table, tuple(names)) for table in (original, released))
        for a, b in combinations(names, 2):
            for kind in _kinds(original[a], original[b]):
                group_first = (b, a) if kind == "eta" and original[b].level == "nominal" else (a, b)
                before, after = (table.association(kind, *group_first) for table in (before_all, after_all))
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


def _kinds(a: Variable, b: Variable) -> tuple[str, ...]:
    levels = {a.level, b.level}
    if levels == {"continuous"}:
        return "Pearson", "Spearman"
    if levels == {"nominal"}:
        return ("Cramer's V",)
    return ("eta",) if "nominal" in levels else ("Spearman",)


@dataclass(frozen=True, eq=False)
class CompleteCells:
    """A column's cells, none missing, with what its associations need of it alone."""

    values: NDArray[Any]
    level: Level

    @cached_property
    def constant(self) -> bool:
        return len(self.values) < 2 or bool(np.ptp(self.values) == 0)

    @cached_property
    def ranks(self) -> Floats:
        return mean_ranks(self.values)

    @cached_property
    def numbered(self) -> tuple[Longs, Longs]:
        """Shape (n,), the number of each cell's value among the different ones; shape (m,), how often each occurs."""
        ids = np.unique(self.values, return_inverse=True)[1]
        return ids, np.bincount(ids)

    @cached_property
    def numbers(self) -> Floats:
        """Ranks if ordinal, else the values about their median; within 1 of 0."""
        numbers: Floats = self.ranks if self.level == "ordinal" else self.values - np.median(self.values)
        return np.asarray(numbers / np.abs(numbers).max())


@dataclass(frozen=True, eq=False)
class _Associated:
    """The associations of a table's columns."""

    table: Records
    names: tuple[str, ...]

    def association(self, kind: str, a: str, b: str) -> float | None:
        """None where a column does not vary."""
        x, y = self._known(a, b)
        if kind == "eta":
            return eta(x, y)
        if kind == "Cramer's V":
            return cramers_v(x, y)
        if x.constant or y.constant:
            return None
        if (a, b) not in self._correlated[kind]:
            return _correlations(kind, {a: x, b: y})[a, b]
        return self._correlated[kind][a, b]

    def _known(self, a: str, b: str) -> tuple[CompleteCells, CompleteCells]:
        x, y = self.table[a], self.table[b]
        if x.complete and y.complete:
            return self._cells[a], self._cells[b]
        both = ~x.missing & ~y.missing
        return CompleteCells(x.values[both], x.level), CompleteCells(y.values[both], y.level)

    @cached_property
    def _cells(self) -> dict[str, CompleteCells]:
        """The complete columns."""
        columns = (self.table[name] for name in self.names)
        return {v.name: CompleteCells(v.values, v.level) for v in columns if v.complete}

    @cached_property
    def _correlated(self) -> dict[str, dict[tuple[str, str], float]]:
        """The correlations of complete columns, by kind and by both names."""
        of_kind = {"Pearson": ("continuous",), "Spearman": ("continuous", "ordinal")}
        return {
            kind: _correlations(kind, {name: x for name, x in self._cells.items() if x.level in levels})
            for kind, levels in of_kind.items()
        }


def _correlations(kind: str, columns: dict[str, CompleteCells]) -> dict[tuple[str, str], float]:
    """Pearson's r of values, or of ranks (Spearman's), of all pairs of columns of one length."""
    if not columns:
        return {}
    values = [x.values if kind == "Pearson" else x.ranks for x in columns.values()]
    matrix = correlations(np.column_stack(values).astype(np.float64))
    return {(a, b): float(matrix[i, j]) for i, a in enumerate(columns) for j, b in enumerate(columns)}


def cramers_v(a: CompleteCells, b: CompleteCells) -> float | None:
    """Cramer's V: chi-squared over n times the smaller number of categories less one, its root."""
    if not len(a.values):
        return None
    (rows, row), (columns, column) = a.numbered, b.numbered
    smaller = min(len(row), len(column))
    if smaller == 1:
        return None
    cells, counts = np.unique(rows * len(column) + columns, return_counts=True)
    # Chi-squared / n is the sum over occupied cells of count^2 / (row x column), less 1: empty cells cost no memory.
    phi = float((counts / row[cells // len(column)] * counts / column[cells % len(column)]).sum()) - 1
    return float(np.sqrt(max(phi, 0.0) / (smaller - 1)))


def eta(group: CompleteCells, value: CompleteCells) -> float | None:
    """Correlation ratio: root of the share of the variance that lies between groups."""
    if group.constant or value.constant:
        return None
    (ids, sizes), numbers = group.numbered, value.numbers
    means = np.bincount(ids, weights=numbers) / sizes
    centre = numbers.mean()
    between = float((sizes * (means - centre) ** 2).sum())
    total = float(((numbers - centre) ** 2).sum())
    return float(np.sqrt(min(between / total, 1.0)))
