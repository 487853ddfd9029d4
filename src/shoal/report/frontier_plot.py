"""The frontier of risk and utility as a picture."""

import json
from collections.abc import Mapping
from typing import Any

from shoal.methods import entry
from shoal.report.charts import COLOURS, svg

MARGIN = 16
"""Points between the outermost marks and the ends of the axis."""


def frontier_plot(frontier: Mapping[str, Any]) -> str | None:
    """Risk against utility of every candidate as an SVG text; None where no candidate has both figures.

    Parameters
    ----------
    frontier
        The content of frontier.json.
    """
    points = [p for p in frontier["points"] if p["risk"] is not None and p["utility"] is not None]
    if not points:
        return None
    on = [p for p in points if p["name"] in frontier["pareto"]]
    titles = {axis: entry(axis, frontier[axis]).title for axis in ("risk", "utility")}
    x = {"field": "risk", "type": "quantitative",
         "axis": {"title": _axis(titles["risk"], frontier["better"][0]), "tickCount": 6},
         "scale": {"zero": False, "padding": MARGIN}}
    y = {"field": "utility", "type": "quantitative", "axis": {"title": _axis(titles["utility"], frontier["better"][1])},
         "scale": {"type": "sqrt" if min(p["utility"] for p in points) >= 0 else "linear"}}
    line = {"data": {"values": on}, "mark": {"type": "line", "color": COLOURS["after"]},
            "encoding": {"x": x, "y": y, "order": {"field": "risk"}}}
    marks = [{**p, "kind": _kind(p, frontier)} for p in points]
    dots = {
        "data": {"values": marks},
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "x": x, "y": y,
            "size": {"condition": {"test": f"datum.name === {json.dumps(frontier['recommended'])}", "value": 150},
                     "value": 50},
            "color": {"field": "kind", "type": "nominal", "legend": None, "scale": {
                "domain": ["frontier", "beaten", "refused"],
                "range": [COLOURS["after"], COLOURS["before"], COLOURS["soft"]]}},
            "shape": {"condition": {"test": "datum.kind === 'refused'", "value": "cross"}, "value": "circle"},
        },
    }
    along = sorted(on, key=lambda p: p["risk"])
    above, below = along[:-1:2] + along[-1:], along[1:-1:2]  # by turns, for points of the frontier lie close together
    names = [{
        "data": {"values": named},
        "mark": {"type": "text", "dx": 8, "dy": dy, "align": "left", "fontSize": 10, "color": COLOURS["ink"],
                 "font": "sans-serif"},
        "encoding": {"x": x, "y": y, "text": {"field": "name"}},
    } for named, dy in ((above, -8), (below, 11)) if named]
    return svg({"width": 620, "height": 360, "layer": [line, dots, *names]})


def _kind(point: Mapping[str, Any], frontier: Mapping[str, Any]) -> str:
    if not point["holds"]:
        return "refused"
    return "frontier" if point["name"] in frontier["pareto"] else "beaten"


def _axis(title: str, better: str) -> str:
    return f"{title} ({better} is better)"
