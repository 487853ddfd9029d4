"""A map of risk against loss, with the release, the unprotected table, and candidates as landmarks.

Marks are numbered, since names would overlap; a table beside the map explains the numbers.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from shoal.report.charts import LETTERS, text_only
from shoal.report.drawing import COLOURS
from shoal.report.forms import Bound, number_of
from shoal.report.scales import Chart
from shoal.vocabulary.facts import Better

MarkKind = Literal["release", "unprotected", "frontier", "beaten", "refused"]

MARGIN = 40
"""Points between the outermost marks and the ends of an axis."""

SHAPES: dict[MarkKind, tuple[str, str, int, bool]] = {
    "refused": ("cross", COLOURS["soft"], 60, False),
    "beaten": ("circle", COLOURS["before"], 55, False),
    "frontier": ("circle", COLOURS["after"], 70, True),
    "unprotected": ("diamond", COLOURS["bad"], 170, True),
    "release": ("square", COLOURS["after"], 200, True),
}
"""Shape, colour, size and filling of each kind of mark; later ones are drawn on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point of the map.

    Parameters
    ----------
    label
        Label of the mark: a number, or a word or two.
    """

    label: str
    kind: MarkKind
    risk: float
    loss: float


def marks_of(label: str, kind: MarkKind, risk: float | Bound | None, loss: float | Bound | None) -> list[Mark]:
    """The mark of two figures; none if one is missing."""
    x, y = number_of(risk), number_of(loss)
    return [] if x is None or y is None else [Mark(label=label, kind=kind, risk=x, loss=y)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The title and direction of an axis.

    Parameters
    ----------
    as_share
        True if its figures are shares, shown in per cent.
    """

    title: str
    better: Better
    as_share: bool = False

    def encoding(self, field: str, figures: Sequence[float]) -> Chart:
        """The encoding of a channel, with the best figures at the left or at the bottom.

        Figures that are better the lower, and never negative, are on a square-root scale, as most lie near 0.
        """
        axis = {"title": f"{text_only(self.title[:LETTERS])} ({self.better} is better)", "tickCount": 6, "grid": True}
        if self.as_share:
            axis["format"] = ".3~%"
        lower = self.better == "lower"
        kind = "sqrt" if lower and min(figures) >= 0 else "linear"
        scale = {"type": kind, "padding": MARGIN, "nice": False, "reverse": not lower}
        return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def risk_map(marks: Sequence[Mark], risk: Axis, loss: Axis) -> Chart:
    """The specification of the map.

    Parameters
    ----------
    marks
        One mark or more.
    risk, loss
        The horizontal and the vertical axis.
    """
    x = risk.encoding("risk", [mark.risk for mark in marks])
    y = loss.encoding("loss", [mark.loss for mark in marks])
    on = sorted((mark for mark in marks if mark.kind == "frontier"), key=lambda mark: mark.risk)
    layers: list[Chart] = []
    if len(on) > 1:
        layers.append(
            {
                "data": {"values": [asdict(mark) for mark in on]},
                "mark": {"type": "line", "color": COLOURS["after"], "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y, "order": {"field": "risk"}},
            }
        )
    for kind, (shape, colour, size, filled) in SHAPES.items():
        if here := [asdict(mark) for mark in marks if mark.kind == kind]:
            look = {"type": "point", "shape": shape, "color": colour, "size": size, "filled": filled, "opacity": 1}
            layers.append({"data": {"values": here}, "mark": look, "encoding": {"x": x, "y": y}})
    return {"width": 520, "height": 300, "layer": [*layers, *_labels(marks, x, y)]}


def _labels(marks: Sequence[Mark], x: Chart, y: Chart) -> list[Chart]:
    """Labels of the marks, alternately above and below them."""
    ordered = sorted(marks, key=lambda mark: (mark.risk, mark.loss))
    return [
        {
            "data": {"values": [asdict(mark) for mark in by_turns]},
            "mark": {"type": "text", "dx": dx, "dy": dy, "fontSize": 11, "color": COLOURS["ink"]},
            "encoding": {"x": x, "y": y, "text": {"field": "label"}},
        }
        for by_turns, dx, dy in ((ordered[::2], 0, -13), (ordered[1::2], 0, 15))
        if by_turns
    ]
