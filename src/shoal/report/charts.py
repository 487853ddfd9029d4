"""Small charts, specified in Vega-Lite and coloured by the page's own style.

The original is an outlined bar and the release a filled one beside it, so that they differ in grey as well.
"""

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from shoal.report.drawing import COLOURS, LINE_HEIGHT, PLACEHOLDERS, svg
from shoal.report.evidence import Bin, Classes, ClassSizes, Distribution, MeasuredFigure
from shoal.report.forms import in_unit, share
from shoal.report.scales import Chart

LIGHT = {
    "before": "#9a5a20",
    "after": "#1f6fb2",
    "ink": "#1d2730",
    "faint": "#dfe3e6",
    "soft": "#55626d",
    "pale": "#f6ead9",
    "good": "#0b6b4f",
    "bad": "#a3261d",
}
"""The same colours where there is no page; those of style.css under light."""
UNDRAWABLE = "\ufffd"
"""Stands for a character that the renderer cannot draw."""
LETTERS = 80
"""Most characters of a label; the picture has space for fewer."""
WIDTH = 290
"""Width of a chart in a column's card, in pixels."""
LINE, LINES = 22, 3
"""Characters of a line of a label, and lines; what is longer ends in three dots."""
TABLES = ("original", "released")


def drawn(distribution: Distribution, labels: Mapping[str, str]) -> str:
    """A distribution as SVG text; parameters as for `distribution_chart`."""
    return svg(distribution_chart(distribution, labels))


def distribution_chart(distribution: Distribution, labels: Mapping[str, str]) -> Chart:
    """The Vega-Lite specification of a distribution's chart.

    Parameters
    ----------
    distribution
        The distribution, as in evidence.json.
    labels
        Labels of codes, as in evidence.json.
    """
    tables = [table for table in TABLES if any(bar["table"] == table for bar in distribution["bins"])]
    if distribution["scale"] == "nominal":
        return _bars(distribution["bins"], tables, labels)
    return _histogram(distribution, tables)


def _bars(bins: Sequence[Bin], tables: Sequence[str], labels: Mapping[str, str]) -> Chart:
    categories = list(dict.fromkeys(bar["category"] for bar in bins))
    shown = [lines_of(f"{c} {labels[c]}" if c in labels else c) for c in categories]
    values = [
        {"place": categories.index(bar["category"]), "table": bar["table"], "share": bar["share"]} for bar in bins
    ]
    return {
        "data": {"values": values},
        "width": WIDTH - 130,
        "height": {"step": max(24 if len(tables) > 1 else 18, 14 * max(map(len, shown))), "for": "position"},
        "mark": {"type": "bar", "strokeWidth": 1},
        "encoding": {
            "y": {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0.25}, "axis": _labels(shown)},
            "yOffset": {"field": "table", "type": "nominal", "sort": list(tables)},
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": None, "format": "%", "tickCount": 3},
                "scale": {"domainMin": 0},
            },
            **_looks(),
        },
    }


def _histogram(distribution: Distribution, tables: Sequence[str]) -> Chart:
    """A histogram in which the bars of two tables share a bin, each in its half."""
    parts = len(tables)
    values = [
        {
            "table": bar["table"],
            "share": bar["share"],
            "low": bar["low"] + (bar["high"] - bar["low"]) * place / parts,
            "high": bar["low"] + (bar["high"] - bar["low"]) * (place + 1) / parts,
        }
        for place, table in enumerate(tables)
        for bar in distribution["bins"]
        if bar["table"] == table
    ]
    return {
        "data": {"values": values},
        "width": WIDTH - 40,
        "height": 120,
        "mark": {"type": "bar", "strokeWidth": 0.8},
        "encoding": {
            "x": {
                "field": "low",
                "bin": {"binned": True},
                "type": distribution["scale"],
                "axis": {"title": None, "tickCount": 4, "labelOverlap": "greedy", "labelSeparation": 6, "grid": False},
            },
            "x2": {"field": "high"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "stack": None,
                "axis": {"title": None, "format": "%", "tickCount": 3},
            },
            **_looks(),
        },
    }


