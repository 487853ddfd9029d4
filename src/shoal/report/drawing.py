"""Charts as SVG text, drawn from the part of Vega-Lite in which the pages specify them, as Vega would draw it.

A chart has bars, rules, texts, points or a line, in layers. Its horizontal axis is one of figures or times; its
vertical one, too, or it has places 0, 1, ... with labels. Colours are variables of the page's style. How long a text is
depends on the reader's letters; the guess of it decides the margins alone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import inf, sqrt
from typing import Any
from unicodedata import east_asian_width

from shoal.report.scales import Chart, Scale, scale_of

PLACEHOLDERS = {
    "#010203": "before",
    "#040506": "after",
    "#070809": "ink",
    "#0a0b0c": "faint",
    "#0d0e0f": "soft",
    "#101112": "pale",
    "#131415": "good",
    "#161718": "bad",
}
"""Colours of a specification that are never seen: each is a variable of the page's style, so that both schemes work."""
COLOURS = {name: colour for colour, name in PLACEHOLDERS.items()}
FONT, MIDDLE = 11, 3
"""Height of letters in pixels, and how far they stand below the middle of their line."""
LINE_HEIGHT = 12
"""Height of a line of a label, in pixels."""
PADDING, TICK, GAP = 5, 5, 6
"""Around the chart; length of a tick; least space between labels of one axis."""
TICKS = 9
"""Ticks of an axis that asks for no number of them."""
NARROW, WIDE = {**dict.fromkeys("ijl.,:;'|! ", 0.3), **dict.fromkeys("frt()[]-/", 0.4)}, dict.fromkeys("mwMW%@", 0.95)
"""Lengths of letters, in their height."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bands:
    """A vertical scale of places, each with a band for its bars.

    Parameters
    ----------
    step
        From one place to the next, in pixels.
    free
        Part of it that is left free.
    tables
        Tables whose bars share a band, in their order.
    """

    step: float
    free: float
    tables: Sequence[str]

    @property
    def edge(self) -> float:
        """Part of a step above the first bar and below the last."""
        return 0.2 if self.tables else self.free / 2

    def height(self, places: int) -> float:
        """The height of so many places."""
        return self.step * (places - self.free + 2 * self.edge)

    def band(self, row: Row) -> tuple[float, float]:
        """Top and height of a row's bar."""
        height = self.step * (1 - self.free) / max(len(self.tables), 1)
        before = self.tables.index(row["table"]) if self.tables else 0
        return self.step * (row["place"] + self.edge) + before * height, height

    def place(self, place: float) -> float:
        """The middle of a place."""
        return self.step * (place + self.edge + (1 - self.free) / 2)


class Paper:
    """Elements of a picture, and how far they reach."""

    def __init__(self, width: float, height: float) -> None:
        self.elements: list[str] = []
        self.width, self.height = width, height
        self.left, self.top, self.right, self.bottom = 0.0, 0.0, width, height

    def path(self, drawn: str, **look: object) -> None:
        """A path with its style: colours, and what else SVG knows."""
        self.elements.append(f'<path d="{drawn}"{_style(look)}/>')

    def line(self, x: float, y: float, along: float, down: float, colour: str) -> None:
        """A line of one pixel, in the middle of pixels."""
        self.path(f"M{_px(x + 0.5)},{_px(y + 0.5)}l{_px(along)},{_px(down)}", stroke=colour)

    def text(self, x: float, y: float, lines: Sequence[str], anchor: str, *, upwards: bool = False) -> None:
        """Lines of text, the first of which stands at a height y; or one that reads upwards, at x."""
        length, further = max(map(text_width, lines)), LINE_HEIGHT * (len(lines) - 1)
        before = length * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        self.left = min(self.left, x - (FONT if upwards else before))
        self.right = max(self.right, x if upwards else x - before + length)
        self.top = min(self.top, y - (before if upwards else FONT))
        self.bottom = max(self.bottom, y + (length - before if upwards else MIDDLE + further))
        shown = [escape(line, quote=False) for line in lines]
        spans = (f'<tspan x="0" dy="{LINE_HEIGHT if n else 0}">{line}</tspan>' for n, line in enumerate(shown))
        self.elements.append(
            f'<text text-anchor="{anchor}" transform="translate({_px(x)},{_px(y)}){" rotate(-90)" if upwards else ""}" '
            f'font-family="sans-serif" font-size="{FONT}px"{_style({"fill": COLOURS["ink"]})}>'
            f"{shown[0] if len(shown) == 1 else ''.join(spans)}</text>"
        )

    def svg(self) -> str:
        """The picture."""
        left, top = self.left - PADDING, self.top - PADDING
        width, height = _px(self.right + PADDING - left), _px(self.bottom + PADDING - top)
        return (
            f'<svg role="img" aria-hidden="true" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="{_px(left)} {_px(top)} {width} {height}"><g fill="none">{"".join(self.elements)}</g></svg>'
        )


