"""The JSON schema of plan files: plans for several linked tables, beside those for one."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.plan.linked import OF_KEYS, OF_TABLE, OF_TABLES, LinkedPlan
from shoal.plan.linked_schema import plan_schema
from shoal.table.examples import PLAN
from shoal.vocabulary.errors import PlanError

Validate = Callable[[Any], bool]
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "linked-tables.md"


@pytest.fixture(scope="module")
def valid() -> Validate:
    validators = pytest.importorskip("jsonschema.validators")
    schema = plan_schema()
    validator = validators.validator_for(schema)
    validator.check_schema(schema)
    return validator(schema).is_valid


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    """The plan of the how-to."""
    block = next(
        b for b in re.findall(r"```python\n(.*?)```", HOWTO.read_text(encoding="utf-8"), re.S) if "plan =" in b
    )
    names: dict[str, Any] = {}
    exec(block[: block.index("\ntry:")], names)
    return names["plan"]


def test_plans_for_one_table_and_for_several(valid: Validate, plan: dict[str, Any]) -> None:
    assert valid(PLAN)
    assert valid(plan)
    assert valid(LinkedPlan.of({**plan, "suppress_persons": 0.1, "for": "research"}).as_mapping())
    measured = {
        "measures": [{"risk": "known-records", "most": 2}, {"utility": "k-marginal"}],
        "requirements": [{"risk": "known-records", "at most": 0.1}, {"utility": "k-marginal", "at least": 500}],
    }
    assert valid({**plan, **measured})
    assert valid(LinkedPlan.of({**plan, **measured}).as_mapping())
    assert not valid({**PLAN, **plan}), "columns stand below a table"


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ((), {"suppress_person": 0.1}),
        ((), {"suppress_persons": 1.5}),
        ((), {"release_keys": "no"}),
        ((), {"requirements": [{"privacy": "k-map", "k": 5}]}),
        ((), {"requirements": [{"risk": "suda2", "at most": 0.1}]}),
        ((), {"measures": [{"risk": "suda2"}]}),
        ((), {"measures": [{"risk": "known-records", "at most": 0.1}]}),
        ((), {"requirements": [{"privacy": "k-anonymity", "k": 5, "knows": 2}]}),
        (("tables",), {"two words": {"columns": {"x": "other"}}}),
        (("tables", "stays"), {"parents": "patients"}),
        (("tables", "stays"), {"output": {"format": "csv"}}),
        (("tables", "stays", "columns"), {"ward": "quasi"}),
        (("tables", "drugs"), {"steps": [{"mask": "truncate-records", "mots": 1}]}),
    ],
)
def test_a_wrong_key_is_marked(
    valid: Validate, plan: dict[str, Any], place: tuple[str, ...], change: dict[str, Any]
) -> None:
    changed = copy.deepcopy(plan)
    section: Any = changed
    for name in place:
        section = section[name]
    section |= change
    assert not valid(changed)
    with pytest.raises(PlanError):
        LinkedPlan.of(changed)


def test_the_schema_has_the_sections_of_the_reader() -> None:
    definitions = plan_schema()["$defs"]
    assert set(definitions["SeveralTables"]["properties"]) == set(OF_TABLES)
    assert set(definitions["TableOfSeveral"]["properties"]) == {*OF_KEYS, *OF_TABLE}
