"""The frontier of risk and utility as a picture; its marks are numbered, for names would lie over each other."""

import json
from collections.abc import Mapping
from typing import Any

from shoal.methods import entry
from shoal.report.charts import COLOURS, svg

MARGIN = 16
"""Points between the outermost marks and the ends of the axis."""


def along_frontier(frontier: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates on the frontier in the order of their numbers: as risk rises."""
    return sorted((p for p in frontier["points"] if p["name"] in frontier["pareto"]), key=lambda p: p["risk"])


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
    on = along_frontier(frontier)
    titles = {axis: entry(axis, frontier[axis]).title for axis in ("risk", "utility")}
    x = {
        "field": "risk",
        "type": "quantitative",
        "axis": {"title": _axis(titles["risk"], frontier["better"][0]), "tickCount": 6},
        "scale": {"zero": False, "padding": MARGIN},
    }
    y = {
        "field": "utility",
        "type": "quantitative",
        "axis": {"title": _axis(titles["utility"], frontier["better"][1])},
        "scale": {"type": "sqrt" if min(p["utility"] for p in points) >= 0 else "linear"},
    }
    line = {
        "data": {"values": on},
        "mark": {"type": "line", "color": COLOURS["after"]},
        "encoding": {"x": x, "y": y, "order": {"field": "risk"}},
    }
    marks = [{**p, "kind": "beaten" if p["holds"] else "refused"} for p in points if p not in on] + [
        {**p, "kind": "frontier"} for p in on
    ]  # those drawn last lie on top
    looks = _looks(frontier["recommended"])
    dots = {
        "data": {"values": marks},
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {"x": x, "y": y, **looks},
    }
    numbered = [{**p, "number": str(number)} for number, p in enumerate(on, 1)]
    numbers = [
        {
            "data": {"values": by_turns},
            "mark": {"type": "text", "dx": dx, "dy": dy, "fontSize": 11, "color": COLOURS["ink"], "font": "sans-serif"},
            "encoding": {"x": x, "y": y, "text": {"field": "number"}},
        }
        for by_turns, dx, dy in ((numbered[::2], 6, -11), (numbered[1::2], -6, 13))
        if by_turns
    ]
    return svg({"width": 620, "height": 360, "layer": [line, dots, *numbers]})


def _looks(recommended: str | None) -> dict[str, Any]:
    """Size, colour and shape of a candidate's mark: whether it is recommended, beaten or refused."""
    return {
        "size": {"condition": {"test": f"datum.name === {json.dumps(recommended)}", "value": 150}, "value": 50},
        "color": {
            "field": "kind",
            "type": "nominal",
            "legend": None,
            "scale": {
                "domain": ["frontier", "beaten", "refused"],
                "range": [COLOURS["after"], COLOURS["before"], COLOURS["soft"]],
            },
        },
        "shape": {"condition": {"test": "datum.kind === 'refused'", "value": "cross"}, "value": "circle"},
    }


def _axis(title: str, better: str) -> str:
    return f"{title} ({better} is better)"