def svg(spec: Chart) -> str:
    """A chart as SVG text whose colours are variables of the page.

    Parameters
    ----------
    spec
        The specification, whose first layer describes the axes.
    """
    layers = [{**{"data": spec.get("data")}, **layer} for layer in spec.get("layer", [spec])]
    x, y = (layers[0]["encoding"][channel] for channel in ("x", "y"))
    across = _scale(layers, "x", (0.0, float(spec["width"])))
    if y["type"] == "ordinal":
        labels = json.loads(y["axis"]["labelExpr"].removesuffix("[datum.value]"))
        tables = layers[0]["encoding"].get("yOffset", {}).get("sort", ())
        places = Bands(spec["height"]["step"], y["scale"]["paddingInner"], tables)
        paper = Paper(spec["width"], places.height(len(labels)))
        _horizontal_axis(paper, across, x)
        _labels(paper, places, labels)
        _draw(paper, layers, across, places)
    else:
        up = _scale(layers, "y", (float(spec["height"]), 0.0))
        paper = Paper(spec["width"], spec["height"])
        _horizontal_axis(paper, across, x)
        _vertical_axis(paper, up, y)
        _draw(paper, layers, across, up)
    return paper.svg()


def text_width(text: str) -> float:
    """About how long a line of text is, in pixels."""
    return FONT * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter > "\x7f":
        return 1.0 if east_asian_width(letter) in "WF" else 0.7
    return NARROW.get(letter) or WIDE.get(letter) or (0.7 if letter.isupper() else 0.56)


def _scale(layers: Sequence[Chart], channel: str, ends: tuple[float, float]) -> Scale:
    """The scale of a channel, for the figures of all layers."""
    described = layers[0]["encoding"][channel]
    named = [
        (layer["data"]["values"], encoding["field"])
        for layer in layers
        for name, encoding in layer["encoding"].items()
        if name in (channel, f"{channel}2")
    ]
    figures = [float(row[field]) for rows, field in named for row in rows] or [0.0]
    along_line = channel == "x" and layers[0]["mark"]["type"] == "line"
    from_zero = "bin" not in described and not along_line
    return scale_of(figures, ends, described.get("scale", {}), described["type"], from_zero=from_zero)


def _horizontal_axis(paper: Paper, scale: Scale, described: Chart) -> None:
    """Ticks with labels under the chart, none over another, and the lines above them."""
    axis, width, height = described["axis"], paper.width, paper.height
    free = -inf
    for figure, label in scale.ticks(axis.get("tickCount", TICKS), axis.get("format")):
        x = scale.place(figure)
        if axis.get("grid", True):
            paper.line(x, 0, 0, height, COLOURS["faint"])
        paper.line(x, height, 0, TICK, COLOURS["soft"])
        anchor = "start" if x <= 1 else "end" if x >= width - 1 else "middle"
        length = text_width(label)
        begin = x - length * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        if begin >= free:
            free = begin + length + GAP
            paper.text(x, height + TICK + FONT, [label], anchor)
    paper.line(0, height, width, 0, COLOURS["soft"])
    if axis["title"]:
        paper.text(width / 2, height + TICK + 2 * FONT + 4, [axis["title"]], "middle")


def _vertical_axis(paper: Paper, scale: Scale, described: Chart) -> None:
    """Ticks with labels beside the chart, and lines from them."""
    axis, width, height = described["axis"], paper.width, paper.height
    for figure, label in scale.ticks(axis["tickCount"], axis.get("format")):
        y = scale.place(figure)
        paper.line(0, y, width, 0, COLOURS["faint"])
        paper.line(-TICK, y, TICK, 0, COLOURS["soft"])
        paper.text(-TICK - 2, y + MIDDLE, [label], "end")
    paper.line(0, 0, 0, height, COLOURS["soft"])
    if axis["title"]:
        paper.text(paper.left - 2 * MIDDLE, height / 2, [axis["title"]], "middle", upwards=True)


def _labels(paper: Paper, places: Bands, labels: Sequence[Sequence[str]]) -> None:
    """Labels, each of one line or several, around the middle of their places."""
    for place, lines in enumerate(labels):
        above = LINE_HEIGHT * (len(lines) - 1) / 2
        paper.text(-PADDING, places.place(place) + MIDDLE - above, lines, "end")
    paper.line(0, 0, 0, paper.height, COLOURS["soft"])


