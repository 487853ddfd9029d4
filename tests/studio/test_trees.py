"""Cells of a hierarchy changed one by one, by hand."""

from pathlib import Path
from typing import Any

import pytest

from shoal.studio import trees
from shoal.studio.plans import put, reading
from shoal.studio.trees import edited
from shoal.table.hierarchy_forms import hierarchy_of
from shoal.vocabulary.errors import InputError

COUNTS = {"Arles": 3, "Evora": 1, "Bonn": 2}
SPEC = {"nested": {"south": ["Arles", "Evora"], "north": ["Bonn"]}}


def after(edit: dict[str, Any], spec: Any = SPEC, counts: dict[str, int] = COUNTS) -> dict[str, list[str]]:
    """Labels above each value."""
    return {row[0]: row[1:] for row in edited(counts, spec, Path(), edit)["paths"]}


def test_a_label_is_renamed_wherever_it_stands() -> None:
    assert after({"level": 1, "label": "south", "name": "warm"}) == {
        "Arles": ["warm", "*"],
        "Evora": ["warm", "*"],
        "Bonn": ["north", "*"],
    }


def test_a_value_goes_under_another_label_and_what_is_above_it() -> None:
    deep = {"paths": [["a", "1", "x", "*"], ["b", "1", "x", "*"], ["c", "2", "y", "*"]]}
    moved = after({"level": 0, "label": "b", "under": "2"}, deep, {"a": 1, "b": 1, "c": 1})
    assert moved == {"a": ["1", "x", "*"], "b": ["2", "y", "*"], "c": ["2", "y", "*"]}


def test_a_new_label_keeps_what_is_above() -> None:
    assert after({"level": 0, "label": "Evora", "under": "west"})["Evora"] == ["west", "*"]


def test_a_label_that_is_renamed_to_another_joins_it() -> None:
    assert {row[0] for row in after({"level": 1, "label": "north", "name": "south"}).values()} == {"south"}


def test_several_labels_become_one_under_what_is_above_the_first() -> None:
    deep = {"paths": [["a", "1", "x", "*"], ["b", "2", "x", "*"], ["c", "3", "y", "*"], ["d", "4", "y", "*"]]}
    merged = after({"level": 1, "labels": ["2", "3"], "name": "23"}, deep, dict.fromkeys("abcd", 1))
    assert merged == {"a": ["1", "x", "*"], "b": ["23", "x", "*"], "c": ["23", "x", "*"], "d": ["4", "y", "*"]}


def test_a_label_is_split_into_those_below_it() -> None:
    assert after({"level": 1, "label": "south", "split": True}) == {
        "Arles": ["Arles", "*"],
        "Evora": ["Evora", "*"],
        "Bonn": ["north", "*"],
    }


VALUES = {"town": ["Arles", "Bonn"], "age": ["31", "44"], "age group": ["30", "40"]}


def test_files_go_to_the_columns_of_their_names_or_values() -> None:
    files = {
        "adult_hierarchy_age.csv": "31;30-39;*\n44;40-49;*\n",
        "places.csv": "\ufeffArles,south,*\nBonn,north,*\nEvora,south,*\n",
        "town.csv": "x;*\n",
        "broken.csv": "31;30-39;*\n44;*\n",
    }
    read = trees.read_files([{"name": name, "text": text} for name, text in files.items()], VALUES)
    assert [one["column"] for one in read] == ["age", "town", None, None]
    assert read[0]["spec"] == {"paths": [["31", "30-39", "*"], ["44", "40-49", "*"]]}
    assert (read[1]["height"], read[1]["lacking"]) == (2, 0)
    assert read[2]["reason"] == "No column has values of this hierarchy."
    assert "labels" in read[3]["reason"] or "rows" in read[3]["reason"]


def test_missing_values_are_taken_in_by_themselves() -> None:
    rows = after({"missing": True}, counts={**COUNTS, "Ghent": 4, "Turin": 1})
    assert (rows["Ghent"], rows["Turin"]) == (["Ghent", "*"], ["Turin", "*"])
    assert hierarchy_of({"paths": [[k, *v] for k, v in rows.items()]}, COUNTS, Path()).missing(["Ghent"]) == ()


def test_a_built_hierarchy_is_written_out() -> None:
    rows = after(
        {"level": 1, "label": "[30, 40)", "name": "thirties"}, {"intervals": [10]}, {"31": 1, "35": 2, "44": 1}
    )
    assert [rows["31"][0], rows["35"][0], rows["44"][0]] == ["thirties", "thirties", "[40, 50)"]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"level": 0, "label": "Arles", "name": "x"}, "no such level"),
        ({"level": 2, "label": "*", "under": "x"}, "no such level"),
        ({"level": "1", "label": "south", "name": "x"}, "no such level"),
        ({"level": 1, "label": "west", "name": "x"}, "no such label any more"),
        ({"level": 1, "label": "south", "name": " "}, "Write one"),
        ({}, "Write one"),
    ],
)
def test_what_cannot_be_is_refused(edit: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        after(edit)


def test_a_large_hierarchy_stays_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_LEAVES", 2)
    with pytest.raises(InputError, match="Keep it as a file"):
        after({"missing": True})


def test_it_stands_in_the_plan_row_by_row() -> None:
    paths = edited(COUNTS, SPEC, Path(), {"level": 1, "label": "south", "name": "the warm: south"})
    text = put(
        "columns:\n  town: quasi-identifier\n  age: other\nsteps: []\n",
        ["columns", "town"],
        {"role": "quasi-identifier", "level": "nominal", "hierarchy": paths},
    )
    assert len(text.splitlines()) == 6
    read = reading(text, Path())
    assert read.mistakes == ()
    assert read.tree["columns"]["town"]["hierarchy"] == paths
    again = put(put(text, ["columns", "town", "hierarchy", "paths", 0, 1], "cold"), ["columns", "age"], "confidential")
    assert reading(again, Path()).tree["columns"]["town"]["hierarchy"]["paths"][0][1] == "cold"
