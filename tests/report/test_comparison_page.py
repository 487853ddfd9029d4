"""Releases side by side: a gap is never shown as if it were a good figure."""

from shoal.report.comparison_page import comparison, comparison_page

FIGURE = {"measure": "suda2", "title": "SUDA risk", "better": "lower"}
RIGHT = {"measure": "r", "title": "Correct", "better": "higher"}
PLAIN = {
    "requirements": [{"requirement": "3-anonymity", "achieved": 3}],
    "measures": [FIGURE | {"value": 0.25}, RIGHT | {"value": 0.5}],
}
OTHER = {
    "requirements": [{"requirement": "0.1-closeness", "achieved": 0.07}],
    "measures": [FIGURE | {"value": None}, RIGHT | {"value": 0.75}],
}


def test_requirements_come_first_and_the_best_figures_are_marked():
    rows = comparison({"a": PLAIN, "b": OTHER})

    assert [(row["title"], row["cells"], row["best"]) for row in rows] == [
        ("3-anonymity", [3, None], []),
        ("0.1-closeness", [None, 0.07], []),
        ("SUDA risk", [0.25, None], [0]),
        ("Correct", [0.5, 0.75], [1]),
    ]


def test_figures_with_other_parameters_are_not_compared():
    rows = comparison(
        {
            "a": PLAIN,
            "b": {
                "requirements": [],
                "measures": [FIGURE | {"value": 0.5}, FIGURE | {"title": "SUDA risk (max size 2)", "value": 0.125}],
            },
        }
    )

    assert [(row["title"], row["cells"], row["best"]) for row in rows[1:]] == [
        ("SUDA risk", [0.25, 0.5], [0]),
        ("Correct", [0.5, None], [0]),
        ("SUDA risk (max size 2)", [None, 0.125], [1]),
    ]


def test_a_gap_says_what_it_is_and_never_reads_as_no_risk():
    page = comparison_page({"a": PLAIN, "b": OTHER})

    assert page.count("<small>not required</small>") == 2
    assert page.count("<small>no figure</small>") == 1
    assert "<small>none</small>" not in page
