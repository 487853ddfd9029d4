"""Keys and links of tables that hang together, guessed from their cells."""

from pathlib import Path

import polars as pl
import pytest

import shoal
from command_line import runner
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_draft import guess_links
from shoal.table.links import Key
from shoal.vocabulary.errors import DataError, ParameterError

N = 60


def hospital() -> dict[str, pl.DataFrame]:
    """Drugs name the patient as well as the stay; labs know the patient by another name; counts look like keys."""
    ids = [f"P{number:03}" for number in range(N)]
    stays = [f"S{number:03}" for number in range(2 * N)]
    return {
        "drugs": pl.DataFrame({"drug": ["a", "b"] * N, "stay": stays, "patient": ids * 2}).head(2 * N - 5),
        "labs": pl.DataFrame({"who": ids * 3, "value": [1, 2, 3] * N}),
        "patients": pl.DataFrame({"patient": ids, "sex": ["f", "m"] * (N // 2), "number": range(N)}),
        "stays": pl.DataFrame({"stay": stays, "patient": ids * 2, "days": [1, 2] * N}).with_columns(
            came=pl.Series([18_000 + number for number in range(2 * N)]).cast(pl.Int32).cast(pl.Date)
        ),
    }


def test_a_table_hangs_on_the_lowest_that_it_can() -> None:
    links = guess_links(hospital())
    assert next(iter(links)) == "patients"
    assert {name: guessed.key for name, guessed in links.items()} == {
        "patients": Key(key="patient"),
        "stays": Key(key="stay", parent="patients", link="patient"),
        "drugs": Key(parent="stays", link="stay"),
        "labs": Key(parent="patients", link="who"),
    }
    assert links["patients"].reason == "'patient' has a value of its own in each row"
    assert links["labs"].reason == "all 60 values of 'who' are 'patient' of 'patients'"


def test_tables_that_do_not_hang_together_are_refused() -> None:
    tables = hospital()
    tables["labs"] = tables["labs"].with_columns(who=pl.lit("somebody"))
    with pytest.raises(DataError, match="No links were seen that make all tables hang on one: 'labs', 'patients' hang"):
        guess_links(tables)
    orphan = {**hospital(), "stays": hospital()["stays"].with_columns(patient=pl.lit("P999"))}
    with pytest.raises(DataError, match="Write the plan by hand"):
        guess_links(orphan)


def test_a_folder_gets_a_plan_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, table in hospital().items():
        table.write_csv(tmp_path / f"{name}.csv")
    status, text, _ = runner(monkeypatch, capsys)("init", tmp_path)
    assert status == 0
    assert "# rows can be put in order; if that is known, add to profiles and to a requirement order: came" in text
    (tmp_path / "plan.yaml").write_text(text)
    drafted = LinkedPlan.of(tmp_path / "plan.yaml")
    assert drafted.as_mapping() == shoal.init(tmp_path).as_mapping()
    assert drafted.files["labs"] == "labs.csv"
    release = shoal.protect(tmp_path, tmp_path / "plan.yaml", seed=1)
    assert release.evidence.holds and release.record["persons left out"] == 0
    assert [step.k for step in drafted.steps] == [5]
    with pytest.raises(ParameterError, match="A plan for several tables is drafted as it is"):
        shoal.init(hospital(), synthetic=True)


def test_missing_cells_are_filled_in_by_nothing() -> None:
    """A date of death that most lack stays missing: a median would give everybody one."""
    tables = hospital()
    died = pl.when(pl.col("number") % 9 == 0).then(pl.lit("2020-05-01").str.to_date())
    tables["patients"] = tables["patients"].with_columns(died=died, sex=pl.col("sex").replace({"m": None}))
    columns = shoal.init(tables).as_mapping()["tables"]["patients"]["columns"]
    assert columns["died"]["missing"] == columns["sex"]["missing"] == "keep"
    assert shoal.protect(tables, shoal.init(tables), seed=1).evidence.holds


def test_parts_of_one_table_are_no_linked_tables(tmp_path: Path) -> None:
    from shoal.desk.init import files_of_tables

    for part in ("a", "b"):
        hospital()["labs"].write_parquet(tmp_path / f"{part}.parquet")
    assert files_of_tables(tmp_path) == {}
    hospital()["stays"].write_parquet(tmp_path / "c.parquet")
    assert list(files_of_tables(tmp_path)) == ["a", "b", "c"]
    assert files_of_tables(tmp_path / "a.parquet") == {}
