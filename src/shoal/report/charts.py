"""Small charts for the report: binned counts only, drawn by Vega-Lite, coloured by the page's own style."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.hierarchy import number_label
from shoal.data.records import Variable
from shoal.judges.evidence import rounded
from shoal.kernels.arrays import Bools, Floats

BINS = 24
PLACEHOLDERS = {"#010203": "before", "#040506": "after", "#070809": "ink", "#0a0b0c": "faint", "#0d0e0f": "soft"}
"""Colours that no one sees: each is exchanged for a class of the page's style, so both schemes work."""
COLOURS = {name: colour for colour, name in PLACEHOLDERS.items()}
MOST_CATEGORIES = 12
NOT_RELEASED = "not in the release"
MILLISECONDS = {"date": 86_400_000.0, "datetime": 1e-3}
"""From a column's own unit (days, microseconds) to the unit of a time axis."""


def distribution(original: Variable, released: Variable, threshold: int, *, public: bool) -> dict[str, Any] | None:
    """Shares of records in bins, original against released; None where there is nothing that may be shown.

    Counts below `threshold` are left out, and the smallest other one where those left out could be told from the
    rest. The outer bins are those of the `threshold`-th lowest and highest value and hold everything beyond, so that
    no few records shape the picture. For the public, categories of the original that the release does not
    have are one bar without their names.

    Returns
    -------
    `scale` (quantitative, temporal with bins in milliseconds since 1970, or nominal) and `bins`, each with its
    `table` (original or released), `low` and `high` or `category`, and `share`.
    """
    if original.continuous and released.continuous:
        to_axis = MILLISECONDS.get(original.unit or "", 1.0)
        scale = "temporal" if original.unit in MILLISECONDS else "quantitative"
        bins = _histogram(original.values * to_axis, released.values * to_axis, threshold)
    else:
        scale, bins = "nominal", _bars(original, released, threshold, public)
    return {"scale": scale, "bins": bins} if bins else None


def drawn(distribution: Mapping[str, Any]) -> str:
    """A distribution as an SVG text."""
    if distribution["scale"] == "nominal":
        x: dict[str, Any] = {
            "field": "category",
            "type": "nominal",
            "sort": None,
            "axis": {"title": None, "labelAngle": -40, "labelLimit": 90},
        }
        extra: dict[str, Any] = {}
    else:
        x = {
            "field": "low",
            "bin": {"binned": True},
            "type": distribution["scale"],
            "axis": {"title": None, "tickCount": 4, "labelOverlap": "greedy", "labelSeparation": 6},
        }
        extra = {"x2": {"field": "high"}}
    colour = {
        "field": "table",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["original", "released"], "range": [COLOURS["before"], COLOURS["after"]]},
    }
    return svg(
        {
            "data": {"values": distribution["bins"]},
            "width": 250,
            "height": 110,
            "mark": {"type": "bar", "opacity": 0.62},
            "encoding": {
                "x": x,
                **extra,
                "color": colour,
                "y": {
                    "field": "share",
                    "type": "quantitative",
                    "stack": None,
                    "axis": {"title": None, "format": "%", "tickCount": 3},
                },
            },
        }
    )


def svg(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as an SVG text whose colours are classes of the page."""
    import vl_convert

    config = {
        "background": None,
        "view": {"stroke": None},
        "axis": {
            "labelColor": COLOURS["ink"],
            "titleColor": COLOURS["ink"],
            "gridColor": COLOURS["faint"],
            "domainColor": COLOURS["ink"],
            "tickColor": COLOURS["ink"],
            "labelFontSize": 10,
            "labelFont": "sans-serif",
            "titleFont": "sans-serif",
        },
    }
    full = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": config, **spec}
    drawn = vl_convert.vegalite_to_svg(full, vl_version="5.20")
    for colour, name in PLACEHOLDERS.items():
        for part in ("fill", "stroke"):
            drawn = drawn.replace(f'{part}="{colour}"', f'style="{part}:var(--{name})"')
    return re.sub(r"<svg ", '<svg role="img" aria-hidden="true" ', drawn, count=1)


def _histogram(before: Floats, after: Floats, threshold: int) -> list[dict[str, Any]]:
    known = np.sort(before[~np.isnan(before)])
    if len(known) < 2 * threshold:
        return []
    edges = _edges(float(known[threshold - 1]), float(known[-threshold]))
    rows = []
    for name, values in (("original", before), ("released", after)):
        inside = np.clip(values[~np.isnan(values)], edges[0], edges[-1])
        counts, _ = np.histogram(inside, edges)
        rows += [
            {"table": name, "low": float(low), "high": float(high), "share": rounded(count / max(len(inside), 1))}
            for low, high, count, safe in zip(edges, edges[1:], counts, shown(counts, threshold))
            if safe
        ]
    return rows


def shown(counts: NDArray[np.int64], threshold: int) -> Bools:
    """Which bins may be shown: those of `threshold` records or more, and together they give away no smaller one.

    Shares add up to 1, so what is left out adds up too: if that were fewer than `threshold` records, the smallest
    bin that could be shown is left out as well (complementary suppression).
    """
    safe = counts >= threshold
    if 0 < counts[~safe].sum() < threshold and safe.any():
        safe[np.flatnonzero(safe)[np.argmin(counts[safe])]] = False
    return safe


def _edges(low: float, high: float) -> Floats:
    """Round bin edges that cover [low, high]."""
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    raw = max((high - low) / BINS, np.finfo(np.float64).tiny * 16)
    power = 10.0 ** np.floor(np.log10(raw))
    width = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw)
    first = np.floor(low / width)
    edges = np.arange(first, np.ceil(high / width) + 1) * width
    digits = 1 - int(np.floor(np.log10(width)))
    return np.array([round(float(edge), digits) for edge in edges])  # without what arithmetic adds


def _bars(original: Variable, released: Variable, threshold: int, public: bool) -> list[dict[str, Any]]:
    before, after = _counts(original), _counts(released)
    if public and (gone := [category for category in before if not after.get(category)]):
        before[NOT_RELEASED] = before.get(NOT_RELEASED, 0) + sum(before.pop(category) for category in gone)
    named = dict.fromkeys([*before, *after])  # in an order that no hash decides
    order = sorted(named, key=lambda c: -max(before.get(c, 0), after.get(c, 0)))
    rows = []
    for name, count in (("original", before), ("released", after)):
        held = [c for c in order if count.get(c, 0)]
        safe = shown(np.array([count[c] for c in held], dtype=np.int64), threshold)
        safe_ones = {category for category, fine in zip(held, safe) if fine}
        rows += [
            {"table": name, "category": category, "share": rounded(count[category] / max(sum(count.values()), 1))}
            for category in order[:MOST_CATEGORIES]
            if category in safe_ones
        ]
    return rows


def _counts(variable: Variable) -> dict[str, int]:
    if variable.continuous:
        values, found = np.unique(variable.values[~variable.missing], return_counts=True)
        return {number_label(value): int(count) for value, count in zip(values.tolist(), found)}
    found = np.bincount(variable.values[~variable.missing], minlength=len(variable.categories))
    return {str(category): int(count) for category, count in zip(variable.categories, found)}
