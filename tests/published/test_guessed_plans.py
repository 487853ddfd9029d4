"""Plans guessed for public files and run unchanged: no column that singles people out leaves without being named."""

from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from by_night import by_night, only_by_night
from published.reference import reference
from shoal.plan.draft import plan_text
from shoal.plan.guess import guess
from shoal.release.evidence_file import left_as_they_came
from shoal.report.unchanged import unchanged_sentence
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table

FILES = (
    *("census.csv", "eia.csv", "thyroid.csv", "testdata.csv", "francdat.csv", "tarragona.csv"),
    pytest.param("free1.csv", marks=only_by_night),  # 34 columns, any two of which may give a third back
    "eusilcP.csv",  # of the R packages laeken and simPop, exported with a header
)


RECORDS = by_night(1_000, 1_000_000)
"""Records of a table that are tried, from its first."""


def check(whole: Table, name: str, folder: Path) -> None:
    """Nothing that most records are alone with is confidential or other, and what leaves and singles out is named."""
    table = replace(whole, frame=whole.frame.head(RECORDS))
    for one in guess(table):
        if one.role in ("confidential", "other"):
            assert table.frame[one.name].drop_nulls().is_unique().mean() < 0.5
    (folder / "plan.yaml").write_text(plan_text(table, name))
    release = released(table, shoal.Plan.read(folder / "plan.yaml"))
    sentence = unchanged_sentence(left_as_they_came(release))
    for column in release.data.columns:
        alone = int((release.data[column].is_unique()).sum())
        same = release.data[column].sort().equals(table.frame[column].sort())
        assert not (alone and same) or column in sentence.partition("They single")[0].partition("It singles")[0]


def released(table: Table, plan: shoal.Plan) -> shoal.Release:
    """The release; if it stops at columns that single people out, after somebody answers for those it names."""
    try:
        return shoal.protect(table, plan, seed=1)
    except shoal.Refused as refusal:
        named = str(refusal).rpartition("accept: [")[2].removesuffix("].").split(", ")
    assert {plan.schema.columns[name].role for name in named} <= {"other", "weight", "stratum"}
    print(f"nobody answered for {named}")
    return shoal.protect(table, replace(plan, accept=tuple(named)), seed=1)


@pytest.mark.parametrize("name", FILES)
def test_public_files(name: str, tmp_path: Path) -> None:
    check(read_table(reference(name)), name, tmp_path)


def test_adult(tmp_path: Path) -> None:
    check(read_table(reference("adult/adult.csv")), "adult.csv", tmp_path)


def test_people_in_america(tmp_path: Path) -> None:
    table = read_table(reference("nist/national2019.csv"))
    check(Table(frame=table.frame.head(by_night(1_000, 3_000))), "national2019.csv", tmp_path)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_hospital_whose_columns_say_what_they_are_in_labels_alone(ending: str, tmp_path: Path) -> None:
    table = shoal.example("hospital", n=400, seed=1)
    names = {name: f"q{place:03d}" for place, name in enumerate(table.columns)}
    path = tmp_path / f"hospital.{ending}"
    write_table(Table(frame=table.rename(names), labels={new: old for old, new in names.items()}), path)
    back = read_table(path)
    roles = {back.labels[one.name]: one.role for one in guess(back)}
    assert (roles["patient"], roles["household"]) == ("identifier", "household")
    assert {roles[name] for name in ("age", "sex", "area", "admission")} == {"quasi-identifier"}
    check(back, path.name, tmp_path)
