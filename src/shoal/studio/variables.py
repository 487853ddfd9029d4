"""A column, or two together, before and after: what the page shows when a picture is looked at closely.

Both tables are counted over the original's own values. A label of several values counts in equal parts for each of
them, so that a column that lost everything looks flat, and two columns look independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.judges.in_original_values import Covered
from shoal.judges.recoded import as_labels
from shoal.kernels.arrays import Floats, Longs, floats, longs
from shoal.kernels.linear import cross_product, product
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import SEED
from shoal.table.bins import MILLISECONDS, round_edges
from shoal.table.cells import encode
from shoal.table.files.table import Table
from shoal.table.files.value_labels import code_text
from shoal.table.schema import Column, Schema
from shoal.table.variable import Variable

MOST_VALUES = 200
"""Values of a column that are listed, the most frequent first."""

MOST_CELLS = 10
"""Values or bins of a column that are shown beside another column."""

MOST_RECORDS = 20_000
"""Two columns are counted on so many records, drawn at random from more."""

MOST_POINTS = 400

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of a box: both ends, the quartiles and the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumn:
    """A column in both tables; `place` is the original record of each released one, None if that is not known."""

    before: Variable
    after: Variable
    place: Longs | None

    @property
    def measured(self) -> bool:
        """True if both tables have numbers."""
        return self.before.continuous and self.after.continuous


def encoded(series: pl.Series, schema: Schema, folder: Path) -> Variable:
    """A column of the original as a plan describes it, its missing cells as they are."""
    own = schema.columns.get(series.name, Column(role="quasi-identifier"))
    column = own.model_copy(update={"role": "quasi-identifier", "missing": "keep"})
    return encode(nw.from_native(series, series_only=True), column, folder)


def code_labels(table: Table, name: str) -> dict[str, str]:
    """The labels of a column's codes, by code as it is written."""
    return {code_text(code): label for code, label in table.value_labels.get(name, {}).items()}


def frequencies(before: Mapping[str, int], after: Mapping[str, int], labels: Mapping[str, str]) -> Answer:
    """Numbers of records by value in both tables, the most frequent first."""
    values = sorted(before.keys() | after.keys(), key=lambda v: (-max(before.get(v, 0), after.get(v, 0)), v))
    rows = [[value, labels.get(value, ""), before.get(value, 0), after.get(value, 0)] for value in values[:MOST_VALUES]]
    return {"values": rows, "further": max(0, len(values) - MOST_VALUES), "distinct": [len(before), len(after)]}


def summary(series: pl.Series, *, ends: bool = False) -> Answer:
    """Least and greatest value; of numbers, unless only `ends`, also quartiles, mean and standard deviation."""
    cells = series.drop_nulls()
    content: Answer = {"records": len(series), "missing": len(series) - len(cells)}
    if not len(cells) or not (cells.dtype.is_numeric() or cells.dtype.is_temporal()):
        return content
    content |= {"least": _as_json(cells.min()), "greatest": _as_json(cells.max())}
    if cells.dtype.is_numeric() and not ends:
        values = cells.cast(pl.Float64)
        quartiles = [float(q) for q in np.quantile(values.to_numpy(), SHARES[1:-1])]
        deviation = float(np.std(values.to_numpy(), ddof=1)) if len(values) > 1 else 0.0
        content |= {"quartiles": quartiles, "mean": float(np.mean(values.to_numpy())), "deviation": deviation}
    return content


