"""What a missing cell matches is one thing throughout a plan: in its steps, its requirements, its figures, the file."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.plan import Plan
from shoal.vocabulary.errors import PlanError

TABLE = shoal.example("hospital", n=300, seed=1).select(pl.col("age") // 10, "sex", "payer")
KEYS = {name: {"role": "quasi-identifier", "level": "nominal"} for name in TABLE.columns}
GATE = {"risk": "prosecutor", "at most": 0.4}
SUPPRESS = {"mask": "suppress", "k": 3}


def plan(*requirements: Any, **more: Any) -> dict[str, Any]:
    return {"columns": KEYS, "requirements": list(requirements), **more}


@pytest.mark.parametrize(
    ("requirements", "steps", "reading"),
    [
        ([], [], "equal"),
        ([], [SUPPRESS], "wildcard"),
        ([GATE], [SUPPRESS], "wildcard"),
        ([], [{**SUPPRESS, "missing": "nothing"}, SUPPRESS], "nothing"),
        ([{"privacy": "k-anonymity", "k": 3}], [SUPPRESS], "equal"),
        ([{"privacy": "k-anonymity", "k": 3, "missing": "nothing"}], [SUPPRESS], "nothing"),
        ([GATE], [{"mask": "suppress-records", "k": 3, "limit": 0.5}], "equal"),
    ],
)
def test_requirements_say_it_and_else_steps_that_blank_cells(requirements: Any, steps: Any, reading: str) -> None:
    assert Plan.of(plan(*requirements, steps=steps)).reading == reading


def test_a_bound_is_read_in_the_plan_as_in_the_step_before_it(tmp_path: Path) -> None:
    """Where no requirement says how, both as the step that blanks cells reads; the file is proved by this, too."""
    release = shoal.protect(TABLE, plan(GATE, steps=[{**SUPPRESS, "k": 1, "requirements": [GATE]}]), seed=1)
    (verdict,) = release.evidence.verdicts
    assert verdict.requirement == "Prosecutor risk at most 0.4, a missing cell matching every value"
    assert verdict.achieved == pytest.approx(1 / 3) and release.data.null_count().sum_horizontal().item() > 0
    release.write(tmp_path / "out")


def test_a_requirement_that_says_it_goes_for_bounds_inside_steps() -> None:
    """Cells are blanked until the bound holds as the plan reads it, not as the step would."""
    strict = {"privacy": "k-anonymity", "k": 2}
    release = shoal.protect(TABLE, plan(GATE, strict, steps=[{**SUPPRESS, "k": 1, "requirements": [GATE]}]), seed=1)
    assert [verdict.requirement for verdict in release.evidence.verdicts] == [
        "Prosecutor risk at most 0.4",
        "2-anonymity",
    ]


def test_candidates_are_compared_as_those_that_blank_cells_read_them(tmp_path: Path) -> None:
    """The unprotected table, too; and the chart's axis says how."""
    explored = {"method": {"cells": [SUPPRESS], "noise": [{"mask": "pram"}]}, "risk": "prosecutor"}
    explored["utility"] = "contingency"
    open_ = shoal.explore(TABLE, plan(explore=explored), tmp_path)
    assert open_.axes.as_mapping()["risk"]["title"] == "Prosecutor risk (missing wildcard)"
    assert {p.name: p.risk for p in open_.points}["cells"] == pytest.approx(1 / 3)
    # as 3-anonymity asks for more, the step blanks as it reads them
    said = shoal.explore(TABLE, plan({"privacy": "k-anonymity", "k": 3}, explore=explored), tmp_path)
    assert said.axes.as_mapping()["risk"]["title"] == "Prosecutor risk"
    assert {p.name: p.risk for p in said.points}["cells"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("step", "required"), [("wildcard", "equal"), ("wildcard", "nothing"), ("nothing", "equal"), ("equal", "nothing")]
)
@pytest.mark.parametrize(
    "mask", [SUPPRESS, {"mask": "suppress-records", "k": 3, "limit": 0.5}], ids=lambda m: m["mask"]
)
def test_readings_that_contradict_each_other_are_refused_before_a_record_is_read(
    mask: dict[str, Any], step: str, required: str, tmp_path: Path
) -> None:
    asked = plan({"privacy": "k-anonymity", "k": 3, "missing": required}, steps=[{**mask, "missing": step}])
    with pytest.raises(
        PlanError, match=r"^steps 1 \(suppress.*requirements 1 \(k-anonymity\).*same 'missing'"
    ) as refused:
        shoal.protect(object(), asked)  # which is no table, and nobody looked
    assert [place for place, _ in refused.value.mistakes] == [("steps", 0)]
    with pytest.raises(PlanError, match="steps 1"):
        shoal.assess(object(), asked)
    with pytest.raises(PlanError, match="steps 1"):
        shoal.protect(tmp_path / "absent.parquet", asked, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_two_requirements_that_no_step_can_reach_are_refused() -> None:
    both = [{"privacy": "k-anonymity", "k": 3, "missing": missing} for missing in ("nothing", "equal")]
    with pytest.raises(PlanError, match=r"requirements 2 \(k-anonymity\)"):
        shoal.protect(object(), plan(*both, steps=[SUPPRESS]))


@pytest.mark.parametrize("required", ["equal", "wildcard", "nothing"])
@pytest.mark.parametrize("partwise", [False, True])
def test_a_step_that_says_nothing_reads_as_what_is_required_does(required: str, partwise: bool, tmp_path: Path) -> None:
    """It used to read one as matching every value, so that what was required failed at the end."""
    asked = plan(
        {"privacy": "k-anonymity", "k": 3, "missing": required}, steps=[SUPPRESS], output={"format": "parquet"}
    )
    if partwise:
        TABLE.write_parquet(tmp_path / "t.parquet")
        release: Any = shoal.protect(
            tmp_path / "t.parquet", {**asked, "exact": False}, tmp_path / "out", seed=1, workers=1
        )
    else:
        release = shoal.protect(TABLE, asked, seed=1)
    (verdict,) = release.evidence.verdicts
    assert verdict.holds and verdict.achieved >= 3


def test_requirements_on_other_columns_do_not_change_how_a_step_reads() -> None:
    other = {"privacy": "k-anonymity", "k": 3, "columns": ["payer"], "missing": "nothing"}
    own = {"privacy": "k-anonymity", "k": 3, "columns": ["age", "sex"], "missing": "wildcard"}
    step = {**SUPPRESS, "columns": ["age", "sex"]}
    release = shoal.protect(TABLE, plan(own, other, steps=[step]), seed=1)
    assert release.data.equals(shoal.protect(TABLE, plan(own, steps=[{**step, "missing": "wildcard"}]), seed=1).data)


def test_readings_that_follow_from_one_another_are_admitted() -> None:
    """Whoever is alike in every cell is alike where a missing one matches all; a k of 1 asks for nothing."""
    for step, model in (("equal", {"k": 3, "missing": "wildcard"}), ("wildcard", {"k": 1})):
        asked = plan({"privacy": "k-anonymity", **model}, steps=[{**SUPPRESS, "missing": step}])
        assert shoal.protect(TABLE, asked, seed=1).evidence.verdicts[0].holds
