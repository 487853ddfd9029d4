"""Explorations of plans for several linked tables."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import Run
from shoal.desk.frontier import explore, listed
from shoal.desk.frontier.of_tables import linked_candidates
from shoal.plan.linked import LinkedPlan
from shoal.vocabulary.errors import PlanError

QI = {"role": "quasi-identifier", "level": "nominal"}
EXPLORE: dict[str, Any] = {
    "method": {
        "alike": [{"mask": "profiles", "k": [2, 4]}],
        "fewer rows": [{"table": "stays", "mask": "truncate-records", "most": [1, 2]}],
    },
    "suppress_persons": [0.9],
}


def tables(n: int = 60) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(3)
    above = np.repeat(np.arange(n), rng.choice([0, 1, 2, 4], n))
    patients = pl.DataFrame({"patient": np.arange(n) + 100, "sex": rng.choice(["f", "m"], n)})
    stays = pl.DataFrame({"patient": above + 100, "ward": rng.choice(["a", "b", "c"], len(above))})
    return {"patients": patients, "stays": stays}


def plan(**more: Any) -> dict[str, Any]:
    return {
        "tables": {
            "patients": {"key": "patient", "columns": {"sex": QI}},
            "stays": {"parent": "patients", "columns": {"ward": QI}},
        },
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "explore": EXPLORE,
        **more,
    }


def expected_matches(frames: dict[str, pl.DataFrame]) -> float:
    """By hand: how many profiles there are, of how many persons."""
    rows: dict[Any, list[str]] = {key: [] for key in frames["patients"]["patient"].to_list()}
    for key, ward in frames["stays"].rows():
        rows[key].append(ward)
    profiles = Counter((sex, tuple(sorted(rows[key]))) for key, sex in frames["patients"].rows())
    return len(profiles) / len(rows)


def test_candidates_differ_in_steps_and_in_who_is_left_out(tmp_path: Path) -> None:
    """Each figure is that of a release by the plan of its candidate, recounted by hand."""
    given = tables()
    frontier = explore(given, plan(), tmp_path, seed=1)
    by_name = {point.name: point for point in frontier.points}
    assert list(by_name) == [
        "alike k=2 suppress_persons=0.9",
        "alike k=4 suppress_persons=0.9",
        "fewer rows most=1 suppress_persons=0.9",
        "fewer rows most=2 suppress_persons=0.9",
    ]
    assert frontier.unprotected.risk == pytest.approx(expected_matches(given))
    assert frontier.unprotected.utility == 1
    assert frontier.better == ("lower", "higher")
    for name, point in by_name.items():
        frames = shoal.protect(given, frontier.plans[name], seed=1).to_frames()
        assert point.holds
        assert point.risk == pytest.approx(expected_matches(frames)), name
    assert by_name["alike k=4 suppress_persons=0.9"].risk <= 1 / 4
    assert frontier.recommended in frontier.pareto
    assert {name for name in by_name if name in frontier.pareto} == set(frontier.pareto)
    assert all(listed(given, LinkedPlan.of(plan()), tmp_path, seed=1).values()), "figures are kept"
    assert not any(listed(tables(61), LinkedPlan.of(plan()), tmp_path, seed=1).values()), "for these tables alone"
    moved = {**given, "stays": given["stays"].with_columns(pl.col("patient").reverse())}
    assert not any(listed(moved, LinkedPlan.of(plan()), tmp_path, seed=1).values()), "and these links"


def test_on_the_command_line_and_in_the_report_of_the_release(run: Run, tmp_path: Path) -> None:
    for name, table in tables().items():
        table.write_csv(tmp_path / f"{name}.csv")
    described = LinkedPlan.of(plan())
    assert LinkedPlan.of(described.as_mapping()).as_mapping() == described.as_mapping()
    (tmp_path / "plan.yaml").write_text(described.as_yaml())
    files = [tmp_path / f"{name}.csv" for name in tables()]
    out = tmp_path / "exploration"
    asked = ["explore", *files, "--plan", tmp_path / "plan.yaml", "--out", out]
    assert "Dry run: 4 of 4 candidates would be tried" in run(*asked, "--dry-run")[1]
    assert run(*asked)[0] == 0
    content = json.loads((out / "frontier.json").read_text())
    assert content["axes"]["risk"]["title"] == "Marketer risk"
    assert len(list((out / "plans").glob("*.yaml"))) == 4
    chosen = ["--out", tmp_path / "out", "--seed", 1, "--exploration", out, "--plan"]
    assert run("protect", *files, *chosen, out / "plan.yaml")[0] == 0
    private = json.loads((tmp_path / "out/private/evidence.json").read_text())["private"]["exploration"]
    assert private["recommended"] == content["recommended"]
    assert content["recommended"] not in (tmp_path / "out/release/evidence.json").read_text()
    (tmp_path / "other.yaml").write_text(LinkedPlan.of(plan(suppress_persons=0.5)).as_yaml())
    status, _, message = run("protect", *files, *chosen, tmp_path / "other.yaml", "--overwrite")
    assert (status, "No candidate of the exploration" in message) == (2, True), message


def test_a_candidate_that_cannot_hold_says_why(tmp_path: Path) -> None:
    few = plan(explore={"method": ["profiles"], "k": [2], "suppress_persons": [0]}, requirements=[])
    few["requirements"] = [{"privacy": "k-anonymity", "k": 3}]
    (point,) = explore(tables(), few, tmp_path, seed=1).points
    assert not point.holds
    assert "alike with fewer than 2 others" in point.reason


def wrong(**explored: Any) -> dict[str, Any]:
    return plan(explore=explored)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (wrong(method=["mdav"]), r"explore: mdav works table by table. Say on which, as in {table: patients, ...}"),
        (wrong(method={"a": [{"table": "drug", "mask": "truncate-records", "most": 1}]}), "table 'drug'"),
        (wrong(method=["profiles"], suppress_persons=[]), "the range of 'suppress_persons' is empty"),
        (wrong(method=["profiles"], k=[2], variance=[1]), "none of the methods has the parameter 'variance'"),
        (wrong(method=["profiles"], k=2, risk="suda2"), "explore: risk: suda2 is measured table by table"),
        (wrong(method=["profiles"], k=2, utility="sse"), "explore: utility: sse is measured table by table"),
        (wrong(ranges=[1]), "needs the key 'method' with at least one method"),
        (plan(explore=None), "explore needs the section 'explore'"),
        (plan(requirements=[], synthesis={"replace": "cart"}), "where persons are made up none is released"),
    ],
)  # fmt: skip
def test_what_cannot_be_explored_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        linked_candidates(LinkedPlan.of(given))
