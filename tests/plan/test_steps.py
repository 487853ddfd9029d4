"""What a step groups: records or households, said where nobody chose it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli import main
from shoal.plan.steps import LOSS, LOSS_OF_RECORDS
from shoal.vocabulary.errors import DataError, PlanError

COLUMNS = {"home": "household", "x": "quasi-identifier", "y": "quasi-identifier", "z": "confidential"}


@pytest.fixture
def couples() -> pl.DataFrame:
    """Couples of a young and an old person: groups of records lose little, groups of couples everything."""
    rng = np.random.default_rng(3)
    n = 60
    return pl.DataFrame(
        {
            "home": np.arange(n) // 2,
            "x": np.arange(n) % 2 * 50 + rng.normal(0, 1, n),
            "y": np.arange(n) % 2 * 50 + rng.normal(0, 1, n),
            "z": rng.normal(0, 1, n),
        }
    )


def plan(**step: object) -> dict[str, object]:
    return {
        "columns": COLUMNS,
        "steps": [{"partition": "mdav", "k": 3, **step}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }


def test_households_are_grouped_by_default_and_both_losses_said(couples: pl.DataFrame) -> None:
    by_default, of_homes, of_records = (
        shoal.protect(couples, plan(**unit), seed=1) for unit in ({}, {"unit": "household"}, {"unit": "record"})
    )
    facts = [release.account.steps[0].facts for release in (by_default, of_homes, of_records)]
    assert [f["unit"].value for f in facts] == ["household, by default", "household", "record"]
    assert facts[0][LOSS].value == facts[1][LOSS].value > 90
    assert facts[0][LOSS_OF_RECORDS].value == facts[2][LOSS].value < 5
    assert all(LOSS_OF_RECORDS not in f for f in facts[1:])
    assert by_default.data.equals(of_homes.data)
    assert not by_default.data.equals(of_records.data)


def test_members_of_a_household_may_part_where_records_are_grouped(couples: pl.DataFrame) -> None:
    table = shoal.Microdata.of(couples, COLUMNS)
    mdav = shoal.MDAV(k=3)
    of_homes, of_records = (mdav.partition(table, unit=unit) for unit in ("household", "record"))
    together = [part.labels[::2] == part.labels[1::2] for part in (of_homes, of_records)]
    assert (together[0].all(), together[1].any()) == (True, False)
    assert of_homes.k == 6


def test_households_of_two_strata_may_part_where_records_are_grouped(couples: pl.DataFrame) -> None:
    table = shoal.Microdata.of(couples.with_columns(part=pl.Series(["a", "b"] * 30)), {**COLUMNS, "part": "stratum"})
    with pytest.raises(DataError, match="have members in more than one stratum"):
        shoal.MDAV(k=3).partition(table)
    assert shoal.MDAV(k=3).partition(table, unit="record").k >= 3


def test_a_method_that_cannot_group_households_groups_their_members_if_told(couples: pl.DataFrame) -> None:
    step = {"partition": "tcloseness-first", "k": 3, "t": 0.5}
    with pytest.raises(DataError, match=r"cannot keep households together\. Say unit: record in the step"):
        shoal.protect(couples, {**plan(), "steps": [step]}, seed=1)
    assert shoal.protect(couples, {**plan(), "steps": [{**step, "unit": "record"}]}, seed=1).evidence.holds


def test_no_households_to_group(couples: pl.DataFrame) -> None:
    columns = {**COLUMNS, "home": "other"}
    with pytest.raises(DataError, match="the table has no column with the role household"):
        shoal.protect(couples, {**plan(unit="household"), "columns": columns})
    facts = shoal.protect(couples, {**plan(), "columns": columns}, seed=1).account.steps[0].facts
    assert "unit" not in facts


def test_a_plan_keeps_its_unit_and_knows_the_words() -> None:
    assert shoal.Plan.of(plan(unit="record")).as_mapping()["steps"][0]["unit"] == "record"
    assert "unit" not in shoal.Plan.of(plan()).as_mapping()["steps"][0]
    with pytest.raises(PlanError, match=r"Unknown value of unit 'families'\. Known: household, person, record"):
        shoal.Plan.of(plan(unit="families"))


def test_the_command_line_says_what_was_grouped(
    couples: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    couples.write_csv("couples.csv")
    Path("plan.yaml").write_text(shoal.Plan.of(plan()).as_yaml())
    monkeypatch.setattr("sys.argv", ["shoal", "protect", "couples.csv", "--plan", "plan.yaml", "--out", "out"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "mdav + centroid formed groups of households" in said
    assert "Choose with unit: household or unit: record in the step." in said
    private, public = (Path("out", folder, "report.html").read_text() for folder in ("private", "release"))
    assert LOSS_OF_RECORDS in private
    assert "household, by default" in public
    assert LOSS_OF_RECORDS not in public
