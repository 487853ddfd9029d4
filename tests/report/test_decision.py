"""The head of a report: green only where limits were stated and all of them hold, and nothing high is left unjudged."""

from typing import Any

import pytest

import shoal
from shoal.report.decision import Decision, decision
from shoal.report.unchanged import BESIDE
from shoal.vocabulary.registry import registered

K5 = {
    "requirement": "5-anonymity",
    "holds": True,
    "required": 5,
    "achieved": 6,
    "sentence": "Every record shares.",
    "protects": True,
    "model": "k-anonymity",
    "limited": "",
    "counts_classes": True,
}
RULE = {
    **K5,
    "requirement": "a <= b",
    "required": 0,
    "achieved": 0,
    "protects": False,
    "model": "",
    "counts_classes": False,
}
SHARE = {
    "sentence": "",
    "unit": "",
    "limits": [0.0, 1.0],
    "interval": None,
    "reason": "",
    "facts": {},
    "original": None,
    "of_made_up": False,
    "prominence": 0,
    "headline": "",
    "unchanged": None,
    "by_column": None,
}
PROSECUTOR = {
    "measure": "prosecutor",
    "kind": "risk",
    "title": "Prosecutor risk",
    "value": 0.2,
    "better": "lower",
    **SHARE,
    "prominence": 50,
}
LINKED = {**PROSECUTOR, "measure": "distance-linkage", "title": "Records found again", "value": 0.0, "prominence": 20}
INTERVAL = {
    **PROSECUTOR,
    "measure": "interval-disclosure",
    "title": "Interval disclosure",
    "value": 0.836,
    "prominence": 0,
}
KEPT = {
    **PROSECUTOR,
    "kind": "utility",
    "measure": "kept",
    "title": "Information kept",
    "value": 0.5,
    "better": "higher",
    "unchanged": 1.0,
    "by_column": {"a": 0.25, "b": 1.0},
    "headline": ", mean over the columns",
}
LOSS = {**PROSECUTOR, "measure": "sse", "kind": "utility", "title": "Loss by SSE", "value": 2.4, "limits": [0.0, None]}


BEFORE = {"missing": 0, "changed": 0.5, "distinct": 4, "mean": None, "spread": None}


def limit(measure: dict[str, Any], at_most: float, *, holds: bool = True) -> dict[str, Any]:
    requirement = f"{measure['title']} at most {at_most}"
    return {
        **K5,
        "requirement": requirement,
        "required": at_most,
        "achieved": measure["value"],
        "holds": holds,
        "protects": measure["kind"] == "risk",
        "model": measure["measure"],
        "limited": measure["title"],
        "counts_classes": False,
    }


def content(*requirements: dict[str, Any], measures: tuple[dict[str, Any], ...] = (PROSECUTOR, LOSS)) -> dict[str, Any]:
    column = {"name": "a", "role": "other", "missing": 2, "distinct": 3, "original": dict(BEFORE)}
    return {
        "requirements": list(requirements),
        "measures": list(measures),
        "classes": [{"missing": "equal", "records": 10, "smallest": 6, "fewer than": {}, "sizes": []}],
        "columns": [column, {**column, "name": "b", "missing": 0, "original": None}],
        "records": 10,
        "left as they came": [],
        "made anew": [],
        "singled out": [],
        "of records": [],
        "context": "",
        "not released": [],
        "private": None,
        "proved": True,
    }


def to_decide(head: Decision) -> tuple[str, ...]:
    return {point.label: point.sentences for point in head.points}["To decide"]


def test_green_needs_limits_on_identity_risk_and_loss() -> None:
    limits = (K5, limit(PROSECUTOR, 0.2), limit(LOSS, 5.0))
    assert decision(content(*limits)).status == "good"
    for left_out in range(3):
        fewer = [one for place, one in enumerate(limits) if place != left_out]
        status = decision(content(*fewer)).status
        assert status == ("good" if left_out == 0 else "open"), "a limit on a measured risk protects, too"


def test_proved_beside_values_that_can_be_guessed_does_not_look_safe() -> None:
    limits = (K5, limit(PROSECUTOR, 0.2), limit(LOSS, 5.0))
    head = decision(content(*limits, measures=(PROSECUTOR, INTERVAL, LOSS)))
    assert head.status == "open"
    assert head.heading == "Proved as far as the plan asks; to decide: a risk of 83.6 %"
    assert {point.label: point.sentences for point in head.points} == {
        "Promised and proved": (
            "5-anonymity; Prosecutor risk at most 20 %; Loss by SSE at most 5.0, on the table as it is written.",
        ),
        "To decide": ("The highest measured risk without a limit is 83.6 % (Interval disclosure).",),
    }
    judged = decision(content(*limits, limit(INTERVAL, 0.9), measures=(PROSECUTOR, INTERVAL, LOSS)))
    assert judged.status == "good"


