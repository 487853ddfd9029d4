"""Whatever stands in a plan or in a cell and is not released is in no file of a release.

A marked value is planted in every parameter that may hold a cell, a path or a secret, of every registered method,
and in constraints, hierarchies, orders, labels and cells. Then every file of `release/` is searched for the marks, those
inside packed ones too.
"""

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.records import Records
from shoal.errors import ShoalError
from shoal.files.tables import read_table
from shoal.plan import Plan
from shoal.plan.publication import hidden_cells, public_yaml, recorded
from tests.contract.test_methods import ALL, ids, made

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
    found: dict[str, bytes] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found[path.name] = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                found |= {f"{path.name}/{name}": packed.read(name) for name in packed.namelist()}
        if path.stem == "data":  # columns of a compressed format as they are read back
            found[f"{path.name} as read"] = read_table(path).frame.write_csv().encode()
    return found


def forms(mark: str) -> list[bytes]:
    return [mark.encode(), mark.encode("utf-16-le")]


def marked(folder: Path) -> list[tuple[str, str]]:
    return [(n, mark) for n, text in files(folder).items() for mark in MARKS if any(f in text for f in forms(mark))]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
def test_no_mark_is_in_any_file_of_a_release(tmp_path: Path, ending: str) -> None:
    plan = {
        "columns": COLUMNS,
        "steps": STEPS,
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
        "constraints": [f"age <= {NUMBER}", f"job != '{TEXT}'"][:1],
        "output": {"format": ending},
    }
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    assert len(files(out / "release")) >= 4
    assert not marked(out / "release")


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    plan = {"columns": {"name": "other", "age": "other", "pay": "other", "job": "other"}, "output": {"format": "xlsx"}}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    assert {mark for _, mark in marked(out / "release")} == {str(NUMBER), TEXT}


def planted(value: Any) -> Any:
    """The same parameter with marks where there are numbers and texts; names of columns stay."""
    if isinstance(value, dict):
        return {key: planted(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [planted(below) for below in value]
    return TEXT if isinstance(value, str) else NUMBER if isinstance(value, (int, float)) else value
