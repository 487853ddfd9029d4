"""Whatever stands in a plan or in a cell and is not released is in no file of a release.

A marked value is planted in every parameter that may hold a cell, a path or a secret, of every registered method,
and in constraints, hierarchies, labels and cells. Then every file of `release/` is searched for the marks, and those
inside packed ones.
"""

import json
import zipfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from contract.test_methods import ALL, ids, made
from shoal.plan import MaskStep, PartitionStep, Plan
from shoal.plan.lines import dump_yaml
from shoal.plan.publication import WITHHELD, hidden_cells, public_sections, recorded
from shoal.table.files.tables import read_table
from shoal.table.microdata import Microdata
from shoal.vocabulary.parameters import HoldsCells, KeyFile, Secret, TablePath, holds
from shoal.vocabulary.registry import Entry

NUMBER, TEXT, FOLDER, KEY = 103.25, "zyxwvut", "mayerhofer", "feedfacecafebeef" * 2
"""Marks: the largest number of the original, a category of one person, a folder, a secret."""

MARKS = (str(NUMBER), TEXT, FOLDER, KEY)

N = 60
FRAME = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(N - 1)] + [TEXT],
        "age": [20.5 + i % 40 for i in range(N - 1)] + [NUMBER],
        "pay": [1000.0 + 7 * i for i in range(N)],
        "job": ["baker", "cooper", "smith"] * 19 + ["baker", "cooper", TEXT],
    }
)
COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "label": f"age, up to {NUMBER}"},
    "pay": "confidential",
    "job": {
        "role": "quasi-identifier",
        "hierarchy": {"nested": {"trade": ["baker", "cooper"], "craft": ["smith", TEXT]}},
    },
}
STEPS: list[dict[str, Any]] = [
    {"mask": "recode", "columns": ["job"], "groups": {"any": ["baker", "cooper", "smith", TEXT]}},
    {"mask": "top-code", "columns": ["age"], "value": 58.5},
    {"partition": "mdav", "k": 5, "columns": ["age"]},
]


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and every file inside those that are packed."""
    contents: dict[str, bytes] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        contents[path.name] = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                contents |= {f"{path.name}/{name}": packed.read(name) for name in packed.namelist()}
        if path.stem == "data":  # columns of a compressed format as they are read back
            contents[f"{path.name} as read"] = read_table(path).frame.write_csv().encode()
    return contents


def forms(mark: str) -> list[bytes]:
    return [mark.encode(), mark.encode("utf-16-le")]


def marked(folder: Path) -> list[tuple[str, str]]:
    return [(n, mark) for n, text in files(folder).items() for mark in MARKS if any(f in text for f in forms(mark))]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds"])
def test_no_mark_is_in_any_file_of_a_release(tmp_path: Path, ending: str) -> None:
    plan = {
        "columns": COLUMNS,
        "steps": STEPS,
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
        "constraints": [f"age <= {NUMBER}"],
        "output": {"format": ending},
    }
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    assert len(files(out / "release")) >= 4
    assert not marked(out / "release")


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    plan = {"columns": {"name": "other", "age": "other", "pay": "other", "job": "other"}, "output": {"format": "xlsx"}}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out", unproved=True)
    assert {mark for _, mark in marked(out / "release")} == {str(NUMBER), TEXT}


KNOWN: dict[Any, Any] = {
    HoldsCells: f"at most {NUMBER}, or '{TEXT}'",
    TablePath: f"/home/{FOLDER}/table.csv",
    KeyFile: f"/home/{FOLDER}/secret.key",
    Secret: KEY,
}
"""What is planted in a parameter, by what it may hold."""


def planted(entry: Entry) -> Any:
    """The method with a mark in every parameter that may hold one; not checked, for it is never carried out."""
    method = made(entry)
    for name, marker in holds(entry.cls).items():
        if type(marker) in KNOWN:
            object.__setattr__(method, name, KNOWN[type(marker)])
    return method


@pytest.mark.parametrize("entry", ALL, ids=ids)
def test_no_mark_in_a_parameter_is_public(entry: Entry) -> None:
    method = planted(entry)
    section, place = {
        "partition": ("steps", PartitionStep(method=method, replace=shoal.Centroid())),
        "replace": ("steps", PartitionStep(method=shoal.MDAV(k=3), replace=method)),
        "mask": ("steps", MaskStep(method=method, columns=("age",))),
        "privacy": ("requirements", method),
    }.get(entry.kind, ("measures", method))
    plan = replace(Plan.of({"columns": COLUMNS}), **{section: (place,)})
    original = Microdata.of(FRAME, plan.schema).records
    released = original.take(list(range(N - 1)))
    shown = dump_yaml(public_sections(plan, hidden_cells(plan, original, released)))
    assert not [mark for mark in MARKS if mark in shown.replace("\n", " ")]
    assert KEY not in json.dumps(recorded(plan), default=str)
    classes = {type(marker) for marker in holds(entry.cls).values()}
    assert (WITHHELD in shown) >= bool(classes & {HoldsCells, Secret})


def test_every_class_of_parameter_is_planted_in_some_method() -> None:
    assert set(KNOWN) <= {type(marker) for entry in ALL for marker in holds(entry.cls).values()}


def test_ranges_of_an_exploration_hide_what_the_parameters_hide() -> None:
    explored = {
        "method": {"mine": [{"mask": "top-code", "columns": ["age"], "value": [58.5, NUMBER]}], "other": []},
        "value": [NUMBER],
        "k": [3, 5],
    }
    plan = Plan.of({"columns": COLUMNS, "explore": explored})
    original = Microdata.of(FRAME, plan.schema).records
    shown = dump_yaml(public_sections(plan, hidden_cells(plan, original, original.take(list(range(N - 1))))))
    assert str(NUMBER) not in shown
    assert "58.5" in shown
    assert "k: [3, 5]" in shown


@pytest.mark.parametrize("rule", ["x >= -5.5", "-5.5 <= x", "x >= 0 - 5.5", "x + 5.5 >= 0"])
def test_a_sign_hides_no_cell(rule: str) -> None:
    frame = pl.DataFrame({"x": [-5.5, 1.0, 2.0]})
    plan = Plan.of({"columns": {"x": "other"}, "constraints": [rule]})
    original = Microdata.of(frame, plan.schema).records
    assert "5.5" not in dump_yaml(public_sections(plan, hidden_cells(plan, original, original.take([1, 2]))))


@pytest.mark.parametrize("label", ["1921-03-04", "days since 1921-03-04, or so"])
def test_a_date_is_a_cell_too(label: str) -> None:
    frame = pl.DataFrame({"day": [date(1921, 3, 4), date(1980, 5, 6)]})
    plan = Plan.of({"columns": {"day": {"role": "other", "label": label}}})
    original = Microdata.of(frame, plan.schema).records
    assert "1921" not in dump_yaml(public_sections(plan, hidden_cells(plan, original, original.take([1]))))
    assert "1921" in dump_yaml(public_sections(plan, hidden_cells(plan, original, original)))
