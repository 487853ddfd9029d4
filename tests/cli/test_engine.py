"""Which tables the commands hold in memory, and which they work on part by part."""

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import cli

pytest.importorskip("duckdb")

PLAN = """
columns: {a: quasi-identifier, b: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
output: {format: parquet}
"""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    pl.DataFrame({"a": [i / 7 for i in range(60)], "b": [i % 5 for i in range(60)]}).write_parquet("t.parquet")

    def runner(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["shoal", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return runner


PROTECT = ("protect", "t.parquet", "--plan", "plan.yaml", "--out", "out", "--workers", "1")


def test_a_small_file_is_held_in_memory(run):
    assert run(*PROTECT)[0] == 0
    assert Path("out/release/data.parquet").is_file()


def test_a_file_that_would_not_fit_is_worked_on_part_by_part(run, monkeypatch):
    monkeypatch.setattr("shoal.cli.engine.BYTES_A_CELL", 1 << 28)
    status, out, _ = run(*PROTECT, "--memory", "1GB")
    assert status == 0
    assert "worked on part by part" in out
    assert Path("out/release/data").is_dir()
    assert run("audit", "out/release/data", "--plan", "plan.yaml", "--workers", "1")[0] == 0


def test_a_plan_that_needs_the_whole_table_is_tried_in_memory_with_a_note(run, monkeypatch):
    monkeypatch.setattr("shoal.cli.engine.BYTES_A_CELL", 1 << 28)
    Path("plan.yaml").write_text(PLAN + "constraints: [a <= 100]\n")
    status, _, err = run(*PROTECT, "--memory", "1GB")
    assert status == 0
    assert "held in memory, which it may not fit into" in err
    assert Path("out/release/data.parquet").is_file()


def test_the_engine_can_be_said(run):
    assert run(*PROTECT, "--engine", "duckdb")[0] == 0
    assert Path("out/release/data").is_dir()
    Path("plan.yaml").write_text(PLAN.replace("mdav, k: 3", "whole"))
    status, _, err = run(*PROTECT, "--engine", "duckdb", "--overwrite")
    assert status == 2
    assert "needs the whole table at once" in err


def test_parts_are_judged_by_themselves(run):
    run(*PROTECT)
    status, _, err = run(
        "audit", "out/release/data.parquet", "--plan", "plan.yaml", "--engine", "duckdb", "--private", "out/private"
    )
    assert status == 2
    assert "judged by itself" in err


def test_what_is_missing_is_named(run, monkeypatch):
    monkeypatch.setattr("shoal.cli.engine.SURELY_FITS", 0)

    def absent() -> None:
        raise shoal.errors.MissingDependency("A table larger than memory", "duckdb", "scale")

    monkeypatch.setattr("shoal.scale.session.duckdb_module", absent)
    status, _, err = run(*PROTECT)
    assert status == 0
    assert "pip install 'shoal[scale]'" in err
