"""Labelled codes of SPSS and Stata stay codes with their labels, through every method and into either format."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.files.tables import Table, read_table, write_table

N = 120
RNG = np.random.default_rng(1)
FRAME = pl.DataFrame(
    {
        "urban": RNG.integers(1, 3, N),
        "region": RNG.integers(1, 8, N),
        "share": RNG.choice([0.5, 1.5], N),
        "gap": [None if i % 5 == 0 else i % 4 for i in range(N)],
        "word": RNG.choice(["a", "b"], N),
        "pay": np.round(RNG.lognormal(7, 1, N), 2),
    }
)
LABELS: dict[str, dict[Any, str]] = {
    "urban": {1: "urban", 2: "rural"},
    "region": {code: f"region {code}" for code in range(1, 8)},
    "gap": {0: "none", 1: "one", 2: "two", 3: "three"},
}
STEPS: dict[str, list[dict[str, Any]]] = {
    "suppress": [{"mask": "suppress", "k": 5}],
    "pram": [{"mask": "pram", "columns": ["urban", "region"]}],
    "mdav": [{"partition": "mdav", "k": 5}],
    "top-code": [{"mask": "top-code", "columns": ["pay"], "k": 5}],
}
COLUMNS: dict[str, Any] = {
    "urban": {"role": "quasi-identifier", "level": "nominal"},
    "region": {"role": "quasi-identifier", "level": "nominal"},
    "share": "other",
    "gap": "other",
    "word": "other",
    "pay": "confidential",
}


@pytest.fixture(params=["sav", "dta"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    path = tmp_path / f"in.{request.param}"
    write_table(Table(frame=FRAME, labels={"pay": "monthly pay"}, value_labels=LABELS), path)
    return read_table(path)


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("method", STEPS)
def test_codes_and_labels_are_those_that_came_in(table: Table, ending: str, method: str, tmp_path: Path) -> None:
    plan = {"columns": COLUMNS, "steps": STEPS[method], "output": {"format": ending}}
    out = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table, unproved=True)
    back = read_table(out / "release" / f"data.{ending}")
    assert back.labels["pay"] == "monthly pay"
    for name, labels in LABELS.items():
        held = set(back.frame[name].drop_nulls().to_list())
        assert back.frame[name].dtype == table.frame[name].dtype
        assert back.value_labels[name] == {code: label for code, label in labels.items() if code in held}


def test_codes_of_labels_are_of_the_type_of_their_column(table: Table) -> None:
    assert {name: {type(code) for code in codes} for name, codes in table.value_labels.items()} == {
        "urban": {int},
        "region": {int},
        "gap": {int},
    }


def test_labels_of_fractions_stay_in_spss_and_are_left_out_by_stata(tmp_path: Path) -> None:
    labelled = Table(frame=FRAME, value_labels={"share": {0.5: "half", 1.5: "more"}})
    write_table(labelled, tmp_path / "t.sav")
    assert read_table(tmp_path / "t.sav").value_labels == {"share": {0.5: "half", 1.5: "more"}}
    write_table(labelled, tmp_path / "t.dta")
    assert not read_table(tmp_path / "t.dta").value_labels


def test_labels_of_text_stay_in_spss_and_are_left_out_by_stata(tmp_path: Path) -> None:
    labelled = Table(frame=FRAME, value_labels={"word": {"a": "first", "b": "second"}})
    write_table(labelled, tmp_path / "t.sav")
    assert read_table(tmp_path / "t.sav").value_labels == {"word": {"a": "first", "b": "second"}}
    write_table(labelled, tmp_path / "t.dta")
    assert not read_table(tmp_path / "t.dta").value_labels