def _as_json(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else str(value)


def together(first: ComparedColumn, second: ComparedColumn, labels: Sequence[Mapping[str, str]]) -> Answer:
    """Two columns in both tables: shares of the records by the values of both, boxes by group, and points.

    Parameters
    ----------
    labels
        Labels of the codes of each column.
    """
    chosen = drawn(len(first.before)), drawn(len(first.after))
    axes = [_Axis.of(seen, chosen) for seen in (first, second)]
    shares = [_shares(*both) for both in zip(*(axis.weights for axis in axes))]
    return {
        "axes": [
            {**axis.described, "labels": [of.get(cell, "") for cell in axis.described["cells"]]}
            for axis, of in zip(axes, labels)
        ],
        "shares": [table.round(6).tolist() for table in shares],
        "boxes": _boxes(first, second, axes, chosen),
        "points": _points(first, second, chosen) if first.measured and second.measured else None,
        "records": len(chosen[0]),
        "of": len(first.before),
    }


def parts_of_groups(seen: ComparedColumn, rows: tuple[Longs, Longs]) -> tuple[list[str], tuple[Floats, Floats]]:
    """The values of a column of categories, the rare ones together, and the part of each record in each of them.

    Shape (rows, values) for each table; a label of several values counts in equal parts for each of them.
    """
    axis = _Axis.of(seen, rows)
    return axis.described["cells"], axis.weights


def numbers_of(seen: ComparedColumn) -> tuple[Floats, Floats] | None:
    """The numbers of a column in both tables, the mean of its values for a label; None if it has no numbers.

    Shape (records,) each; NaN where a cell is missing.
    """
    if not seen.before.continuous:
        return None
    factor = MILLISECONDS.get(seen.before.unit or "", 1.0)
    if seen.measured:
        return floats(seen.before.values * factor), floats(seen.after.values * factor)
    covered = Covered.of(seen.before, seen.after, seen.place)
    if covered is None:
        return None
    numbers = floats([float(leaf) for leaf in covered.leaves])
    parts = covered.covers / np.maximum(covered.covers.sum(axis=1, keepdims=True), 1)
    means = floats(np.append(product(floats(parts), numbers[:, None]).ravel(), np.nan))
    return floats(np.append(numbers, np.nan)[covered.before]), floats(means[covered.after])


def drawn(n: int) -> Longs:
    """Shape (r,); rows of a table of n records on which columns are counted together."""
    return longs(pl.int_range(n, eager=True).sample(min(n, MOST_RECORDS), seed=SEED).sort().to_numpy())


def _shares(rows: Floats, columns: Floats) -> Floats:
    """Shape (cells of one, cells of the other); shares of the records that are known in both."""
    counts = cross_product(rows, columns)
    return floats(counts / max(float(counts.sum()), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Axis:
    """Cells of a column, and for some rows of each table shape (rows, cells) with the part of each in each cell."""

    described: Answer
    weights: tuple[Floats, Floats]

    @classmethod
    def of(cls, seen: ComparedColumn, rows: tuple[Longs, Longs]) -> "_Axis":
        """`rows`: of the original and of the release; the cells are those of the whole column."""
        if seen.measured:
            factor = MILLISECONDS.get(seen.before.unit or "", 1.0)
            values = [variable.values * factor for variable in (seen.before, seen.after)]
            edges = _edges(np.concatenate(values))
            weights = tuple(_indicators(_bin_of(of[at], edges), len(edges) - 1) for of, at in zip(values, rows))
            return cls(described=_in_bins(edges, temporal=bool(seen.before.unit)), weights=(weights[0], weights[1]))
        covered = Covered.of(seen.before, seen.after, seen.place)
        if covered is None:
            return cls._of_categories(seen, rows)
        if seen.before.continuous:
            numbers = floats([float(leaf) for leaf in covered.leaves])
            edges = _edges(numbers)
            described, cell_of = _in_bins(edges), _bin_of(numbers, edges)
        else:
            described, cell_of = _most_frequent(covered.leaves, covered.before)
        cells = _with_none(_indicators(cell_of, len(described["cells"])))
        parts = covered.covers / np.maximum(covered.covers.sum(axis=1, keepdims=True), 1)
        spread = _with_none(product(parts, cells[:-1]))
        return cls(described=described, weights=(cells[covered.before[rows[0]]], spread[covered.after[rows[1]]]))

    @classmethod
    def _of_categories(cls, seen: ComparedColumn, rows: tuple[Longs, Longs]) -> "_Axis":
        """A column whose released cells are values of the original, or cannot be told to be."""
        both = [as_labels(variable) for variable in (seen.before, seen.after)]
        leaves = list(dict.fromkeys(str(category) for variable in both for category in variable.categories))
        number = {leaf: i for i, leaf in enumerate(leaves)}
        own = [longs([number[str(category)] for category in v.categories] + [-1]) for v in both]
        codes = [of[np.where(v.missing, -1, v.values)] for of, v in zip(own, both)]
        described, cell_of = _most_frequent(leaves, codes[0])
        cells = _with_none(_indicators(cell_of, len(described["cells"])))
        return cls(described=described, weights=(cells[codes[0][rows[0]]], cells[codes[1][rows[1]]]))


def _with_none(rows: Floats) -> Floats:
    """With a last row of zeros, which -1 finds: a missing cell is in no cell."""
    return floats(np.vstack([rows, np.zeros((1, rows.shape[1]))]))


def _indicators(cell_of: Longs, cells: int) -> Floats:
    """Shape (len(cell_of), cells); 1 in each one's cell, a row of zeros for -1."""
    rows = np.zeros((len(cell_of), cells))
    rows[np.flatnonzero(cell_of >= 0), cell_of[cell_of >= 0]] = 1.0
    return rows


def _edges(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    return round_edges(float(known.min()), float(known.max()), MOST_CELLS) if len(known) else floats([0.0, 1.0])


def _bin_of(values: Floats, edges: Floats) -> Longs:
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return longs(np.where(np.isnan(values), -1, places))


def _in_bins(edges: Floats, *, temporal: bool = False) -> Answer:
    cells = [f"{low:g} to {high:g}" for low, high in zip(edges, edges[1:])]
    return {"cells": cells, "edges": edges.tolist(), "temporal": temporal}


def _most_frequent(leaves: Sequence[str], codes: Longs) -> tuple[Answer, Longs]:
    """The most frequent values, the others together; and the cell of each value."""
    counts = np.bincount(codes[codes >= 0], minlength=len(leaves))
    order = np.argsort(-counts, kind="stable")
    shown = order if len(leaves) <= MOST_CELLS else order[: MOST_CELLS - 1]
    cell_of = np.full(len(leaves), len(shown))
    cell_of[shown] = np.arange(len(shown))
    others = [f"{len(leaves) - len(shown)} others"] if len(leaves) > len(shown) else []
    return {"cells": [leaves[i] for i in shown] + others, "edges": None, "temporal": False}, longs(cell_of)


def _boxes(
    first: ComparedColumn, second: ComparedColumn, axes: Sequence[_Axis], chosen: Sequence[Longs]
) -> Answer | None:
    """Boxes of the numbers of one column by the values of the other; None unless exactly one has numbers."""
    if first.measured == second.measured:
        return None
    numbers, place = (first, 1) if first.measured else (second, 0)
    factor = MILLISECONDS.get(numbers.before.unit or "", 1.0)
    tables = []
    for variable, weights, rows in zip((numbers.before, numbers.after), axes[place].weights, chosen):
        values = variable.values[rows] * factor
        groups = weights[~np.isnan(values)]
        values = values[~np.isnan(values)]
        within = [values[groups[:, cell] > 0] for cell in range(groups.shape[1])]
        tables.append([[float(q) for q in np.quantile(of, SHARES)] if len(of) else None for of in within])
    return {"of": 1 - place, "tables": tables}


def _points(first: ComparedColumn, second: ComparedColumn, chosen: Sequence[Longs]) -> list[list[list[float]]]:
    """Some records of both tables by two numbers."""
    factors = [MILLISECONDS.get(seen.before.unit or "", 1.0) for seen in (first, second)]
    tables = []
    for x, y, rows in zip((first.before, first.after), (second.before, second.after), chosen):
        both = np.stack([x.values[rows] * factors[0], y.values[rows] * factors[1]], axis=1)
        both = both[~np.isnan(both).any(axis=1)]
        tables.append(both[:: max(1, -(-len(both) // MOST_POINTS))].tolist())
    return tables
