"""Plans: every mistake at once, each with its line; the same plan from its own mapping; comments kept."""

from pathlib import Path

import pytest

from shoal.data.schema import Schema
from shoal.errors import PlanError
from shoal.methods import registered
from shoal.plan import Plan
from shoal.plan.json_schema import json_schema
from shoal.privacy.k_anonymity import KAnonymity

GOOD = """
columns:
  age: quasi-identifier      # known to neighbours
  zip: {role: quasi-identifier, level: nominal, hierarchy: {nested: {n: ['1', '2']}}}
  income: {role: confidential, decimals: 0}
steps:
  - {partition: mdav, k: 5, replace: {method: centroid, continuous: median}, by: [age]}
requirements:
  - {privacy: k-anonymity, k: 5}
constraints: ["income >= 0"]
output: {format: parquet}
"""

BAD = """
columns:
  age: quasi
  income: {role: confidential, desimals: 0}
steps:
  - {partition: mdaw, k: 5}
  - {partition: mdav, k: 0}
  - {partition: mdav, k: 2, columns: [agee]}
requirement:
  - {privacy: k-anonymity, k: 5}
output: {format: docx}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text)
    return path


def test_a_plan_means_what_it_says(tmp_path: Path) -> None:
    plan = Plan.read(write(tmp_path, GOOD))
    assert plan.schema.names("quasi-identifier") == ("age", "zip")
    assert plan.steps[0].method.k == 5
    assert plan.steps[0].replace.continuous == "median"
    assert plan.requirements[0].k == 5
    assert (plan.constraints, plan.output.format) == (("income >= 0",), "parquet")


def test_a_plan_is_made_again_from_its_mapping_and_its_text(tmp_path: Path) -> None:
    plan = Plan.read(write(tmp_path, GOOD))
    again = Plan.of(plan.as_mapping())
    assert again.as_mapping() == plan.as_mapping()
    assert Plan.read(write(tmp_path, plan.as_yaml())).as_mapping() == plan.as_mapping()


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as error:
        Plan.read(write(tmp_path, BAD))
    told = str(error.value)
    for line, part in [
        (3, "column 'age': Unknown role '"),
        (4, "Unknown key 'desimals'; did you mean 'decimals'"),
        (6, "Unknown partition method 'mdaw'; did you mean 'mdav'"),
        (7, "k must be greater than or equal to 1; got 0"),
        (9, "Unknown section 'requirement'; did you mean 'requirements'"),
        (11, "Unknown format 'docx'"),
    ]:
        assert any(f"line {line}:" in row and part in row for row in told.splitlines()), (line, told)


def test_unknown_columns_of_a_step(tmp_path: Path) -> None:
    text = GOOD.replace("by: [age]", "by: [agee]")
    with pytest.raises(PlanError, match="line 7: steps 1: Unknown column 'agee'; did you mean 'age'"):
        Plan.read(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns: [", "line 1"),
        ("- a", "a plan is a mapping"),
        ("steps: []", "must give every column a role"),
        ("columns: {a: other}\nsteps: 3", "'steps' must be a list"),
        ("columns: {a: other}\nsteps: [{k: 5}]", "exactly one of the keys 'partition', 'mask'"),
        ("columns: {a: confidential}\nrequirements: [{privacy: k-anonymity, k: 3}]", "would hold emptily"),
        ("columns: {a: confidential}\nsteps: [{partition: mdav, k: 3}]", "steps 1: it names no columns"),
        (
            "columns: {a: other}\nconstraints: {rule: [a >= 0]}",
            "Unknown key of constraints 'rule'; did you mean 'rules'",
        ),
        ("columns: {a: weight, b: weight}", "at most one column may have the role 'weight'"),
    ],
)
def test_what_is_no_plan(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Plan.read(write(tmp_path, text))


def test_true_is_not_one(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="mdav: k must not be true or false; got True"):
        Plan.read(write(tmp_path, GOOD.replace("partition: mdav, k: 5", "partition: mdav, k: true")))


def test_yaml_1_2_keeps_codes_and_words(tmp_path: Path) -> None:
    plan = Plan.read(write(tmp_path, "columns: {a: {role: other, order: [NO, no, 012]}}"))
    assert plan.schema.columns["a"].order == ("NO", "no", 12)


def test_the_schema_knows_every_method() -> None:
    schema = json_schema()
    known = {
        alternative["properties"][kind]["const"]
        for key, kind in (("steps", "partition"), ("requirements", "privacy"))
        for alternative in schema["properties"][key]["items"]["anyOf"]
        if kind in alternative["properties"]
    }
    assert known == {entry.name for kind in ("partition", "privacy") for entry in registered(kind)}


def test_a_name_as_a_number_and_as_text_is_one_column(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text('columns: {1: quasi-identifier, "1": other}\n')
    with pytest.raises(PlanError, match="column '1' occurs more than once"):
        Plan.read(path)


def test_references_that_stand_for_more_than_a_memory_holds(tmp_path: Path) -> None:
    letters = "abcdefghij"
    lines = ["columns: {x: other}", "explore:", f"  a: &a [{', '.join('1' * 10)}]"]
    lines += [f"  {new}: &{new} [{', '.join([f'*{old}'] * 10)}]" for old, new in zip(letters, letters[1:])]
    path = tmp_path / "plan.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(PlanError, match="references written out"):
        Plan.read(path)


def test_a_plan_made_of_objects_holds_nothing_emptily_either() -> None:
    with pytest.raises(PlanError, match="would hold emptily"):
        Plan(schema=Schema.of({"a": "other"}), requirements=(KAnonymity(k=5),))
