"""Limits that a plan takes from its context: filled in, changed one by one, said in the head of the report."""

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli import init
from shoal.plan.context import CONTEXTS
from shoal.release.refusal import NotProved
from shoal.vocabulary.errors import PlanError

COLUMNS = {"age": "quasi-identifier", "sex": "quasi-identifier", "los": "confidential", "charge": "confidential"}
STEPS = [{"partition": "mdav", "k": 12}]


def limits(**sections: object) -> list[str]:
    plan = shoal.Plan.of({"columns": COLUMNS, "steps": STEPS, **sections})
    return [model.method_name for model in plan.requirements]


def bounds(context: str) -> tuple[int, float]:
    k, prosecutor, _ = shoal.Plan.of({"for": context, "columns": COLUMNS, "steps": STEPS}).requirements
    return k.k, prosecutor.at_most


def test_each_context_has_its_limits() -> None:
    assert {name: bounds(name) for name in CONTEXTS} == {
        "public": (11, 0.091),
        "research": (5, 0.2),
        "internal": (3, 0.3334),
        "hipaa": (11, 0.091),
    }
    assert limits() == []
    assert tuple(CONTEXTS) == init.CONTEXTS


@pytest.mark.parametrize("context", CONTEXTS)
def test_classes_of_the_least_size_keep_all_limits(context: str) -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * CONTEXTS[context].k}).with_columns(los=pl.int_range(pl.len()))
    plan = {"for": context, "columns": {"sex": "quasi-identifier", "los": "confidential"}}
    assert shoal.protect(frame, plan, seed=1).evidence.holds


def test_what_the_plan_limits_itself_stays() -> None:
    own = [{"privacy": "k-anonymity", "k": 4}]
    plan = shoal.Plan.of({"for": "research", "columns": COLUMNS, "steps": STEPS, "requirements": own})
    assert [model.method_name for model in plan.requirements] == ["k-anonymity", "prosecutor", "information-kept"]
    assert plan.requirements[0].k == 4
    assert [model.method_name for model in plan.of_context] == ["prosecutor", "information-kept"]
    assert shoal.Plan.of(plan.as_mapping()) == plan


def test_synthetic_records_get_limits_that_mean_something() -> None:
    steps = [{"partition": "whole", "columns": list(COLUMNS), "replace": "cart"}]
    assert limits(**{"for": "public", "steps": steps}) == ["replicated-uniques", "information-kept"]


def test_a_context_that_does_not_exist_is_refused() -> None:
    with pytest.raises(PlanError, match="Unknown value of for 'reserch'; did you mean 'research'"):
        limits(**{"for": "reserch"})


def test_the_limits_are_proved_and_said(tmp_path: Path) -> None:
    table = shoal.example("hospital", n=300, seed=2).select(list(COLUMNS))
    own = [{"utility": "information-kept", "at least": 0.4}]
    plan = {
        "for": "research",
        "columns": COLUMNS,
        "steps": [*STEPS, {"mask": "rank-swap", "columns": ["los", "charge"], "p": 0.1}],
        "requirements": own,
    }
    out = shoal.protect(table, plan, seed=1).write(tmp_path / "out")
    expected = (
        "Limits usual for 'research' (risk: El Emam & Malin (2015), cells of 5 for recipients under contract; loss: "
        "shoal's own), but for Information kept at least 0.4, which the plan states itself."
    )
    for folder in ("release", "private"):
        assert json.loads((out / folder / "evidence.json").read_text())["context"] == expected
        assert "Limits usual for" in (out / folder / "report.html").read_text()
    with pytest.raises(NotProved, match="11-anonymity"):
        shoal.protect(table, {**plan, "for": "public", "steps": [{"partition": "mdav", "k": 5}]}, seed=1)
