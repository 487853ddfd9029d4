"""What a missing cell matches is one thing throughout a plan: in its steps, its requirements, its figures, the file."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.plan import Plan

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
    said = shoal.explore(TABLE, plan({"privacy": "k-anonymity", "k": 3}, explore=explored), tmp_path)
    assert said.axes.as_mapping()["risk"]["title"] == "Prosecutor risk"
    assert {p.name: p.risk for p in said.points}["cells"] == 1
