"""Exposure by hand: how many share their quasi-identifiers with fewer than k, who, and because of which column."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import cli
from shoal.errors import DataError

FRAME = pl.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m"],
        "area": ["a", "a", "a", "a", "b", "c"],
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
PLAN = {"columns": {"sex": "quasi-identifier", "area": "quasi-identifier", "pay": "confidential"}}


def test_classes_by_hand() -> None:
    """Four records agree on (f, a); (m, b) and (m, c) stand alone, and only because of the area."""
    found = shoal.exposure(FRAME, PLAN, top=3)
    assert found.fewer_than == {2: 2, 3: 2, 5: 6}
    assert found.riskiest == ((5, 1), (6, 1), (1, 4))
    assert found.spared == {"area": 2, "sex": 0}
    assert list(found.spared) == ["area", "sex"]
    assert {f.measure: f.value for f in found.risks}["prosecutor"] == 1.0


def test_no_step_is_carried_out_and_the_figures_repeat() -> None:
    steps = {**PLAN, "steps": [{"mask": "rank-swap", "columns": ["pay"], "p": 0.5}]}
    assert shoal.exposure(FRAME, steps).as_mapping() == shoal.exposure(FRAME, PLAN).as_mapping()


def test_without_quasi_identifiers_there_is_nothing_to_say() -> None:
    with pytest.raises(DataError, match="Nothing can be said of the risk"):
        shoal.exposure(FRAME, {"columns": dict.fromkeys(FRAME.columns, "other")})


def test_the_command_guesses_roles_and_marks_its_output_private(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    said = CliRunner().invoke(cli, ["risk", str(tmp_path / "t.csv")])
    assert said.exit_code == 0
    assert said.stdout.startswith("PRIVATE")
    assert "2-anonymity is broken by" in said.stdout
    assert "Roles are guessed" in said.stderr
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(PLAN).as_yaml())
    told = CliRunner().invoke(cli, ["--json", "risk", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "plan.yaml")])
    content = json.loads(told.stdout)
    assert content["fewer than"] == {"2": 2, "3": 2, "5": 6}
    assert content["private"] is True
    assert content["riskiest records"][0] == {"row": 5, "class of": 1}
