"""Releases side by side: a gap is never shown as if it were a good figure."""

from typing import Any

import pytest

from shoal.report.comparison_page import comparison, comparison_map, comparison_page
from shoal.vocabulary.registry import entry

SHARE = {"kind": "risk", "unit": "", "limits": [0.0, 1.0], "original": None} | {
    "prominence": 0,
    "unchanged": None,
    "score_weight": 0.0,
}
FIGURE = {"measure": "suda2", "title": "SUDA risk", "better": "lower", **SHARE}
RIGHT = {"measure": "r", "title": "Correct", "better": "higher", **SHARE}


def evidence(*measures: dict[str, Any], **more: Any) -> Any:
    """Of an evidence.json what is compared."""
    return {"records": 9, "requirements": [], "measures": list(measures), "reached": [], "columns": []} | more


def required(requirement: str, achieved: float, limit: float, *, holds: bool = True) -> dict[str, Any]:
    return {"requirement": requirement, "required": limit, "achieved": achieved, "holds": holds}


PLAIN = evidence(FIGURE | {"value": 0.25}, RIGHT | {"value": 0.5}, requirements=[required("3-anonymity", 3, 3)])
OTHER = evidence(FIGURE | {"value": None}, RIGHT | {"value": 0.75}, requirements=[required("0.1-closeness", 0.1, 0.1)])


def test_requirements_come_first_and_the_best_figures_are_marked():
    rows = comparison({"a": PLAIN, "b": OTHER})

    assert [(row["title"], row["cells"], row["best"]) for row in rows] == [
        ("3-anonymity", [3, None], []),
        ("0.1-closeness", [None, 0.1], []),
        ("SUDA risk", [0.25, None], [0]),
        ("Correct", [0.5, 0.75], [1]),
        ("Records", [9, 9], []),
    ]


def test_figures_with_other_parameters_are_not_compared():
    other = evidence(FIGURE | {"value": 0.5}, FIGURE | {"title": "SUDA risk (max size 2)", "value": 0.125})
    rows = comparison({"a": PLAIN, "b": other})

    assert [(row["title"], row["cells"], row["best"]) for row in rows[1:-1]] == [
        ("SUDA risk", [0.25, 0.5], [0]),
        ("Correct", [0.5, None], [0]),
        ("SUDA risk (max size 2)", [None, 0.125], [1]),
    ]


def test_two_measures_under_one_title_are_two_rows():
    """Rules that a measure counts may name cells, so they stand in no title."""
    twice = evidence(FIGURE | {"value": 0.5}, FIGURE | {"value": 0.125})
    rows = comparison({"a": PLAIN, "b": twice})

    assert [(row["title"], row["cells"]) for row in rows[1:] if "SUDA" in row["title"]] == [
        ("SUDA risk", [0.25, 0.5]),
        ("SUDA risk (2)", [None, 0.125]),
    ]


def test_a_gap_says_what_it_is_and_never_reads_as_no_risk():
    page = comparison_page({"a": PLAIN, "b": OTHER})

    assert page.count("<small>not required</small>") == 2
    assert page.count("<small>no figure</small>") == 1
    assert "<small>none</small>" not in page
    assert page.count('data-label="a"') == page.count('data-label="b"') == page.count('<th scope="row">')  # narrow


def test_figures_stand_in_groups_with_the_levels_that_were_reached() -> None:
    level = {"model": "k-anonymity", "title": "k-anonymity", "value": 3.0, "better": "higher"}
    loss = {**FIGURE, "kind": "utility", "title": "Loss", "value": 2.0}
    plain = {**PLAIN, "measures": [loss, *PLAIN["measures"]], "reached": [level]}
    rows = comparison({"a": plain, "b": {**OTHER, "reached": [{**level, "value": 2.0}]}, "earlier": OTHER})

    assert [(row["group"], row["title"]) for row in rows] == [
        ("requirement", "3-anonymity"),
        ("requirement", "0.1-closeness"),
        ("reached", "k-anonymity"),
        ("risk", "SUDA risk"),
        ("risk", "Correct"),
        ("utility", "Loss"),
        ("release", "Records"),
    ]
    assert (rows[2]["cells"], rows[2]["best"], rows[2]["lacking"]) == ([3.0, 2.0, None], [0], "not known")


@pytest.mark.parametrize(
    ("achieved", "holds", "best"),
    [((5, 3), (True, True), [0]), ((0.1, 0.3), (True, False), [0]), ((0.2, 0.2), (True, True), [])],
    ids=["more than asked for", "less than allowed", "met to the dot"],
)
def test_the_side_of_the_limit_says_which_way_is_better(
    achieved: tuple[float, float], holds: tuple[bool, bool], best: list[int]
) -> None:
    limit = {5: 3, 0.1: 0.2, 0.2: 0.2}[achieved[0]]
    releases = {
        name: evidence(requirements=[required("r", value, limit, holds=kept)])
        for name, value, kept in zip("ab", achieved, holds)
    }
    assert comparison(releases)[0]["best"] == best


def test_a_map_needs_figures_that_all_releases_have() -> None:
    sse = {**FIGURE, "measure": "sse", "kind": "utility", "title": "SSE", "limits": [0.0, None], "unchanged": 0.0}
    risk = {**FIGURE, "value": 0.25, "original": 1.0}
    first = evidence(risk, {**sse, "value": 3.0})
    drawn = comparison_map([first, evidence({**risk, "value": 0.5}, {**sse, "value": 1.0})])
    assert drawn is not None
    assert [(m.label, m.risk, m.loss) for m in drawn.marks] == [
        ("1", 0.25, 3.0),
        ("2", 0.5, 1.0),
        ("unprotected", 1.0, 0.0),
    ]
    assert comparison_map([first, evidence(risk)]) is None
    assert comparison_map([first, evidence({**risk, "value": {"at most": 0.5}}, {**sse, "value": 1.0})]) is None


def scored(pil: Any, *risks: Any) -> Any:
    loss = {"kind": "utility", "measure": "pil", "limits": [0.0, 100.0], "value": pil}
    names = ("distance-linkage", "probabilistic-linkage", "interval-disclosure")
    figures = [
        FIGURE | {"measure": name, "title": name, "value": value, "score_weight": entry("risk", name).cls.score_weight}
        for name, value in zip(names, risks)
    ]
    return evidence(FIGURE | loss | {"score_weight": entry("utility", "pil").cls.score_weight}, *figures)


def test_the_score_is_half_risk_and_half_loss() -> None:
    """0.5 x 40 + 0.5 x (0.25 x 10 + 0.25 x 30 + 0.5 x 20), in per cent (Domingo-Ferrer & Torra 2001)."""
    full, worst = scored(40.0, 0.1, 0.3, 0.2), scored(100.0, 1.0, 1.0, 1.0)
    rows = comparison(
        {"a": full, "b": worst, "c": scored(None, 0.1, 0.3, 0.2), "d": scored(40.0, 0.1, 0.3), "e": PLAIN}
    )
    (row,) = [row for row in rows if row["title"].startswith("Score")]
    assert row["cells"] == [pytest.approx(30.0), pytest.approx(100.0), None, None, None]
    assert row["best"] == [0] and row["group"] == "release"


def test_no_score_of_measures_that_were_taken_twice() -> None:
    twice = scored(40.0, 0.1, 0.3, 0.2)
    twice["measures"].append(
        FIGURE | {"measure": "distance-linkage", "title": "again", "value": 0.9, "score_weight": 0.125}
    )
    assert not [row for row in comparison({"a": twice}) if row["title"].startswith("Score")]
