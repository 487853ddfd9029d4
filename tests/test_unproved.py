"""Without a requirement nothing is written, unless it is asked for in so many words; then every file says so."""

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.privacy.gate import requirement as built
from shoal.vocabulary.errors import PlanError, Refused

FRAME = pl.DataFrame({"a": [float(i % 7) for i in range(40)], "b": [1.5 * i for i in range(40)]})
COLUMNS = {"a": "quasi-identifier", "b": "confidential"}
PROVED = {"columns": COLUMNS, "steps": [{"partition": "mdav", "k": 4}], "requirements": ["k-anonymity"]}


def test_nothing_is_written_where_nothing_is_proved(tmp_path: Path) -> None:
    release = shoal.protect(FRAME, {"columns": COLUMNS}, seed=1)
    with pytest.raises(Refused, match="the plan requires nothing"):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


EMPTY = [
    {"privacy": "k-anonymity", "k": 1},
    {"privacy": "l-diversity", "l": 1},
    {"privacy": "t-closeness", "t": 1},
    {"privacy": "average-risk", "average": 1},
    {"privacy": "average-risk", "average": 1, "highest": 0.1, "above": 1},
    {"privacy": "p-sensitivity", "p": 1},
    {"privacy": "nt-closeness", "n": 2, "t": 1},
    {"privacy": "beta-likeness", "beta": float("inf")},
    {"privacy": "no-attack", "gain": 4, "cost": 4},
]
STRICT = [
    {"privacy": "average-risk", "average": 1, "highest": 0.5},
    {"privacy": "l-diversity", "l": 1, "kind": "recursive", "c": 1},
    {"privacy": "no-attack", "gain": 5, "cost": 4},
]


@pytest.mark.parametrize("requirement", EMPTY, ids=lambda requirement: requirement["privacy"])
def test_what_any_table_keeps_is_no_requirement(requirement: dict[str, object], tmp_path: Path) -> None:
    release = shoal.protect(FRAME, {"columns": COLUMNS, "requirements": [requirement]}, seed=1)
    assert [verdict.protects for verdict in release.evidence.verdicts] == [False]
    with pytest.raises(Refused, match=r"requires nothing that protects anybody \(a k of 1 demands nothing\)"):
        release.write(tmp_path / "out")


@pytest.mark.parametrize("requirement", STRICT, ids=lambda requirement: requirement["privacy"])
def test_what_a_table_may_break_protects(requirement: dict[str, object]) -> None:
    with pytest.raises(Refused):
        shoal.protect(FRAME.with_columns(a=FRAME["b"]), {"columns": COLUMNS, "requirements": [requirement]}, seed=1)
    assert built(requirement).protects


def test_what_any_table_keeps_covers_no_column() -> None:
    """Beside a requirement on one key it does not answer for the other, by which each record stands alone."""
    keys = dict.fromkeys(FRAME.columns, "quasi-identifier")
    required = [{"privacy": "k-anonymity", "k": 4, "columns": ["a"]}, {"privacy": "k-anonymity", "k": 1}]
    with pytest.raises(Refused, match="'b' singles out 40 of 40 records"):
        shoal.protect(FRAME, {"columns": keys, "requirements": required}, seed=1)


def test_what_is_unproved_says_so(tmp_path: Path) -> None:
    out = shoal.protect(FRAME, {"columns": COLUMNS}, seed=1).write(tmp_path / "out", unproved=True)
    for folder in ("release", "private"):
        assert json.loads((out / folder / "evidence.json").read_text())["proved"] is False
        assert "Unproved: nothing protects this table" in (out / folder / "report.html").read_text()
    assert json.loads((out / "private" / "record.json").read_text())["proved"] is False


def test_differential_privacy_on_every_column_is_a_proof_and_on_some_is_none(tmp_path: Path) -> None:
    bounds = {"a": (0.0, 10.0), "b": (0.0, 100.0)}
    step = {"mask": "laplace", "epsilon": 1.0, "columns": ["a", "b"], "bounds": bounds}
    shoal.protect(FRAME, {"columns": COLUMNS, "steps": [step]}, seed=1).write(tmp_path / "out")
    one = {**step, "columns": ["a"], "bounds": {"a": (0.0, 10.0)}}
    gaps = FRAME.with_columns(a=pl.when(pl.col("a") > 2).then(pl.col("a")))
    columns = {"a": {"role": "quasi-identifier", "missing": "keep"}, "b": "confidential"}
    with pytest.raises(Refused, match="requires nothing"):  # which cells are missing is told as it is
        shoal.protect(gaps, {"columns": columns, "steps": [step]}, seed=1).write(tmp_path / "other")
    with pytest.raises(Refused, match="requires nothing"):
        shoal.protect(FRAME, {"columns": COLUMNS, "steps": [one]}, seed=1).write(tmp_path / "other")


