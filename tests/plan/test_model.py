"""Plans: every mistake at once, each with its line; the same plan from its own mapping; comments kept."""

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.plan import Plan
from shoal.plan.model import SMALLEST_BLOCK
from shoal.plan.spelled_out import SECTIONS, SETTINGS
from shoal.privacy.k_anonymity import KAnonymity
from shoal.table.schema import Schema
from shoal.vocabulary.errors import PlanError
from shoal.vocabulary.registry import KINDS, registered

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
    sentences = str(error.value).splitlines()
    expected = [
        ("line 3, column 3", "column 'age': Unknown role '"),
        ("line 4, column 32", "Unknown key 'desimals'; did you mean 'decimals'"),
        ("line 6, column 5", "Unknown partition 'mdaw'; did you mean 'mdav'"),
        ("line 7, column 23", "k must be greater than or equal to 1; got 0"),
        ("line 8, column 29", "steps 3: Unknown column 'agee'; did you mean 'age'"),
        ("line 9, column 1", "Unknown section 'requirement'; did you mean 'requirements'"),
        ("line 11, column 10", "Unknown value of format 'docx'"),
    ]
    assert len(sentences) == len(expected)
    for sentence, (place, rule) in zip(sentences, expected):
        assert f"plan.yaml, {place}: " in sentence
        assert rule in sentence


def test_unknown_columns_of_a_step(tmp_path: Path) -> None:
    text = GOOD.replace("by: [age]", "by: [agee]")
    with pytest.raises(PlanError, match="line 7, column 78: steps 1: Unknown column 'agee'; did you mean 'age'"):
        Plan.read(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns: [", "line 1"),
        ("- a", "a plan is a mapping"),
        ("steps: []", "must give every column a role"),
        ("columns: {a: other}\nsteps: 3", "'steps' must be a list"),
        ("columns: {a: other}\nexact: 3", "exact must be true or false"),
        ("columns: {a: other}\nblock_size: 9999", f"block_size must be a whole number of at least {SMALLEST_BLOCK:,}"),
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
    schema = Plan.json_schema()
    known = {
        (kind, model["properties"][kind]["const"])
        for model in schema["$defs"].values()
        for kind in KINDS
        if "const" in model.get("properties", {}).get(kind, {})
    }
    assert known == {(entry.kind, entry.name) for entry in registered() if entry.kind != "replace"}
    assert set(schema["properties"]) == {*SECTIONS, *SETTINGS}


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
    with pytest.raises(PlanError, match="references expanded"):
        Plan.read(path)


def test_a_plan_made_of_objects_holds_nothing_emptily_either() -> None:
    with pytest.raises(PlanError, match="would hold emptily"):
        Plan(schema=Schema.of({"a": "other"}), requirements=(KAnonymity(k=5),))


def test_objects_stand_wherever_mappings_may() -> None:
    columns = {"a": "quasi-identifier", "b": "confidential"}
    written = {
        "columns": columns,
        "steps": [
            {"partition": "mdav", "k": 5, "replace": "normal"},
            {"mask": "rank-swap", "p": 0.1, "columns": ["b"]},
        ],
        "requirements": [{"privacy": "k-anonymity", "k": 3}, {"privacy": "k-anonymity", "k": 5}],
        "measures": [{"risk": "suda2"}],
    }
    made = {
        "columns": columns,
        "steps": [
            {"partition": shoal.MDAV(k=5), "replace": shoal.Normal()},
            {"mask": shoal.RankSwap(p=0.1), "columns": "b"},
        ],
        "requirements": [{"privacy": shoal.KAnonymity(k=3)}, shoal.KAnonymity(k=5)],
        "measures": [shoal.SUDA2()],
    }
    assert Plan.of(made).as_mapping() == Plan.of(written).as_mapping()
    steps = Plan.of({"columns": columns, "steps": [shoal.MDAV(k=5), shoal.RankSwap(p=0.1)]}).steps
    assert [step.name for step in steps] == ["mdav + centroid", "rank-swap"]


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ({"partition": shoal.MDAV(k=5), "k": 3}, "mdav is given as an object, which holds its parameters"),
        (shoal.KAnonymity(k=5), "exactly one of the keys 'partition', 'mask'"),
        ({"partition": shoal.KAnonymity(k=5)}, "A partition is needed, .*; got a privacy model"),
    ],
)
def test_objects_in_the_wrong_place(step: Any, rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        Plan.of({"columns": {"a": "quasi-identifier"}, "steps": [step]})


def test_what_may_be_a_cell_or_a_secret_is_not_repeated() -> None:
    with pytest.raises(PlanError) as caught:
        Plan.of({"columns": {"a": {"role": "other", "order": ["ann", "bob", "ann"]}}})
    assert "order must be a list of different categories." in str(caught.value)
    assert "ann" not in str(caught.value)


def test_a_plan_does_not_say_where_it_lies() -> None:
    with pytest.raises(PlanError, match="Unknown section 'folder'"):
        Plan.of({"columns": {"a": "other"}, "folder": "/elsewhere"})
    assert Plan.of({"columns": {"a": "other"}}, "here").folder == Path("here")
