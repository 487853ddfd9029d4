"""Pictures: whatever a label holds, a release does not die for its picture."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.report import charts, renderer
from shoal.report.charts import (
    PLACEHOLDERS,
    UNDRAWABLE,
    UNDRAWN,
    class_sizes_chart,
    distribution_chart,
    drawn,
    lines_of,
    svg,
    text_only,
    with_colours,
)
from shoal.report.frontier_marks import marks, numbered
from shoal.report.frontier_page import frontier_page

HOSTILE = ["\x00", "\x01", "\x0b", "\x1a", "\x1b[2J", "\ufffe", "\uffff", "\ud800", "\U0001f41f" * 18, "\u202e" * 40]


def bars(labels: list[str]) -> dict[str, Any]:
    return {
        "scale": "nominal",
        "further": 0,
        "bins": [{"table": "released", "category": label, "share": 0.5} for label in labels],
    }


@pytest.mark.parametrize("label", HOSTILE, ids=[ascii(label)[:10] for label in HOSTILE])
def test_hostile_labels_are_drawn(label: str) -> None:
    assert drawn(bars(["a" + label]), {}) != UNDRAWN


ENDING = ["\x00", "\ud800", "\u202e" * 40]
"""One of each way in which a text goes wrong: it ends the renderer, it cannot be handed to it, it is drawn."""


@pytest.mark.parametrize("label", ENDING, ids=[ascii(label)[:10] for label in ENDING])
def test_no_text_ends_more_than_the_renderer(label: str) -> None:
    """The texts as they are, some of which end the renderer; the next picture is drawn all the same."""
    spec = {"data": {"values": [{"x": "a" + label, "y": 1}]}, "mark": "bar", "encoding": {"x": {"field": "x"}}}
    assert "<svg" in svg(spec)
    assert drawn(bars([f"after {label!a}"]), {}) != UNDRAWN


DIES = """
import os, sys
for line in sys.stdin:
    os._exit(9) if "bad" in line else print('"<svg>"', flush=True)
"""


def test_a_picture_that_ends_the_renderer_is_missing_and_the_next_one_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "CHILD", DIES)
    drawing = renderer.Renderer()
    assert [drawing.svg({"label": label}) for label in ("good", "bad", "better")] == ["<svg>", None, "<svg>"]
    drawing.close()


COUNTS = """
import sys
for number, line in enumerate(sys.stdin):
    print(f'"<svg>{number}"', flush=True)