def test_the_upper_end_of_an_interval_counts() -> None:
    limits = (K5, limit(PROSECUTOR, 0.2), limit(LOSS, 5.0))
    sampled = {**INTERVAL, "value": 0.19, "interval": {"low": 0.17, "high": 0.21, "confidence": 0.95}}
    assert decision(content(*limits, measures=(PROSECUTOR, sampled, LOSS))).status == "open"
    certain = {**sampled, "interval": {"low": 0.17, "high": 0.2, "confidence": 0.95}}
    assert decision(content(*limits, measures=(PROSECUTOR, certain, LOSS))).status == "good"


def test_the_upper_end_stands_beside_a_figure_that_looks_safe() -> None:
    estimate = {**INTERVAL, "value": 0.0, "interval": {"low": 0.0, "high": 0.0032, "confidence": 0.95}}
    head = decision(content(K5, measures=(estimate, LOSS)))
    assert to_decide(head)[0].endswith("risk is 0 %, with 95 % confidence at most 0.32 % (Interval disclosure).")


def test_made_up_records_are_not_judged_by_looking_for_the_records_that_they_replaced() -> None:
    limits = (K5, limit(LINKED, 0.2), limit(LOSS, 5.0))
    whole = content(*limits, measures=(LINKED, LOSS))
    whole["columns"][0]["role"] = "quasi-identifier"
    assert decision(whole).status == "good"
    made_up = {**whole, "made anew": ["a"]}
    assert decision(made_up).status == "open"
    assert "no attack on made-up records was measured" in to_decide(decision(made_up))[0].lower()
    attack = {**LINKED, "measure": "singling-out", "value": 0.01, "of_made_up": True}
    for one, status in ((attack, "good"), ({**attack, "value": None, "reason": "No column."}, "open")):
        measures = (LINKED, one, LOSS)
        assert decision({**made_up, "measures": measures}).status == status


def test_a_refusal_says_that_nothing_was_measured() -> None:
    figures = decision(content({**K5, "holds": False}, measures=())).headlines
    assert [one.note for one in figures[1::2]] == ["what is refused is not measured"] * 2


def test_what_is_not_public_is_not_judged() -> None:
    limits = (K5, limit(PROSECUTOR, 0.2), limit(LOSS, 5.0))
    hidden = {**INTERVAL, "value": None}
    head = decision(content(*limits, measures=(PROSECUTOR, hidden, LOSS)))
    assert head.status == "open"
    assert to_decide(head) == ("1 measured risk without a limit is not public; the private report has it.",)
    lacking = {**hidden, "reason": "There is no column with numbers."}
    assert decision(content(*limits, measures=(PROSECUTOR, lacking, LOSS))).status == "good"


@pytest.mark.parametrize("broken", [{**K5, "holds": False}, {**RULE, "holds": False}, limit(LOSS, 1.0, holds=False)])
def test_whatever_does_not_hold_refuses(broken: dict[str, Any]) -> None:
    head = decision(content(limit(PROSECUTOR, 0.2), broken))
    assert (head.status, head.heading) == ("bad", "1 requirement of 2 not met")
    assert head.sentences == (f"{broken['requirement']}: {broken['sentence']}",)


def test_what_is_open_is_named_and_said_why() -> None:
    head = decision(content(K5, measures=(PROSECUTOR, INTERVAL, {**PROSECUTOR, "measure": "a", "value": None}, LOSS)))
    assert head.heading == "Proved as far as the plan asks; to decide: a risk of 83.6 %, and 2 more points"
    assert to_decide(head) == (
        "The highest measured risk that is public is 83.6 % (Interval disclosure).",
        "1 measured risk without a limit is not public; the private report has it.",
        "The plan states no limit on measured risk and none on loss, so that any figure passes. State both as "
        "requirements.",
    )
    assert decision(content(measures=(PROSECUTOR, LOSS))).sentences == (
        "The plan names no privacy requirement, so no protection was proved; what differential privacy was spent on "
        "stands under what was done.",
        "The highest measured risk is 20 % (Prosecutor risk).",
    )


