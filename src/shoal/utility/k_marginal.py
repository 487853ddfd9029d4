"""The k-marginal score of the NIST de-identification challenges."""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np

from shoal.judges.joint_codes import joint_codes, parts_between
from shoal.judges.prelude import Finding, Floats, Generator, Longs, TablePair, Variable, comparable
from shoal.kernels.classes import classes
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import DataError, NoFigure
from shoal.vocabulary.facts import ByColumn, Count, Fact, Figure, OfOriginal, OfPlan
from shoal.vocabulary.prelude import ColumnName, Columns, Ge, Le, method

MOST_CELLS = 1 << 22
"""Cells of a table that is counted in an array of its own; larger ones are counted by the cells that occur."""

Coded = tuple[Longs, Longs]


@method("k-marginal", title="k-marginal score", source="Task, Bhagat & Howarth (2023)")
class KMarginal(UtilityMeasure):
    """Likeness of all tables of k columns, from 0 (nothing in common) to 1000 (the same shares in every cell).

    For each set of k columns the density difference is the sum over cells of the absolute difference of the two
    tables' shares of records, from 0 to 2; the score is 1000 times (1 - half the mean difference). A plain sample of
    the original is a useful yardstick: see `samples` in the details.

    Parameters
    ----------
    columns
        By default the quasi-identifiers and confidential columns that are numbers, or categories, in both tables.
    order
        k, the number of columns of a table. With more than `tables` sets of columns, so many are drawn at random.
    group
        A column that stands in every table beside the k, as SDNist has the area; each of its categories then has a
        score of its own in the details: 1000 times (1 - the mean, over tables, of the difference inside the
        category per original record in it, at most 1).
    bins
        Parts of a continuous column: equal numbers of original records in each, where missing cells, values below
        and values above the original's make parts of their own, `bins` of them altogether.
    tables
        Most tables that are counted.
    """

    prominence = 70
    unchanged = 1000.0
    limits = (0.0, 1000.0)
    better = "higher"
    over_tables = "joins"

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    order: Annotated[int, Ge(1), Le(4)] = 2
    group: Annotated[str | None, ColumnName()] = None
    bins: Annotated[int, Ge(4)] = 20
    tables: Annotated[int, Ge(1)] = 2_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = comparable(original, released, [n for n in self.compared(pair) if n != self.group])
        if len(names) < self.order or not len(original) or not len(released):
            raise NoFigure(f"Fewer than {self.order} columns can be tabulated in both tables, or one has no records.")
        coded = {name: in_parts(original[name], released[name], self.bins) for name in names}
        groups = self._groups(pair)
        sets = _sets(names, self.order, self.tables, rng)
        scores, lost = [], np.zeros(groups.count)
        for chosen in sets:
            difference, by_group = _differences([groups.codes, *(coded[name] for name in chosen)], groups)
            scores.append(500 * (2 - difference))
            lost += by_group
        order = np.argsort(scores, kind="stable")
        value = float(np.mean(scores))
        return self.finding(
            value,
            f"Tables of {self.order} columns score {value:.0f} of 1000 on average, and {min(scores):.0f} in the worst, "
            f"{' x '.join(sets[order[0]])}.",
            influence=None if any(original[n].continuous for n in names) else 1000 / len(original),
            by_column=ByColumn(
                {
                    n: Figure(value=float(np.mean([s for s, c in zip(scores, sets) if n in c])), better="higher")
                    for n in names
                }
            ),
            facts={
                "tables": Count(n=len(sets), unit="tables"),
                "tables in all": Count(n=comb(len(names), self.order), unit="tables"),
                "worst tables": OfOriginal({" x ".join(sets[i]): scores[i] for i in order[:5]}),
                **groups.facts(1000 * (1 - lost / len(sets))),
                "bins": OfPlan(self.bins),
                **self._samples(coded, sets, groups, rng),
            },
        )

    def _groups(self, pair: TablePair) -> "_Groups":
        original, released = pair.before, pair.released
        if self.group is None:
            return _Groups.none(len(original), len(released))
        if self.group not in original or self.group not in released:
            raise DataError(f"k-marginal: group '{self.group}' must be a column of both tables.")
        if original[self.group].continuous:
            raise DataError(f"k-marginal: group '{self.group}' holds numbers; give it the level nominal or ordinal.")
        return _Groups.of(original[self.group], released[self.group])

    def _samples(
        self, coded: dict[str, Coded], sets: list[tuple[str, ...]], groups: "_Groups", rng: Generator
    ) -> dict[str, Fact]:
        """The score of plain samples of the original: what so many honest records would tell."""
        n = len(groups.codes[0])
        scores = {}
        for share in SAMPLES:
            rows = rng.choice(n, max(1, round(share * n)), replace=False)
            sampled = _Groups(codes=(groups.codes[0], groups.codes[0][rows]), labels=groups.labels)
            tables = [[sampled.codes, *((coded[c][0], coded[c][0][rows]) for c in chosen)] for chosen in sets]
            scores[f"{share:.0%}"] = float(np.mean([500 * (2 - _differences(t, sampled)[0]) for t in tables]))
        return {"samples": OfOriginal(scores)}