ABOUT = {"title": "Wages", "owner": "The office", "valid_until": "2030-12-31", "contact": "data@example.org"}


def test_what_the_release_is_stands_at_the_head_of_its_report(tmp_path: Path) -> None:
    plan = {**PROVED, "requirements": [{"privacy": "k-anonymity", "k": 4}], "release": ABOUT}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    page = (out / "release" / "report.html").read_text()
    head = page[: page.index("</header>")]
    assert all(text in head for text in ("Wages", "The office", "2030-12-31", "valid until"))
    said = json.loads((out / "release" / "evidence.json").read_text())["release"]
    assert said == ABOUT
    again = shoal.Plan.of(json.loads((out / "private" / "record.json").read_text())["plan"])
    assert again.about.as_mapping() == ABOUT


def test_a_cell_in_the_description_is_withheld(tmp_path: Path) -> None:
    frame = FRAME.with_columns(a=pl.when(pl.col("a") == 6).then(731.5).otherwise(pl.col("a")))
    plan = {**PROVED, "requirements": [{"privacy": "k-anonymity", "k": 4}], "release": {"title": "up to 731.5"}}
    plan["steps"] = [{"partition": "whole"}]
    out = shoal.protect(frame, plan, seed=1).write(tmp_path / "out")
    assert "731.5" not in (out / "release" / "report.html").read_text()


def test_whom_to_ask_stays_as_it_is_written(tmp_path: Path) -> None:
    """Numbers that no released cell has, be they cells of the original, are a telephone's all the same."""
    about = {"contact": "+34 731 55, room 4711", "owner": "Office 12b", "title": "Wages of 2019"}
    plan = {**PROVED, "requirements": [{"privacy": "k-anonymity", "k": 4}], "release": about}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    assert json.loads((out / "release" / "evidence.json").read_text())["release"] == about
    assert about["contact"] in (out / "release" / "report.html").read_text()


def test_figures_that_the_plan_publishes_are_exact_and_the_report_says_which(tmp_path: Path) -> None:
    plan = {**PROVED, "requirements": [{"privacy": "k-anonymity", "k": 4}]}
    banded = shoal.protect(FRAME, plan, seed=1)
    exact = shoal.protect(FRAME, {**plan, "publish": ["sse"]}, seed=1)
    everything = shoal.protect(FRAME, {**plan, "publish": "exact"}, seed=1)
    value = next(f.value for f in exact.evidence.findings if f.measure == "sse")
    shown = {}
    for name, release in (("banded", banded), ("exact", exact), ("everything", everything)):
        evidence = json.loads((release.write(tmp_path / name) / "release" / "evidence.json").read_text())
        shown[name] = {m["measure"]: m["value"] for m in evidence["measures"]}
        assert ("chose to publish" in evidence["of the original"]) == (name != "banded")
    assert shown["exact"]["sse"] == pytest.approx(value, rel=1e-3)
    assert shown["banded"]["sse"] != shown["exact"]["sse"]
    others = {name: value for name, value in shown["banded"].items() if name != "sse"}
    assert others == {name: value for name, value in shown["exact"].items() if name != "sse"}
    figures = {f.measure: f.value for f in everything.evidence.findings if f.value is not None}
    assert {name: shown["everything"][name] for name in figures} == pytest.approx(figures, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(
    ("publish", "steps", "message"),
    [
        (["sze"], [], "Unknown measure 'sze'"),
        (["propensity"], [], "no release of this plan measures 'propensity'"),
        (
            ["sse"],
            [{"mask": "laplace", "epsilon": 1.0, "columns": ["b"], "bounds": {"b": (0.0, 99.0)}}],
            "which does not pay for a figure of the original",
        ),
        (7, [], "publish must be a list of measures, or the word exact"),
    ],
)
def test_what_cannot_be_published_exactly(publish: object, steps: list[object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        shoal.protect(FRAME, {"columns": COLUMNS, "steps": steps, "publish": publish}, seed=1)
