"""Plans guessed from Python are those of the command line, whatever the table lies in."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import cli
from shoal.plan.draft import plan_text
from shoal.table.files.database import Database
from shoal.table.files.table import Table

FRAME = pl.DataFrame(
    {"person": range(60), "age": [20 + i % 7 for i in range(60)], "pay": [900.5 + i // 4 for i in range(60)]}
)
TEXT = plan_text(Table(frame=FRAME), "the table")


def in_folder(folder: Path) -> Path:
    (folder / "months").mkdir()
    for month in range(3):
        FRAME[20 * month : 20 * month + 20].write_parquet(folder / "months" / f"{month}.parquet")
    return folder / "months"


def in_duckdb(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{in_folder(folder)}/*.parquet' ORDER BY person")
    return folder / "people.duckdb"


GIVEN = {
    "polars": lambda folder: FRAME,
    "lazy": lambda folder: FRAME.lazy(),
    "pandas": lambda folder: FRAME.to_pandas(),
    "arrow": lambda folder: FRAME.to_arrow(),
    "folder": in_folder,
    "pattern": lambda folder: f"{in_folder(folder)}/*.parquet",
    "duckdb": lambda folder: Database(address=f"duckdb:///{in_duckdb(folder)}", query="people"),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_whatever_the_table_lies_in(kind: str, tmp_path: Path) -> None:
    given = GIVEN[kind](tmp_path)
    plan = shoal.init(given)
    assert plan.schema == shoal.init(FRAME).schema
    assert plan.as_mapping()["steps"] == shoal.init(FRAME).as_mapping()["steps"]
    assert shoal.exposure(given, plan).as_mapping() == shoal.exposure(FRAME, plan).as_mapping()


def test_the_table_is_not_changed_and_the_plan_runs() -> None:
    frame: Any = FRAME.to_pandas()
    before = frame.copy()
    assert shoal.protect(frame, shoal.init(frame), seed=1).evidence.holds
    pd.testing.assert_frame_equal(frame, before)
    assert isinstance(shoal.protect(FRAME.to_arrow(), shoal.init(FRAME), seed=1).data, pa.Table)


def test_the_file_has_the_reasons_and_is_the_plan(tmp_path: Path) -> None:
    plan = shoal.init(FRAME, tmp_path / "plan.yaml")
    assert (tmp_path / "plan.yaml").read_text(encoding="utf-8") == TEXT
    assert shoal.Plan.read(tmp_path / "plan.yaml") == plan
    assert "# whole numbers that count the records" in TEXT or "# its name says 'person'" in TEXT


def test_a_plan_that_synthesises() -> None:
    assert shoal.init(FRAME, synthetic=True).steps[0].name.startswith("whole")


@pytest.mark.parametrize("command", ["init", "risk"])
def test_commands_take_what_protect_takes(command: str, tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    database = str(in_duckdb(tmp_path))
    months = str(tmp_path / "months")
    answers = {
        CliRunner().invoke(cli, ["--json", command, *given]).stdout
        for given in (
            [str(tmp_path / "t.parquet")],
            [months],
            [f"{months}/*.parquet"],
            [database, "--query", "people"],
            [f"duckdb:///{database}", "--query", "SELECT * FROM people"],
        )
    }
    assert len(answers) == 1
    assert '"age"' in answers.pop()


@pytest.mark.parametrize(
    ("address", "query", "sentence"),
    [
        (
            "duckdb:///no/where.duckdb",
            "people",
            "There is no DuckDB file 'no/where.duckdb'. An address is like duckdb:///",
        ),
        ("duckdb:///{}", "nobody", "does not answer the query (CatalogException)"),
        ("duckdb:///{}", "CREATE TABLE mine (a int)", "does not answer the query"),
        ("duckdb:///{}", "SELECT [1, 2] AS listed", "types that a table cannot hold: 'listed'"),
    ],
)
def test_a_database_that_gives_no_table(address: str, query: str, sentence: str, tmp_path: Path) -> None:
    database = Database(address=address.format(in_duckdb(tmp_path)), query=query)
    with pytest.raises(shoal.FileError) as error:
        database.read()
    assert sentence in str(error.value)
