"""Shares of a column's records in bins, for pictures: ranges of numbers with round edges, or categories.

The bins of one table are a function of that table alone: their edges cover it from its least value to its greatest.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.kernels.arrays import Floats, floats
from shoal.kernels.elementary import decade, power_of_ten
from shoal.report.evidence import Bin, Distribution, Spread, TableName
from shoal.table.hierarchy_builders import number_label
from shoal.table.number_range import NumberRange, numbers_of
from shoal.table.variable import Variable

BINS = 24
MOST_CATEGORIES = 12
MILLISECONDS = {"date": 86_400_000.0, "datetime": 1e-3}
"""Factors from a column's own unit (days, microseconds) to milliseconds, the unit of a time axis."""

DIGITS = 4
"""Significant digits of a share."""


def distribution(
    tables: Mapping[TableName, Variable], weights: Mapping[TableName, Floats] | None = None
) -> Distribution | None:
    """Distribution of one column, in bins that the tables share; None if no cell is known.

    `tables`: the column in each table, by the table's name. `weights`: weight of each cell of a table, 1 for a table
    without weights; weighted columns have no missing cells.
    """
    weights = weights or {}
    columns = list(tables.values())
    if all(column.continuous for column in columns):
        unit = columns[0].unit or ""
        values = {name: column.once() * MILLISECONDS.get(unit, 1.0) for name, column in tables.items()}
        bins = _histogram({name: v[~np.isnan(v)] for name, v in values.items()}, weights)
        scale: Spread = "temporal" if unit in MILLISECONDS else "quantitative"
        return {"scale": scale, "bins": bins, "further": 0} if bins else None
    counts = {name: _counts(column, weights.get(name)) for name, column in tables.items()}
    occurring = list(dict.fromkeys(category for of in counts.values() for category, count in of.items() if count))
    shown = sorted(occurring, key=lambda category: -max(of.get(category, 0) for of in counts.values()))
    shown = shown[:MOST_CATEGORIES]
    if any(column.level == "ordinal" for column in columns):
        shown.sort(key=occurring.index)
    elif (places := _places_on_a_line(shown)) is not None:
        shown.sort(key=places.__getitem__)
    bars = _bars(counts, shown)
    return {"scale": "nominal", "bins": bars, "further": len(occurring) - len(shown)} if bars else None


def in_both(released: Distribution | None) -> Distribution | None:
    """Distribution of a column that is the same in the original and in the release, from that in the release."""
    if released is None:
        return None
    of_original: list[Bin] = [{**bar, "table": "original"} for bar in released["bins"]]
    return {**released, "bins": [*of_original, *released["bins"]]}


def _histogram(tables: Mapping[TableName, Floats], weights: Mapping[TableName, Floats]) -> list[Bin]:
    filled = [values for values in tables.values() if len(values)]
    if not filled:
        return []
    edges = round_edges(min(float(v.min()) for v in filled), max(float(v.max()) for v in filled))
    return [
        {"table": name, "low": float(low), "high": float(high), "share": share(count / counts.sum())}
        for name, values in tables.items()
        for counts in [_counted(values, edges, weights.get(name))]
        for low, high, count in zip(edges, edges[1:], counts)
        if count
    ]


def _counted(values: Floats, edges: Floats, weights: Floats | None) -> Floats:
    """Shape (bins,); number or weight of the values from one edge to the next, the last bin with both its edges.

    Counts are without a sort of the values, which takes ten times as long as a look at them for each edge.
    """
    if weights is not None:
        return np.histogram(values, edges, weights=weights)[0]
    reached = floats([len(values), *(int(np.count_nonzero(values >= edge)) for edge in edges[1:-1]), 0])
    return -np.diff(reached)


def round_edges(low: float, high: float, most: int = BINS) -> Floats:
    """Round edges of about `most` bins that cover [low, high]."""
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    raw = max((high - low) / most, np.finfo(np.float64).tiny * 16)
    power = float(power_of_ten(decade(raw)))
    width = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw)
    first = np.floor(low / width)
    edges = np.arange(first, np.ceil(high / width) + 1) * width
    digits = 1 - int(decade(width))
    edges = np.array([round(float(edge), digits) for edge in edges])  # without what arithmetic adds
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # nor what rounding takes away
    return edges


def _places_on_a_line(labels: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Ends of the number or range of each label; None if there is no range, or any other kind of label."""
    ranges = {label: span for label in labels if (span := NumberRange.read(label)) is not None}
    numbers = {label: numbers_of([label]) for label in labels if label not in ranges}
    if not ranges or None in numbers.values():
        return None
    places = {label: (number[0], number[0]) for label, number in numbers.items() if number is not None}
    return places | {label: (span.low, span.high) for label, span in ranges.items()}


def _bars(tables: Mapping[TableName, Mapping[str, float]], shown: Sequence[str]) -> list[Bin]:
    return [
        {"table": name, "category": category, "share": share(counts[category] / sum(counts.values()))}
        for name, counts in tables.items()
        for category in shown
        if counts.get(category)
    ]


def share(part: float) -> float:
    """A share with as many digits as a picture needs."""
    return float(f"{part:.{DIGITS}g}")


def _counts(variable: Variable, weights: Floats | None) -> dict[str, float]:
    """Number of records in each category, in the order of the categories."""
    if variable.continuous:
        values, counts = np.unique(variable.values[~variable.missing], return_counts=True)
        return {number_label(value): int(count) for value, count in zip(values.tolist(), counts)}
    counts = np.bincount(variable.values[~variable.missing], weights, minlength=len(variable.categories))
    return {str(category): float(count) for category, count in zip(variable.categories, counts)}
