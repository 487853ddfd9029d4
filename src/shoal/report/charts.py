"""Small charts for the report: shares in bins, drawn by Vega-Lite, coloured by the page's own style."""

import re
from collections.abc import Mapping
from typing import Any

PLACEHOLDERS = {"#010203": "before", "#040506": "after", "#070809": "ink", "#0a0b0c": "faint", "#0d0e0f": "soft"}
"""Colours that no one sees: each is exchanged for a class of the page's style, so both schemes work."""
COLOURS = {name: colour for colour, name in PLACEHOLDERS.items()}
UNDRAWABLE = "\ufffd"
"""Stands for a character that the renderer cannot draw."""


def drawn(distribution: Mapping[str, Any]) -> str:
    """A distribution as an SVG text.

    Parameters
    ----------
    distribution
        As evidence.json has it.
    """
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
            "data": {"values": [_drawable(one) for one in distribution["bins"]]},
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


def _drawable(one: Mapping[str, Any]) -> dict[str, Any]:
    """A bin whose label the renderer draws; control characters, and what is beyond 16 bits, would end the process."""
    return {key: text_only(value) if isinstance(value, str) else value for key, value in one.items()}


def text_only(text: str) -> str:
    """The text with a sign in place of characters that the renderer cannot draw."""
    return "".join(char if char.isprintable() and ord(char) < 0xFFFE else UNDRAWABLE for char in text)


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
