"""A guess that is run unchanged takes nothing for harmless that singles out: words, labels and values are looked at."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.plan.draft import plan_text
from shoal.plan.guess import columns_of, guess
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table

N = 400
RNG = np.random.default_rng(5)
SURVEY = pl.DataFrame(
    {
        "db030": np.repeat(np.arange(1, N // 2 + 1), 2),
        "rb030": np.arange(10_001, 10_001 + N),
        "db060": np.repeat(np.arange(1, N // 4 + 1), 4),
        "db040": RNG.integers(100, 180, N),
        "rb080": RNG.integers(1930, 2005, N),
        "rb090": RNG.integers(1, 3, N),
        "rb050": RNG.uniform(200, 900, N).round(3),
        "py010n": RNG.lognormal(10, 1, N).round(2),
        "ph010": RNG.integers(1, 6, N),
    }
)
LABELS = {
    "db030": "Household ID",
    "rb030": "Personal ID",
    "db060": "Primary sampling unit",
    "db040": "Municipality",
    "rb080": "Year of birth",
    "rb090": "Sex",
    "rb050": "Personal cross-sectional weight",
    "py010n": "Employee cash income",
    "ph010": "General health",
}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_tell_what_names_do_not(ending: str, tmp_path: Path) -> None:
    """The file of a survey with its codes for names: everything was taken for a measurement nobody knows."""
    path = tmp_path / f"survey.{ending}"
    write_table(Table(frame=SURVEY, labels=LABELS, value_labels={"rb090": {1: "male", 2: "female"}}), path)
    table = read_table(path)
    roles = {one.name: one.role for one in guess(table)}
    assert roles == {
        "db030": "household",
        "rb030": "identifier",
        "db060": "identifier",
        "db040": "quasi-identifier",
        "rb080": "quasi-identifier",
        "rb090": "quasi-identifier",
        "rb050": "weight",
        "py010n": "quasi-identifier",
        "ph010": "quasi-identifier",
    }
    (tmp_path / "plan.yaml").write_text(plan_text(table, path.name))
    plan = shoal.Plan.read(tmp_path / "plan.yaml")
    with pytest.raises(shoal.Refused, match=r"'rb050' singles out .* answer for it in the plan: accept: \[rb050\]"):
        shoal.protect(table, plan, seed=1)
    release = shoal.protect(table, replace(plan, accept=("rb050",)), seed=1)
    assert release.account.unchanged == ("rb050",)


def test_what_singles_most_out_never_leaves_by_a_guess() -> None:
    """By no name at all: numbers of records and of their groups, texts, and measurements of which nearly all differ."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "q1": np.arange(N) + 7,
            "q2": np.repeat(np.arange(N // 4), 4),
            "q3": [f"text {i}" for i in range(N)],
            "q4": rng.lognormal(8, 1, N),
            "q5": rng.integers(0, 10**9, N),
            "q6": rng.integers(0, 30, N),
        }
    )
    roles = {name: column["role"] for name, column in columns_of(Table(frame=frame)).items()}
    assert roles["q1"] == roles["q2"] == roles["q3"] == "identifier"
    assert roles["q4"] == roles["q5"] == "quasi-identifier"
    assert roles["q6"] == "confidential"


def test_weights_of_people_are_no_sampling_weights() -> None:
    """A weight alone is read by its values and by what stands beside it, and the doubt is said."""
    rng = np.random.default_rng(6)
    kilograms = rng.normal(75, 12, N).round(1)
    alone = guess(Table(frame=pl.DataFrame({"weight": kilograms})))[0]
    assert alone.role == "quasi-identifier"
    assert "doubtful" in alone.reason
    beside = guess(Table(frame=pl.DataFrame({"weight": kilograms / 9, "height": rng.normal(170, 8, N).round(0)})))
    assert [one.role for one in beside] == ["quasi-identifier"] * 2
    assert guess(Table(frame=pl.DataFrame({"weight": rng.uniform(0.5, 3, N)})))[0].role == "weight"


def test_an_identifier_that_repeats_says_so() -> None:
    rng = np.random.default_rng(6)
    patients = pl.DataFrame({"patient_id": rng.integers(0, 150, N), "age": rng.integers(0, 90, N)})
    one = guess(Table(frame=patients))[0]
    assert one.role == "identifier"
    assert f"different values in {N} records" in one.reason


def test_studio_and_risk_guess_by_labels_too(tmp_path: Path) -> None:
    from shoal.studio.profile import facts

    table = Table(frame=SURVEY, labels=LABELS)
    assert {one["name"]: one["guess"] for one in facts(table, "t")["columns"]}["rb080"] == "quasi-identifier"
    roles = dict.fromkeys(SURVEY.columns, "confidential") | {"rb090": "quasi-identifier"}
    exposure = shoal.exposure(table, {"columns": roles})
    remarks = {column.name: column.remark for column in exposure.columns}
    assert remarks["rb030"].startswith("its label says 'personal id'")
    assert ("rb080", "C") in {(sign.column, sign.letter) for sign in exposure.signs}


def test_date_times_of_a_csv_file_are_times_that_others_know(tmp_path: Path) -> None:
    """They were text in which every value is different, and left out."""
    lines = [f"2024-01-{i % 28 + 1:02} {i % 24:02}:{i % 60:02}:00" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["arrived", *lines]) + "\n")
    one = guess(read_table(tmp_path / "t.csv"))[0]
    assert (one.role, one.level) == ("quasi-identifier", "continuous")