"""


def test_a_picture_is_drawn_once_and_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "CHILD", COUNTS)
    monkeypatch.setattr(renderer, "KEPT", 2)
    drawing = renderer.Renderer()
    asked = ["a", "b", "a", "b", "c", "b", "a"]
    assert [drawing.svg({"label": label}) for label in asked] == [f"<svg>{n}" for n in (0, 1, 0, 1, 2, 1, 3)]
    drawing.close()


def test_an_interrupted_picture_is_not_the_answer_to_the_next_question(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = renderer.Renderer()

    def interrupted() -> str:
        raise KeyboardInterrupt

    _, out = drawing._pipes()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(out, "readline", interrupted)
        drawing.svg({"data": {"values": [{}]}, "mark": "point", "title": "first"})
    picture = drawing.svg({"data": {"values": [{}]}, "mark": "point", "title": "second"})
    assert picture is not None
    assert "second" in picture
    drawing.close()


def test_a_release_is_written_without_its_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(renderer, "CHILD", "")
    monkeypatch.setattr(charts, "RENDERER", renderer.Renderer())
    frame = pl.DataFrame({"a": [1, 2] * 10})
    plan = {"columns": {"a": "quasi-identifier"}, "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    out = shoal.protect(frame, plan, seed=1).write(tmp_path / "out")
    assert "This picture could not be drawn." in (out / "release" / "report.html").read_text()


def test_what_can_be_drawn_is_left_as_it_is() -> None:
    assert text_only("Zürich, 東京, \u05d0") == "Zürich, 東京, \u05d0"
    assert text_only("a\x1bb") == f"a{UNDRAWABLE}b"
    assert "Zürich" in drawn(bars(["Zürich"]), {})


def test_codes_stand_beside_their_labels_and_long_ones_have_lines() -> None:
    chart = drawn(bars(["1"]), {"1": "owner of the dwelling with a mortgage still to be paid back over many years"})
    assert "1 owner of the" in chart
    assert chart.count("<tspan") >= 2
    assert lines_of("x" * 500)[-1].endswith("...")


def test_lines_of_a_label_stand_around_the_middle_of_their_bars() -> None:
    """The lines of two neighbours keep apart, however many each has."""
    labels = {"1": "short", "2": "unemployed or looking for a first job", "3": "in education", "4": "owner " * 12}
    chart = drawn(bars(list(labels)), labels)
    ends = [
        (float(y), float(y) + 12 * max(text.count("<tspan"), 1))
        for y, text in re.findall(r"<text[^>]*translate\(-?[\d.]+,([\d.]+)\)[^>]*>(.*?)</text>", chart)
        if re.search(r"(^|>)[1-4] ", text)
    ]
    assert len(ends) == 4
    assert all(end <= start + 1 for (_, end), (start, _) in zip(ends, ends[1:]))


def test_original_and_released_stand_beside_each_other_and_differ_in_grey() -> None:
    """Bars of one bin never overlap: the original has its left half, the release its right half."""
    bins = [{"table": table, "low": 0.0, "high": 2.0, "share": 1.0} for table in ("original", "released")]
    spec = distribution_chart({"scale": "quantitative", "bins": bins, "further": 0}, {})
    values = {one["table"]: (one["low"], one["high"]) for one in spec["data"]["values"]}
    assert values == {"original": (0.0, 1.0), "released": (1.0, 2.0)}
    chart = svg(spec)
    assert "fill:var(--pale);stroke:var(--before)" in chart
    assert "fill:var(--after);stroke:var(--after)" in chart
    assert 'opacity="0' not in chart
    assert not re.search('#0[0-9a-f]{5}"', chart)  # no colour that no page knows


def test_a_renderer_without_a_page_gets_colours() -> None:
    spec = with_colours(class_sizes_chart({"records": 5, "sizes": [{"low": 5, "high": 9, "records": 5}]}))
    assert not set(PLACEHOLDERS) & set(re.findall("#[0-9a-f]{6}", str(spec)))


AXIS = {"measure": "sse", "title": "Loss", "better": "lower", "unit": "", "limits": [0.0, None]}
FRONTIER = {
    "pareto": [],
    "axes": {"risk": {**AXIS, "title": "Risk", "limits": [0.0, 1.0]}, "utility": AXIS},
    "recommended": None,
    "because": "",
    "unprotected": {"risk": 1.0, "utility": 0.0},
}


def point(name: str, risk: float | None, utility: float | None, *, holds: bool = True) -> dict[str, Any]:
    return {"name": name, "holds": holds, "risk": risk, "utility": utility, "reason": ""}


def test_a_frontier_on_which_nothing_can_be_recommended_is_drawn_all_the_same() -> None:
    points = [point("mdav 'k'=5", 0.5, 2.0, holds=False)]
    assert "<svg" in frontier_page({**FRONTIER, "points": points})
    assert ">unprotected</text>" in frontier_page({**FRONTIER, "points": points})
    nothing = frontier_page({**FRONTIER, "points": [point("x", None, 2.0)]})
    assert "<svg" not in nothing
    assert "No candidate has both figures" in nothing


def test_every_point_has_its_number_on_the_map_and_in_the_table() -> None:
    """Those of the frontier come first, by risk; one without a figure has a number and no mark."""
    points = [
        point("beaten", 0.5, 9.0),
        point("cautious", 0.1, 5.0),
        point("refused", 0.2, 1.0, holds=False),
        point("bold", 0.3, 2.0),
        point("unmeasured", None, 1.0),
    ]
    frontier = {**FRONTIER, "points": points, "pareto": ["bold", "cautious"], "recommended": "bold"}
    assert {number: p["name"] for number, p in numbered(frontier).items()} == {
        1: "cautious",
        2: "bold",
        3: "beaten",
        4: "refused",
        5: "unmeasured",
    }
    assert [(m.label, m.kind) for m in marks(frontier)] == [
        ("1", "frontier"),
        ("2", "release"),
        ("3", "beaten"),
        ("4", "refused"),
        ("unprotected", "unprotected"),
    ]
    page = frontier_page(frontier)
    assert all(f">{number}</text>" in page for number in (1, 2, 3, 4))
    assert re.search(r'<span class="swatch after"></span>\s+recommended', page)
    assert "this release" not in page