def test_points_stand_in_the_order_of_a_board() -> None:
    whole = content(K5, measures=({**PROSECUTOR, "sentence": "One in five."}, {**KEPT, "sentence": "Half is kept."}))
    whole |= {"left as they came": ["b"], "singled out": [{"columns": ["b"], "alone": 3, BESIDE: 10}]}
    head = decision(whole)
    labels = ["Promised and proved", "Leaves unchanged", "An intruder", "Lost", "To decide"]
    assert [point.label for point in head.points] == labels
    assert head.points[3].sentences == ("Half is kept.", "a: 4 values become 3, 20 % blanked (25 % kept).")
    assert (head.headlines[3].label, head.headlines[3].value) == ("Information kept", "50 %")


def test_a_column_with_one_value_for_all_is_never_green() -> None:
    limits = (K5, limit(PROSECUTOR, 0.2), limit(LOSS, 5.0))
    whole = content(*limits)
    whole["columns"][0]["distinct"] = 1
    head = decision(whole)
    assert (head.status, to_decide(head)) == (
        "open",
        ("a has one value for all, which tells nothing of anybody. Mask less of it, or leave it out.",),
    )
    assert "a: gone: one value for all." in head.sentences
    whole["columns"][0]["original"]["distinct"] = 1
    assert decision(whole).status == "good", "it was so before"
    whole["columns"][0]["original"] = None  # as in public
    assert decision(whole).points[1].sentences == ("a: one value for all.",)  # nobody says that there were others
    single = {"columns": ["a"], "alone": 0, BESIDE: 0}
    assert decision(whole | {"left as they came": ["a"], "singled out": [single]}).status == "good"


def test_what_is_kept_of_all_records_and_what_changed_in_those_that_are_left() -> None:
    whole = content(K5, measures=(PROSECUTOR, {**KEPT, "sentence": ""}))
    whole["columns"][0] |= {"missing": 0, "distinct": 4, "original": {**BEFORE, "changed": 0.0}}
    lost = next(point for point in decision(whole).points if point.label == "Lost")
    assert lost.sentences == ("a: as it was in the records that are left (25 % kept).",)


def test_a_private_share_of_what_is_kept_is_no_loss() -> None:
    hidden = {**KEPT, "value": None}
    kept = {**limit(hidden, 0.5), "requirement": "Information kept at least 0.5"}
    headline = decision(content(K5, kept, measures=(PROSECUTOR, hidden))).headlines[3]
    assert (headline.label, headline.value) == ("Information kept", "at least 50 %")
    assert headline.note == "the figure itself is private"


def test_a_public_report_speaks_of_public_figures() -> None:
    hidden = {**INTERVAL, "value": None}
    assert to_decide(decision(content(K5, measures=(PROSECUTOR, hidden, LOSS))))[0] == (
        "The highest measured risk that is public is 20 % (Prosecutor risk)."
    )


def test_the_highest_of_the_usual_risks_stands_at_the_head() -> None:
    linked = {**LINKED, "value": 0.56}
    for measures in ((PROSECUTOR, linked, LOSS), (linked, PROSECUTOR, LOSS)):
        assert decision(content(K5, measures=measures)).headlines[1].value == "56 %"
    equal = {**linked, "value": PROSECUTOR["value"]}
    assert decision(content(K5, measures=(equal, PROSECUTOR, LOSS))).headlines[1].note == "Prosecutor risk"
    limited = decision(content(K5, limit(PROSECUTOR, 0.2), measures=(linked, PROSECUTOR, LOSS)))
    assert limited.headlines[1].note == "Prosecutor risk"


def test_a_limit_stands_beside_what_it_was_proved_of_though_the_figure_is_private() -> None:
    hidden = {**INTERVAL, "measure": "label-loss", "kind": "utility", "title": "Loss of labels", "value": None}
    proved = limit(hidden, 0.5)
    loss = decision(content(K5, proved, measures=(PROSECUTOR, hidden, LOSS))).headlines[3]
    assert (loss.value, loss.limit, loss.kept) == ("at most 50 %", "at most 50 %", True)
    assert loss.note == "Loss of labels; the figure itself is private"
    broken = {**proved, "holds": False}
    assert decision(content(K5, broken, measures=(PROSECUTOR, hidden, LOSS))).headlines[3].value == "2.4"
    risk = limit({**PROSECUTOR, "value": None}, 0.2)
    headline = decision(content(K5, risk, measures=({**PROSECUTOR, "value": None}, LOSS))).headlines[1]
    assert (headline.value, headline.kept) == ("at most 20 %", True)


def test_a_table_that_was_made_anew_has_no_smallest_class_and_no_cell_that_was_changed() -> None:
    column = {"name": "a", "role": "quasi-identifier", "missing": 0, "distinct": 2, "original": None}
    anew = {**content(), "classes": [], "columns": [column], "made anew": ["a"]}
    smallest, _, changed, _ = decision(anew).headlines
    assert smallest.value == "none"
    assert smallest.note == "every quasi-identifier was made anew, so that no record stands for a person"
    assert (changed.label, changed.value) == ("Columns made anew", "1 of 1")


