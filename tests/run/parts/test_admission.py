"""A plan and the size of the table decide whether it is worked on in parts; what needs records at once is known."""

import re
from typing import Any

import pytest

from shoal.plan import Plan
from shoal.run.parts.admission import (
    EXACT_CELLS,
    class_models,
    columns_at_once,
    is_for_parts,
    needed_at_once,
    whole_needed,
    whole_needed_to_judge,
)

COLUMNS = {"id": "identifier", "age": "quasi-identifier", "pay": "confidential"}
BLOCKS: dict[str, Any] = {"partition": "mdav", "k": 3}
FITTING: dict[str, Any] = {
    "columns": COLUMNS,
    "steps": [BLOCKS, {"mask": "noise", "columns": ["pay"], "variance": 0.1}],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


def of_steps(plan: Plan) -> list[str]:
    return [why for step in plan.steps if (why := needed_at_once(step, plan))]


def test_blocks_rows_and_classes_need_no_records_at_once() -> None:
    for output in ({"format": "csv"}, {"format": "parquet"}):
        plan = Plan.of({**FITTING, "output": output})
        assert whole_needed(plan) == of_steps(plan) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"requirements": [{"privacy": "probabilistic-k-anonymity", "k": 2}]}, "is proved only on a whole table"),
        ({"requirements": [{"utility": "sse", "at most": 9}]}, "A bound on sse"),
        ({"requirements": [{"privacy": "k-anonymity", "k": 2, "unit": "id"}]}, "counted only in a whole table"),
        ({"constraints": ["pay >= 0"]}, "Edit rules (constraints)"),
        ({"output": {"copies": 2}}, "copies: 1"),
        ({"output": {"format": "xlsx"}}, "format xlsx"),
        ({"steps": [{"mask": "laplace", "epsilon": 1, "bounds": {"pay": [0, 9]}, "columns": ["pay"]}]}, "of laplace"),
    ],
)
def test_each_section_and_requirement_that_needs_the_whole_table_is_named_once(
    changes: dict[str, Any], sentence: str
) -> None:
    (needed,) = whole_needed(Plan.of({**FITTING, **changes}))
    assert sentence in needed


@pytest.mark.parametrize(
    ("step", "columns", "sentence"),
    [
        ({"partition": "whole"}, {}, "needs all records at once for whole"),
        ({**BLOCKS, "replace": {"method": "cart", "no_exact_matches": True}}, {}, "all records at once for no_exact"),
        ({**BLOCKS, "unit": "id"}, {}, "groups of values of 'id'"),
        ({**BLOCKS, "small_strata": "merge"}, {}, "unites small strata"),
        ({"mask": "shuffle"}, {}, "needs all records at once."),
        ({"mask": "recode", "bins": 3, "columns": ["age"]}, {}, "give cuts instead"),
        (BLOCKS, {"sex": {"role": "other", "missing": "category"}}, "'sex', whose missing cells are a category"),
    ],
)
def test_each_step_that_needs_records_at_once_says_why(
    step: dict[str, Any], columns: dict[str, Any], sentence: str
) -> None:
    plan = Plan.of({**FITTING, "columns": {**COLUMNS, **columns}, "steps": [step]})
    (why,) = of_steps(plan)
    assert sentence in why
    assert whole_needed(plan) == []


def test_a_mask_that_says_what_it_reads_gathers_no_more() -> None:
    of_two, of_all, groups = Plan.of(
        {
            **FITTING,
            "columns": {**COLUMNS, "area": "stratum", "note": "other"},
            "steps": [{"mask": "pram", "columns": ["pay"]}, {"mask": "shuffle"}, {"partition": "whole"}],
        }
    ).steps
    plan = Plan.of({**FITTING, "columns": {**COLUMNS, "area": "stratum", "note": "other"}})
    assert columns_at_once(of_two, plan) == {"pay", "area"}
    assert columns_at_once(of_all, plan) is None
    assert columns_at_once(groups, plan) is None


def test_methods_that_would_do_are_named_with_how_they_work() -> None:
    (why,) = of_steps(Plan.of({**FITTING, "steps": [{"partition": "whole"}]}))
    assert "consensus" in why and " mdav" in why and " whole" not in why.split("These work")[1]
    (why,) = of_steps(Plan.of({**FITTING, "steps": [{"mask": "shuffle"}]}))
    assert {"noise", "generalise", "rank-swap"} <= set(re.findall(r"[\w-]+", why))
    assert " or " in why and "shuffle" not in why.split("These work")[1]


def cells(count: int) -> Any:
    return lambda: count


def unasked() -> int:
    raise AssertionError("the plan says it, so nothing is counted")


WHOLE: dict[str, Any] = {**FITTING, "constraints": ["pay >= 0"], "output": {"copies": 2}}


@pytest.mark.parametrize("sections", [FITTING, WHOLE], ids=["fitting", "whole"])
def test_the_plan_decides_and_else_the_number_of_cells_whatever_it_contains(sections: dict[str, Any]) -> None:
    assert not is_for_parts(Plan.of(sections), cells(EXACT_CELLS))
    assert is_for_parts(Plan.of(sections), cells(EXACT_CELLS + 1))
    assert not is_for_parts(Plan.of({**sections, "exact": True}), unasked)
    assert is_for_parts(Plan.of({**sections, "exact": False}), unasked)
    assert is_for_parts(Plan.of({**sections, "block_size": 10_000}), unasked)


def test_steps_and_files_are_in_nobodys_way_where_a_release_is_judged() -> None:
    assert whole_needed_to_judge(Plan.of(WHOLE)) == []
    asked = [{"privacy": "k-anonymity", "k": 3}, {"privacy": "probabilistic-k-anonymity", "k": 2}]
    (needed,) = whole_needed_to_judge(Plan.of({**WHOLE, "requirements": asked}))
    assert "probabilistic-k-anonymity is proved only on a whole table" in needed


def test_requirements_on_classes_are_those_that_are_proved_class_by_class() -> None:
    asked = [{"privacy": "k-anonymity", "k": 3}, {"privacy": "probabilistic-k-anonymity", "k": 2}]
    assert [model.method_name for model in class_models(Plan.of({**FITTING, "requirements": asked}))] == ["k-anonymity"]
