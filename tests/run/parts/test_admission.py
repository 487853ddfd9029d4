"""A plan and the size of the table decide whether it is worked on in parts; who asks for more hears all that is in the
way.
"""

import re
from typing import Any

import pytest

from shoal.plan import Plan
from shoal.run.parts.admission import EXACT_CELLS, class_models, is_for_parts, whole_needed
from shoal.vocabulary.errors import PlanError

COLUMNS = {"id": "identifier", "age": "quasi-identifier", "pay": "confidential"}
BLOCKS: dict[str, Any] = {"partition": "mdav", "k": 3}
FITTING: dict[str, Any] = {
    "columns": COLUMNS,
    "steps": [BLOCKS, {"mask": "noise", "columns": ["pay"], "variance": 0.1}],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


def needed(**changes: Any) -> list[str]:
    return whole_needed(Plan.of({**FITTING, **changes}))


def test_nothing_is_in_the_way_of_blocks_rows_and_classes() -> None:
    for output in ({"format": "csv"}, {"format": "parquet"}):
        assert needed(output=output) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"steps": [BLOCKS, {"partition": "whole"}]},
            "steps 2 (whole + centroid) needs the whole table at once for whole",
        ),
        ({"steps": [{**BLOCKS, "unit": "id"}]}, "to form groups of values of 'id'."),
        ({"steps": [{**BLOCKS, "small_strata": "merge"}]}, "unites small strata"),
        ({"steps": [{"mask": "shuffle"}]}, "needs the whole table at once."),
        ({"requirements": [{"privacy": "probabilistic-k-anonymity", "k": 2}]}, "is proved only on a whole table"),
        ({"requirements": [{"privacy": "k-anonymity", "k": 2, "unit": "id"}]}, "counted only where it is released"),
        ({"constraints": ["pay >= 0"]}, "Edit rules (constraints)"),
        ({"output": {"copies": 2}}, "copies must be 1"),
        ({"output": {"format": "xlsx"}}, "it is xlsx."),
        ({"columns": {**COLUMNS, "sex": {"role": "other", "missing": "category"}}}, "missing: category"),
    ],
)
def test_each_thing_in_the_way_is_named_once(changes: dict[str, Any], sentence: str) -> None:
    (problem,) = needed(**changes)
    assert sentence in problem


def test_methods_that_would_do_are_named_with_how_they_work() -> None:
    (problem,) = needed(steps=[{"partition": "whole"}])
    assert "consensus" in problem and " mdav" in problem and " whole" not in problem.split("These work")[1]
    (problem,) = needed(steps=[{"mask": "shuffle"}])
    assert {"noise", "generalise", "rank-swap"} <= set(re.findall(r"[\w-]+", problem))
    assert " or " in problem and "shuffle" not in problem.split("These work")[1]


def cells(count: int) -> Any:
    return lambda: count


def unasked() -> int:
    raise AssertionError("the plan says it, so nothing is counted")


def test_the_plan_decides_and_else_the_number_of_cells() -> None:
    plan = Plan.of(FITTING)
    assert not is_for_parts(plan, cells(EXACT_CELLS))
    assert is_for_parts(plan, cells(EXACT_CELLS + 1))
    assert not is_for_parts(Plan.of({**FITTING, "exact": True}), unasked)
    assert is_for_parts(Plan.of({**FITTING, "exact": False}), unasked)
    assert is_for_parts(Plan.of({**FITTING, "block_size": 10_000}), unasked)


def test_what_needs_the_whole_table_gets_it_unless_parts_are_asked_for() -> None:
    whole = {**FITTING, "constraints": ["pay >= 0"], "output": {"copies": 2}}
    assert not is_for_parts(Plan.of(whole), cells(EXACT_CELLS + 1))
    with pytest.raises(PlanError, match=r"Edit rules .* output: copies must be 1"):
        is_for_parts(Plan.of({**whole, "exact": False}), unasked)


def test_steps_and_files_are_in_nobodys_way_where_a_release_is_judged() -> None:
    made = Plan.of({**FITTING, "exact": False, "output": {"copies": 2}})
    assert is_for_parts(made, unasked, judged=True)
    unproved = Plan.of({**FITTING, "exact": False, "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 2}]})
    with pytest.raises(PlanError, match="is proved only on a whole table"):
        is_for_parts(unproved, unasked, judged=True)


def test_requirements_on_classes_are_those_that_are_proved_class_by_class() -> None:
    asked = [{"privacy": "k-anonymity", "k": 3}, {"privacy": "probabilistic-k-anonymity", "k": 2}]
    assert [model.method_name for model in class_models(Plan.of({**FITTING, "requirements": asked}))] == ["k-anonymity"]
