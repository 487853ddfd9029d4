"""Edits of the plan's text: the value changes, and nothing else does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.plan.lines import parse_yaml, plain
from shoal.studio.plans import names_in, put, put_all, reading, swapped
from shoal.vocabulary.errors import PlanError

TEXT = """\
# roles were agreed on in May
columns:
  age:  {role: quasi-identifier}   # known to neighbours
  "zip code": quasi-identifier
  income:
    role: confidential
    decimals: 0
steps:
  # first the groups
  - {partition: mdav, k: 5}   # as always
  - mask: noise
    variance: 0.1
    columns: [income]
requirements:
- {privacy: k-anonymity, k: 5}
output: {format: csv}
"""


def tree(text: str) -> Any:
    return plain(parse_yaml(text, "plan"))


@pytest.mark.parametrize(
    ("place", "value", "before", "after"),
    [
        (["steps", 0, "k"], 7, "k: 5}   # as always", "k: 7}   # as always"),
        (["columns", "age", "role"], "other", "{role: quasi-identifier}", "{role: other}"),
        (["columns", "age", "level"], "nominal", "quasi-identifier}", "quasi-identifier, level: nominal}"),
        (["columns", "zip code"], {"role": "other", "decimals": 0}, '"zip code": quasi-identifier', ""),
        (["columns", "income", "label"], "yearly: net", "", '    label: "yearly: net"\n'),
        (["steps", 1, "columns"], ["income", "age"], "[income]", "[income, age]"),
        (["steps", 2], {"mask": "shuffle"}, "", "  - {mask: shuffle}\n"),
        (["requirements", 1], {"privacy": "p-sensitivity", "p": 2}, "", "- {privacy: p-sensitivity, p: 2}\n"),
        (["measures", 0], {"risk": "suda2"}, "", "measures: [{risk: suda2}]\n"),
        (["columns", "income", "decimals"], None, "    decimals: 0\n", ""),
        (["output", "format"], None, "{format: csv}", "{}"),
    ],
)  # fmt: skip
def test_put(place: list[Any], value: Any, before: str, after: str) -> None:
    text = put(TEXT, place, value)
    assert after in text
    expected = tree(TEXT)
    _set(expected, place, value)
    assert tree(text) == expected
    for comment in ("# roles were agreed on in May", "# known to neighbours", "# first the groups", "# as always"):
        assert comment in text
    changed = [line for line in TEXT.splitlines() if line not in text.splitlines()]
    assert len(changed) <= 1


def _set(content: Any, place: list[Any], value: Any) -> None:
    *way, last = place
    for i, key in enumerate(way):
        if isinstance(content, dict) and key not in content:
            content[key] = [] if isinstance((*way, last)[i + 1], int) else {}
        content = content[key]
    if value is None:
        del content[last]
    elif isinstance(content, list) and last == len(content):
        content.append(value)
    else:
        content[last] = value


def test_a_list_that_loses_everything_is_empty_and_can_grow_again() -> None:
    text = put(put(TEXT, ["steps", 1], None), ["steps", 0], None)
    assert tree(text)["steps"] == []
    assert tree(put(text, ["steps", 0], {"mask": "shuffle"}))["steps"] == [{"mask": "shuffle"}]


@pytest.mark.parametrize(
    "written", ["steps: []", "steps:", "steps:\n- {mask: permute}", "steps: [{mask: permute}]  # one"]
)
def test_a_whole_section_is_written_one_entry_a_line(written: str) -> None:
    text = put(f"{written}\noutput: {{}}\n", ["steps"], [{"mask": "shuffle"}, {"mask": "noise", "variance": 0.2}])
    assert tree(text) == {"steps": [{"mask": "shuffle"}, {"mask": "noise", "variance": 0.2}], "output": {}}
    assert "- {mask: shuffle}\n" in text


def test_a_whole_section_of_a_text_in_json_stays_in_it() -> None:
    text = json.dumps({"columns": {"age": "other"}, "steps": [{"partition": "mdav", "k": 5}], "measures": []})
    after = put(text, ["steps"], [{"mask": "noise"}, {"mask": "shuffle"}])
    assert tree(after) == {
        "columns": {"age": "other"},
        "steps": [{"mask": "noise"}, {"mask": "shuffle"}],
        "measures": [],
    }


def test_entries_change_places() -> None:
    text = swapped(TEXT, ["steps"], 0, 1)
    assert tree(text)["steps"] == tree(TEXT)["steps"][::-1]
    assert "# first the groups" in text


def test_an_empty_text_takes_a_first_section() -> None:
    assert tree(put("", ["columns", "age"], "other")) == {"columns": {"age": "other"}}


def test_a_section_that_says_nothing_takes_its_first_entry() -> None:
    assert tree(put("steps:\noutput: {}\n", ["steps", 0], {"mask": "shuffle"}))["steps"] == [{"mask": "shuffle"}]


def test_no_form_changes_a_text_that_is_no_yaml() -> None:
    with pytest.raises(PlanError, match=r"^The plan's text is no valid YAML, so no form can change it\."):
        put("steps: [", ["steps", 0], 1)


names = st.text(min_size=1, max_size=12).filter(lambda s: s.strip() != "" and s.isprintable())
values = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 10**6), st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


@given(name=names, value=values)
def test_whatever_is_put_is_read_back(name: str, value: Any) -> None:
    text = put(TEXT, ["columns", name], {"role": "other", "label": value})
    assert tree(text)["columns"][name] == {"role": "other", "label": value}
    assert tree(put(text, ["steps", 0, "k"], value))["steps"][0]["k"] == value


def test_mistakes_have_their_places_and_lines() -> None:
    mistakes = reading(TEXT.replace("mdav", "mdaw").replace("confidential", "secret"), Path()).mistakes
    assert {m.line for m in mistakes} == {6, 10}
    assert {m.place[:2] for m in mistakes} == {("columns", "income"), ("steps", 0)}


def test_what_is_no_yaml_has_its_line() -> None:
    (mistake,) = reading("columns:\n  age: {role: other\nsteps: []\n", Path()).mistakes
    assert mistake.line == 3


def test_a_plan_without_mistakes_is_a_plan() -> None:
    read = reading(TEXT, Path())
    assert read.mistakes == ()
    assert read.plan is not None
    assert read.plan.schema.names("confidential") == ("income",)


@pytest.mark.parametrize(
    "text",
    [
        "a: 2020-01-01", "a: 2020-01-01 10:00:00", "a: .inf", "a: [-.inf, .nan]", "a: !!binary aGk=", "a: !!set {x, y}",
        "a: !other b", "columns: {? [a, b] : other}", "? {a: b} : c", "2019: {1.5: other}",
    ],
)  # fmt: skip
def test_whatever_yaml_knows_can_be_shown(text: str) -> None:
    """Whoever types a day or an infinity must not lose the page."""
    tree = reading(text, Path()).tree
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert tree


def test_a_column_whose_name_is_a_number_has_its_role() -> None:
    tree = reading("columns: {2019: quasi-identifier}", Path()).tree
    assert dict(names_in(tree)) == {"2019": "quasi-identifier"}
    assert tree["columns"]["2019"] == "quasi-identifier"


def test_no_form_changes_a_text_nested_too_deep() -> None:
    for text in ("a: " + "[" * 3000 + "]" * 3000, "- " * 3000):
        with pytest.raises(PlanError, match="nested more than 120 deep"):
            put(text, ["steps"], 1)


def test_a_change_without_a_place_is_refused() -> None:
    with pytest.raises(PlanError, match="needs a place"):
        put("columns: {age: other}\n", [], 1)


@given(
    keys=st.lists(st.sampled_from(["role", "level", "missing", "deep"]), min_size=1, max_size=6),
    names=st.lists(st.sampled_from(["a", "b", "c", "new"]), min_size=1, max_size=6),
    values=st.lists(st.sampled_from(["other", None, 5, [1, 2], {"x": 1}]), min_size=1, max_size=6),
)
def test_several_changes_at_once_are_the_changes_one_by_one(
    keys: list[str], names: list[str], values: list[Any]
) -> None:
    text = (
        "columns: # of people\n  a: {role: other, level: nominal}  # its name\n"
        "  b:\n    role: other\n    level: nominal\n"
        "  c: {role: other}\nsteps:\n  - {partition: mdav, k: 5}\n"
    )
    changes: list[Any] = [(["columns", name, key], value) for name, key, value in zip(names, keys, values)]
    after = text
    try:
        for place, value in changes:
            after = put(after, place, value)
    except PlanError:
        with pytest.raises(PlanError):
            put_all(text, changes)
    else:
        assert put_all(text, changes) == after