def class_sizes_chart(classes: Classes) -> Chart:
    """Shares of the records by the size of their class, as in evidence.json; unique records stand out."""
    ranges = [
        {
            "place": place,
            "records": size["records"],
            "share": size["records"] / classes["records"],
            "text": f"{size['records']:,} ({share(size['records'] / classes['records'])})",
            "alone": size["low"] == 1,
        }
        for place, size in enumerate(classes["sizes"])
    ]
    names = [[size_range(size)] for size in classes["sizes"]]
    y = {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0.25}, "axis": _labels(names)}
    x = {
        "field": "share",
        "type": "quantitative",
        "axis": {"title": "share of the records", "format": "%", "tickCount": 4},
    }
    colour = {"condition": {"test": "datum.alone", "value": COLOURS["bad"]}, "value": COLOURS["after"]}
    return {
        "data": {"values": ranges},
        "width": 260,
        "height": {"step": 22},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "color": COLOURS["ink"]},
                "encoding": {"x": x, "y": y, "text": {"field": "text"}},
            },
        ],
    }


def risks_chart(risks: Sequence[MeasuredFigure]) -> Chart:
    """Measured risks that are shares or probabilities, with the intervals of those that are estimates."""
    names = [lines_of(risk["title"]) for risk in risks]
    values = [
        {
            "place": place,
            "value": risk["value"],
            "text": in_unit(risk["value"], risk),
            **({"low": end["low"], "high": end["high"]} if (end := risk["interval"]) else {}),
        }
        for place, risk in enumerate(risks)
    ]
    y = {"field": "place", "type": "ordinal", "axis": _labels(names), "scale": {"paddingInner": 0.3}}
    x = {"field": "value", "type": "quantitative", "axis": {"title": None, "format": "%", "tickCount": 5}}
    x["scale"] = {"domain": [0, 1]}
    number = {"type": "text", "align": "left", "dx": 6, "dy": -9, "fontSize": 11, "color": COLOURS["ink"]}
    ends = {
        "data": {"values": [row for row in values if "low" in row]},
        "mark": {"type": "rule", "color": COLOURS["ink"]},
    }
    return {
        "data": {"values": values},
        "width": 360,
        "height": {"step": 30},
        "layer": [
            {"mark": {"type": "bar", "color": COLOURS["after"]}, "encoding": {"x": x, "y": y}},
            {**ends, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}},
            {"mark": number, "encoding": {"x": x, "y": y, "text": {"field": "text"}}},
        ],
    }


def size_range(size: ClassSizes) -> str:
    """The sizes of a class in words: '1', '5 to 9', '1,000 or more'."""
    if size["high"] is None:
        return f"{size['low']:,} or more"
    return f"{size['low']:,}" if size["low"] == size["high"] else f"{size['low']:,} to {size['high']:,}"


def _labels(shown: Sequence[Sequence[str]]) -> Chart:
    """An axis of labels, each of one or several lines that are centred on its bars."""
    lines = [len(label) for label in shown]
    above = [
        {"test": f"{json.dumps(lines)}[datum.value] == {count}", "value": -LINE_HEIGHT * (count - 1) / 2}
        for count in range(2, LINES + 1)
    ]
    return {
        "title": None,
        "labelExpr": f"{json.dumps(shown)}[datum.value]",
        "labelLimit": 0,
        "labelLineHeight": LINE_HEIGHT,
        "labelOffset": {"condition": above, "value": 0},
        "labelPadding": 5,
        "ticks": False,
    }


def _looks() -> Chart:
    """Channels that show the original outlined and the release filled."""
    both = list(TABLES)
    return {
        "fill": {
            "field": "table",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": both, "range": [COLOURS["pale"], COLOURS["after"]]},
        },
        "stroke": {
            "field": "table",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": both, "range": [COLOURS["before"], COLOURS["after"]]},
        },
    }


def lines_of(text: str) -> list[str]:
    """A label in lines that fit beside a chart."""
    return wrap(text_only(text[:LETTERS]), LINE, max_lines=LINES, placeholder="...") or [""]


def text_only(text: str) -> str:
    """The text with a sign in place of each character that the renderer cannot draw."""
    return "".join(char if char.isprintable() and ord(char) < 0xFFFE else UNDRAWABLE for char in text)


VEGA_LITE = "https://vega.github.io/schema/vega-lite/v5.json"


def with_colours(spec: Any) -> Any:
    """A specification with the colours of the light scheme, for a renderer without a page."""
    if isinstance(spec, Mapping):
        return {key: with_colours(below) for key, below in spec.items()}
    if isinstance(spec, (list, tuple)):
        return [with_colours(below) for below in spec]
    return LIGHT[PLACEHOLDERS[spec]] if isinstance(spec, str) and spec in PLACEHOLDERS else spec
