"""Shares of a column's records in bins, for pictures: ranges of numbers with round edges, or categories.

The bins of one table are a function of that table alone: their edges cover it from its least value to its greatest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.data.hierarchy_builders import number_label
from shoal.data.number_range import NumberRange
from shoal.data.variable import Variable
from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import decade, power_of_ten

BINS = 24
MOST_CATEGORIES = 12
MILLISECONDS = {"date": 86_400_000.0, "datetime": 1e-3}
"""From a column's own unit (days, microseconds) to the unit of a time axis."""

DIGITS = 4
"""Of a share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The share of a table's records in a range of values, or in a category.

    Parameters
    ----------
    table
        Which table is meant, "original" or "released".
    low, high
        Ends of the range; in milliseconds since 1970 on a temporal scale. None for a category.
    """

    table: str
    share: float
    low: float | None = None
    high: float | None = None
    category: str | None = None

    def as_mapping(self) -> dict[str, Any]:
        """What is known of it."""
        known = {"table": self.table, "low": self.low, "high": self.high, "category": self.category}
        return {**{key: value for key, value in known.items() if value is not None}, "share": self.share}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Shares in bins of one column, in one table or in several.

    Parameters
    ----------
    further
        Categories that no bin shows, for there are too many.
    """

    scale: Literal["quantitative", "temporal", "nominal"]
    bins: tuple[Bin, ...]
    further: int = 0

    def as_mapping(self) -> dict[str, Any]:
        """JSON-able."""
        return {"scale": self.scale, "bins": [one.as_mapping() for one in self.bins], "further": self.further}


def distribution(tables: Mapping[str, Variable], weights: Mapping[str, Floats] | None = None) -> Distribution | None:
    """How the records of one column spread, in bins that the tables share; None where no cell is known.

    Parameters
    ----------
    tables
        The column by the name of the table.
    weights
        Records that each cell of a table counts for, one where it has none; of cells that are all known.
    """
    weights = weights or {}
    columns = list(tables.values())
    if all(column.continuous for column in columns):
        unit = columns[0].unit or ""
        values = {name: column.values * MILLISECONDS.get(unit, 1.0) for name, column in tables.items()}
        bins = _histogram({name: v[~np.isnan(v)] for name, v in values.items()}, weights)
        return Distribution(scale="temporal" if unit in MILLISECONDS else "quantitative", bins=bins) if bins else None
    counts = {name: _counts(column, weights.get(name)) for name, column in tables.items()}
    occurring = _occurring(counts)
    shown = sorted(occurring, key=lambda category: -max(of.get(category, 0) for of in counts.values()))
    shown = shown[:MOST_CATEGORIES]
    if any(column.level == "ordinal" for column in columns):
        shown.sort(key=occurring.index)
    elif (places := _places_on_a_line(shown)) is not None:
        shown.sort(key=places.__getitem__)
    bars = _bars(counts, shown)
    return Distribution(scale="nominal", bins=bars, further=len(occurring) - len(shown)) if bars else None


def _histogram(tables: Mapping[str, Floats], weights: Mapping[str, Floats]) -> tuple[Bin, ...]:
    known = [values for values in tables.values() if len(values)]
    if not known:
        return ()
    edges = _edges(min(float(v.min()) for v in known), max(float(v.max()) for v in known))
    return tuple(
        Bin(table=name, low=float(low), high=float(high), share=_share(count, counts.sum()))
        for name, values in tables.items()
        for counts in [np.histogram(values, edges, weights=weights.get(name))[0]]
        for low, high, count in zip(edges, edges[1:], counts)
        if count
    )


def _edges(low: float, high: float) -> Floats:
    """Round bin edges that cover [low, high]."""
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    raw = max((high - low) / BINS, np.finfo(np.float64).tiny * 16)
    power = float(power_of_ten(decade(raw)))
    width = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw)
    first = np.floor(low / width)
    edges = np.arange(first, np.ceil(high / width) + 1) * width
    digits = 1 - int(decade(width))
    edges = np.array([round(float(edge), digits) for edge in edges])  # without what arithmetic adds
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # nor what rounding takes away
    return edges


def _occurring(tables: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The categories that occur, in the order of the column."""
    occurring = (category for counts in tables.values() for category, count in counts.items() if count)
    return list(dict.fromkeys(occurring))  # an order without hashes


def _places_on_a_line(labels: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Where numbers and ranges of numbers lie, by label; None where there is no range or another label."""
    ranges = {label: NumberRange.read(label) for label in labels}
    places: dict[str, tuple[float, float]] = {}
    for label, span in ranges.items():
        try:
            places[label] = (float(label), float(label)) if span is None else (span.low, span.high)
        except ValueError:
            return None
    return places if any(span is not None for span in ranges.values()) else None


def _bars(tables: Mapping[str, Mapping[str, float]], shown: Sequence[str]) -> tuple[Bin, ...]:
    return tuple(
        Bin(table=name, category=category, share=_share(counts[category], sum(counts.values())))
        for name, counts in tables.items()
        for category in shown
        if counts.get(category)
    )


def _share(count: float, of: float) -> float:
    return float(f"{count / of:.{DIGITS}g}")


def _counts(variable: Variable, weights: Floats | None) -> dict[str, float]:
    """Records by category, in the order of the categories."""
    if variable.continuous:
        values, counts = np.unique(variable.values[~variable.missing], return_counts=True)
        return {number_label(value): int(count) for value, count in zip(values.tolist(), counts)}
    counts = np.bincount(variable.values[~variable.missing], weights, minlength=len(variable.categories))
    return {str(category): float(count) for category, count in zip(variable.categories, counts)}