SAMPLES = (0.05, 0.4)
"""Shares of the original that the score is compared with; 40 % is what SDNist compares areas with."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """The column that stands in every table."""

    codes: Coded  # Of both tables, 0 to the number of labels
    labels: tuple[str, ...]  # Categories of the original, then those that only the release has

    @classmethod
    def none(cls, n: int, m: int) -> "_Groups":
        return cls(codes=(np.zeros(n, dtype=np.int64), np.zeros(m, dtype=np.int64)), labels=("",))

    @classmethod
    def of(cls, before: Variable, after: Variable) -> "_Groups":
        x, y = joint_codes(before, after)
        labels = ["missing", *dict.fromkeys(str(c) for c in (*before.categories, *after.categories))]
        return cls(codes=(x + 1, y + 1), labels=tuple(labels))

    @property
    def count(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> Longs:
        """Shape (count,); original records in each."""
        return np.bincount(self.codes[0], minlength=self.count)

    def facts(self, scores: Floats) -> dict[str, Fact]:
        """The score of each group that the original has, the worst first."""
        if self.count == 1:
            return {}
        order = [i for i in np.argsort(scores, kind="stable") if self.sizes[i]]
        return {"score by group": OfOriginal({self.labels[i]: float(scores[i]) for i in order})}


def in_parts(before: Variable, after: Variable, bins: int) -> Coded:
    """Both columns in the same codes from 0, continuous ones cut into parts; missing is a part of its own.

    Differs from SDNist 2.5: a column with at most `bins` values is cut at each of them, whatever a data dictionary
    says of its range.
    """
    if not before.continuous:
        x, y = joint_codes(before, after)
        return x + 1, y + 1
    cells, others = before.values[~before.missing], after.values[~after.missing]
    values = np.unique(cells)
    if not len(values):
        return parts_between(before, values), parts_between(after, values)
    below, above = bool((others < values[0]).any()), bool((others > values[-1]).any())
    if len(values) > bins:
        parts = bins - bool(before.missing.any() or after.missing.any()) - below - above
        quantiles = np.quantile(cells, np.arange(1, parts) / parts, method="higher")
        values = np.unique([*([values[0]] if below else []), *quantiles, values[-1]])
    elif below:
        values = np.append(np.nextafter(values[0], -np.inf), values)
    return parts_between(before, values), parts_between(after, values)


def _sets(names: tuple[str, ...], order: int, most: int, rng: Generator) -> list[tuple[str, ...]]:
    """All sets of columns, or so many drawn at random, each once."""
    if comb(len(names), order) <= most:
        return list(combinations(names, order))
    drawn: dict[tuple[str, ...], None] = {}
    while len(drawn) < most:
        drawn[tuple(names[i] for i in np.sort(rng.choice(len(names), order, replace=False)))] = None
    return list(drawn)


def _differences(columns: list[Coded], groups: _Groups) -> tuple[float, Floats]:
    """The density difference of a table, and that inside each group per original record there, at most 1."""
    p, q, of_cell = _shares(columns)
    difference = np.abs(p - q)
    inside = np.bincount(of_cell, weights=difference, minlength=groups.count)
    sizes = groups.sizes / len(groups.codes[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(difference.sum()), np.where(sizes > 0, np.minimum(1.0, inside / sizes), 0.0)


def _shares(columns: list[Coded]) -> tuple[Floats, Floats, Longs]:
    """Shares of both tables' records in each cell, and the code of the first column there."""
    n = len(columns[0][0])
    stacked = [np.concatenate(column) for column in columns]
    widths = [int(codes.max()) + 1 for codes in stacked]
    if np.prod(widths, dtype=np.float64) <= MOST_CELLS:
        ids = stacked[0]
        for codes, width in zip(stacked[1:], widths[1:]):
            ids = ids * width + codes
        cells = int(np.prod(widths))
        first = np.arange(cells) // int(np.prod(widths[1:]))
    else:
        ids, sizes = classes(stacked, len(stacked[0]))
        cells = len(sizes)
        first = np.zeros(cells, dtype=np.int64)
        first[ids] = stacked[0]
    p, q = (np.bincount(part, minlength=cells) / len(part) for part in (ids[:n], ids[n:]))
    return p, q, first