def _draw(paper: Paper, layers: Sequence[Chart], x: Scale, y: Scale | Bands) -> None:
    """The marks of all layers."""
    for layer in layers:
        mark, encoding, rows = layer["mark"], layer["encoding"], layer["data"]["values"]
        if mark["type"] == "bar":
            _draw_bars(paper, mark, encoding, rows, x, y)
            continue
        marked = [(row, x.place(row[encoding["x"]["field"]]), y.place(row[encoding["y"]["field"]])) for row in rows]
        if mark["type"] == "line":
            ordered = sorted(marked, key=lambda point: point[0][encoding["order"]["field"]])
            drawn = "L".join(f"{_px(across)},{_px(down)}" for _, across, down in ordered)
            paper.path(f"M{drawn}", stroke=mark["color"], stroke_width=mark["strokeWidth"])
            continue
        for row, across, down in marked:
            _draw_mark(paper, mark, encoding, row, across, down, x)


def _draw_mark(paper: Paper, mark: Chart, encoding: Chart, row: Row, across: float, down: float, x: Scale) -> None:
    """A text, a rule or a point."""
    if mark["type"] == "text":
        lines = [str(row[encoding["text"]["field"]])]
        paper.text(across + mark["dx"], down + mark.get("dy", 0) + MIDDLE, lines, ANCHORS[mark.get("align", "center")])
    elif mark["type"] == "rule":
        end = x.place(row[encoding["x2"]["field"]])
        paper.path(f"M{_px(across)},{_px(down)}H{_px(end)}", stroke=mark["color"])
    else:
        look = {"fill" if mark["filled"] else "stroke": mark["color"]}
        shape = _shape(mark["shape"], sqrt(mark["size"]) / 2)
        paper.path(f"M{_px(across)},{_px(down)}{shape}", stroke_width=2, **look)


def _draw_bars(paper: Paper, mark: Chart, encoding: Chart, rows: Sequence[Row], x: Scale, y: Scale | Bands) -> None:
    for row, (left, top, width, height) in _bars(encoding, rows, x, y):
        drawn = f"M{_px(left)},{_px(top)}h{_px(width)}v{_px(height)}h{_px(-width)}Z"
        if "stroke" in encoding:
            look = {name: _value(encoding[name], row) for name in ("fill", "stroke")}
            paper.path(drawn, stroke_width=mark["strokeWidth"], **look)
        else:
            paper.path(drawn, fill=_value(encoding["color"], row) if "color" in encoding else mark["color"])


ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def _bars(
    encoding: Chart, rows: Sequence[Row], x: Scale, y: Scale | Bands
) -> Iterator[tuple[Row, tuple[float, float, float, float]]]:
    """Rows with the left end, the top, the width and the height of their bars."""
    for row in rows:
        at = x.place(row[encoding["x"]["field"]])
        if isinstance(y, Bands):
            top, height = y.band(row)
            yield row, (min(x.place(0.0), at), top, abs(at - x.place(0.0)), height)
        else:  # a pixel between one bin and the next
            width = max(x.place(row[encoding["x2"]["field"]]) - at - 1, 0.25)
            top = y.place(row[encoding["y"]["field"]])
            yield row, (at + 0.5, top, width, y.place(0.0) - top)


def _value(described: Chart, row: Row) -> str:
    """A colour, as a scale or a condition gives it to a row."""
    if "condition" in described:
        flag = described["condition"]["test"].removeprefix("datum.")
        return str((described["condition"] if row[flag] else described)["value"])
    scale = described["scale"]
    return str(scale["range"][scale["domain"].index(row[described["field"]])])


def _shape(shape: str, r: float) -> str:
    """A path around a point, of half a width."""
    if shape == "circle":
        return f"m{_px(-r)},0a{_px(r)},{_px(r)},0,1,0,{_px(2 * r)},0a{_px(r)},{_px(r)},0,1,0,{_px(-2 * r)},0"
    if shape == "square":
        return f"m{_px(-r)},{_px(-r)}h{_px(2 * r)}v{_px(2 * r)}h{_px(-2 * r)}Z"
    if shape == "diamond":
        return f"m{_px(-r)},0l{_px(r)},{_px(-r)}l{_px(r)},{_px(r)}l{_px(-r)},{_px(r)}Z"
    arm, rest = r / 2.5, r - r / 2.5  # a cross
    sides = "".join(
        f"l{_px(a * 2 * arm)},{_px(b * 2 * arm)}l{_px(-b * rest)},{_px(a * rest)}l{_px(a * rest)},{_px(b * rest)}"
        for a, b in ((1, 0), (0, 1), (-1, 0), (0, -1))
    )
    return f"m{_px(-arm)},{_px(-r)}{sides}Z"


def _style(look: Mapping[str, object]) -> str:
    """Attributes: placeholder colours as variables, all else as it is."""
    themed = [f"{part}:var(--{PLACEHOLDERS[str(value)]})" for part, value in look.items() if value in PLACEHOLDERS]
    plain = [f'{part.replace("_", "-")}="{value}"' for part, value in look.items() if value not in PLACEHOLDERS]
    return "".join(f" {attribute}" for attribute in (*plain, f'style="{";".join(themed)}"'))


def _px(length: float) -> str:
    """A length with two decimals at most."""
    return f"{length:.2f}".rstrip("0").rstrip(".")