def test_rules_alone_promise_nothing() -> None:
    head = decision(content(RULE))
    assert (head.status, head.heading) == ("open", "Nothing was promised")
    assert "which protects nobody" in head.sentences[0]


def test_the_four_figures_stand_against_their_limits() -> None:
    head = decision(content(K5, limit(PROSECUTOR, 0.25), limit(LOSS, 2.0, holds=False)))
    assert [(one.label, one.value, one.limit, one.kept) for one in head.headlines] == [
        ("Smallest class", "6", "at least 5", True),
        ("Measured risk", "20 %", "at most 25 %", True),
        ("Cells changed", "50 %", "", None),
        ("Loss", "2.4", "at most 2", False),
    ]
    assert head.headlines[2].note == "2 of 20 blanked"


def test_a_limit_on_other_classes_is_none_on_the_smallest() -> None:
    """Ten records share each sex, and six all quasi-identifiers, of which 10-anonymity on sex says nothing."""
    on_sex = {**K5, "requirement": "10-anonymity on sex", "required": 10, "achieved": 10}
    alone, beside = (decision(content(*asked)).headlines[0] for asked in ([on_sex], [K5, on_sex]))
    assert (alone.value, alone.limit, alone.kept) == ("6", "", None)
    assert alone.note.endswith("; 10-anonymity on sex is asked of something else")
    assert (beside.value, beside.limit, beside.kept) == ("6", "at least 5", True)


def test_a_limit_on_a_measure_is_none_on_the_same_with_other_parameters() -> None:
    narrow = {**INTERVAL, "title": "Interval disclosure (widths 0.001)", "value": 0.1}
    for measures in ((INTERVAL, narrow, LOSS), (narrow, INTERVAL, LOSS)):
        head = decision(content(K5, limit(narrow, 0.2), limit(LOSS, 3), measures=measures))
        assert (head.headlines[1].value, head.headlines[1].limit) == ("10 %", "at most 20 %")
        assert "the highest measured risk without a limit is 83.6 % (interval disclosure)" in to_decide(head)[0].lower()


def test_where_nothing_is_known_nothing_is_made_up() -> None:
    nothing = {
        **content(measures=()),
        "classes": [],
        "columns": [{"name": "a", "role": "other", "missing": 0, "distinct": None, "original": None}],
    }
    assert [one.value for one in decision(nothing).headlines] == ["none", "none", "0 %", "none"]
    hidden = content(measures=({**LOSS, "value": None},))
    assert decision(hidden).headlines[3].value == "not shown"


def test_a_measure_that_is_limited_stands_at_the_head() -> None:
    head = decision(content(limit(INTERVAL, 0.9), measures=(PROSECUTOR, INTERVAL, LOSS)))
    assert (head.headlines[1].value, head.headlines[1].limit) == ("83.6 %", "at most 90 %")


GIVEN = {"gaps": {"order": "age"}, "transitions": {"column": "payer", "order": "age"}}
"""Parameters without which a measure has no figure."""


def test_what_measures_declare_is_true_of_a_table_that_was_not_changed() -> None:
    table = shoal.example("hospital", n=80, seed=3).drop("patient", "household", "discharge")
    known = {entry.name: entry.cls for kind in ("risk", "utility") for entry in registered(kind)}
    assert {"prosecutor", "distance-linkage", "sse", "label-loss"} <= {n for n, cls in known.items() if cls.prominence}
    declared = {name: cls for name, cls in known.items() if cls.unchanged is not None}
    assert {name for name, cls in known.items() if cls.prominence and cls.method_kind == "utility"} <= declared.keys()
    for name, cls in declared.items():
        value = cls(**GIVEN.get(name, {})).measure(table, table).value
        assert value is None or value == pytest.approx(cls.unchanged, abs=1e-12), name


def test_a_table_that_was_carried_through_in_parts_has_the_class_of_its_proof() -> None:
    column = {"name": "a", "role": "quasi-identifier", "missing": None, "distinct": None, "original": None}
    parts = {**content(K5), "classes": [], "columns": [column]}
    figures = decision(parts).headlines
    assert (figures[0].value, figures[0].limit, figures[0].kept) == ("6", "at least 5", True)
    assert (figures[2].value, figures[2].note) == ("not counted", "the table was carried through part by part")
    unasked = decision({**parts, "requirements": []}).headlines[0]
    assert (unasked.value, unasked.note) == ("none", "the classes were not counted")
