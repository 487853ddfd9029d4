"""Pictures: they are drawn as Vega draws them, whatever a label holds."""

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from by_night import only_by_night
from shoal.report.charts import (
    UNDRAWABLE,
    VEGA_LITE,
    class_sizes_chart,
    distribution_chart,
    drawn,
    lines_of,
    risks_chart,
    text_only,
    with_colours,
)
from shoal.report.drawing import PLACEHOLDERS, svg
from shoal.report.frontier_marks import marks, numbered
from shoal.report.frontier_page import frontier_page
from shoal.report.risk_map import Axis, Mark, risk_map
from shoal.report.scales import Chart, Scale

HOSTILE = ["\x00", "\x01", "\x0b", "\x1a", "\x1b[2J", "\ufffe", "\uffff", "\ud800", "\U0001f41f" * 18, "\u202e" * 40]

SVG = "{http://www.w3.org/2000/svg}"


def bars(labels: list[str]) -> dict[str, Any]:
    return {
        "scale": "nominal",
        "further": 0,
        "bins": [{"table": "released", "category": label, "share": 0.5} for label in labels],
    }


@pytest.mark.parametrize("label", HOSTILE, ids=[ascii(label)[:10] for label in HOSTILE])
def test_hostile_labels_are_drawn(label: str) -> None:
    picture = ElementTree.fromstring(drawn(bars(["a" + label]), {}).encode())
    assert any("".join(text.itertext()).startswith("a") for text in picture.iter(f"{SVG}text"))


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


def histogram(low: float, high: float, scale: str) -> Chart:
    """Eight bins with different shares, of two tables."""
    edges = [low + (high - low) * place / 8 for place in range(9)]
    bins = [
        {"table": table, "low": a, "high": b, "share": (place * 7 % 8 + part) / 40}
        for place, (a, b) in enumerate(pairwise(edges))
        for part, table in enumerate(("original", "released"))
    ]
    return distribution_chart({"scale": scale, "bins": bins, "further": 0}, {})


def measured(title: str, value: float, interval: dict[str, float] | None) -> dict[str, Any]:
    return {"title": title, "value": value, "interval": interval, "unit": "", "limits": [0.0, 1.0]}


def a_map(*, frontier: bool) -> Chart:
    kinds = ("frontier", "frontier", "release", "beaten", "refused", "unprotected")
    places = [(0.01, 0.5), (0.05, 0.3), (0.2, 0.1), (0.22, 0.31), (0.6, 0.02), (0.9, 0.0)]
    marks = [Mark(label=str(n), kind=kind, risk=x, loss=y) for n, (kind, (x, y)) in enumerate(zip(kinds, places))]
    y = Axis(title="Accuracy", better="higher")
    return risk_map(marks[0 if frontier else 2 :], Axis(title="Linkage", better="lower", as_share=True), y)


SIZES = [{"low": 1, "high": 1, "records": 12}, {"low": 5, "high": 9, "records": 988}]
SPECIFICATIONS = {
    "bars": distribution_chart(bars(["female", "male", "2 unemployed or looking for a first job"]), {}),
    "numbers": histogram(17, 83, "quantitative"),
    "small numbers": histogram(-0.0031, 0.0042, "quantitative"),
    "large numbers": histogram(0, 340_000, "quantitative"),
    "classes": class_sizes_chart({"records": 1000, "sizes": SIZES}),
    "risks": risks_chart([measured("Linkage", 0.12, {"low": 0.1, "high": 0.15}), measured("Inference", 0.5, None)]),
    "frontier": a_map(frontier=True),
    "map": a_map(frontier=False),
}


def texts(element: ElementTree.Element, x: float = 0.0, y: float = 0.0) -> list[tuple[float, float, str]]:
    """Where the texts of a picture stand, from the corner of its chart; turned ones apart."""
    moved = re.match(r"translate\((-?[\d.]+),(-?[\d.]+)\)(.*)", element.get("transform", ""))
    if moved and element.get("stroke-miterlimit") is None:
        x, y = x + float(moved[1]), y + float(moved[2])
    if element.tag == f"{SVG}text":
        turned = moved is not None and "rotate" in moved[3]
        return [] if turned or element.get("opacity") == "0" else [(round(y), round(x), "".join(element.itertext()))]
    return sorted(text for below in element for text in texts(below, x, y))


def sizes(picture: str) -> list[float]:
    """Widths and heights of bars."""
    sides = re.findall(
        r'd="M[\d.,-]+h([\d.]+)v([\d.]+)h-[\d.]+Z"', re.sub(r'<path class[^>]*>|<path [^>]*="point"[^>]*>', "", picture)
    )
    rounded = sorted((round(float(width), 1), round(float(height), 1)) for width, height in sides)
    return [side for both in rounded for side in both]


LINES = {"axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}, "background": None}


@only_by_night
@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_vega_has_the_same_texts_at_the_same_places_and_bars_of_the_same_sizes(name: str) -> None:
    import vl_convert

    spec = {"$schema": VEGA_LITE, "config": LINES, **with_colours(SPECIFICATIONS[name])}
    theirs, ours = vl_convert.vegalite_to_svg(spec, vl_version="5.20"), svg(SPECIFICATIONS[name])
    there, here = (texts(ElementTree.fromstring(picture)) for picture in (theirs, ours))
    assert [text for *_, text in here] == [text for *_, text in there]
    for (y, x, _), (y_there, x_there, _) in zip(here, there):
        assert abs(x - x_there) <= 1
        assert abs(y - y_there) <= 1
    assert sizes(ours) == pytest.approx(sizes(theirs), abs=0.11)


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        ((1948, 5, 3), (2011, 12, 30), ["1960", "1980", "2000"]),
        ((2025, 1, 3), (2026, 2, 1), ["April", "July", "October", "2026"]),
        ((2025, 3, 3), (2025, 3, 19), ["9 Mar", "16 Mar"]),
        ((2025, 3, 3, 4), (2025, 3, 4, 1), ["06:00", "12:00", "18:00", "4 Mar"]),
        ((2025, 3, 3, 4, 0, 1), (2025, 3, 3, 4, 0, 3), [":01", ":02", ":03"]),
    ],
)
def test_ticks_of_times_are_whole_units(first: tuple[int, ...], last: tuple[int, ...], labels: list[str]) -> None:
    low, high = (datetime(*end, tzinfo=UTC).timestamp() * 1000 for end in (first, last))
    scale = Scale(low=low, high=high, start=0, end=1, times=True)
    assert [label for _, label in scale.ticks(4, None)] == labels


@pytest.mark.parametrize(("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-300), (7.0, 7.0), (-1e20, 1e20)])
def test_no_range_of_numbers_is_too_wide_or_too_narrow_for_an_axis(low: float, high: float) -> None:
    for times in (False, True):
        scale = Scale(low=low, high=high, start=0.0, end=250.0, times=times)
        assert all(0 <= scale.place(tick) <= 250 for tick, _ in scale.ticks(4, None))
        assert 0 <= scale.place(low) <= scale.place(high) <= 250
