"""Which tables the commands hold in memory, and which they work on part by part."""

import json
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


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(files) >= 4
    return files


PROTECT = ("protect", "t.parquet", "--plan", "plan.yaml", "--out", "out", "--workers", "1")


def test_a_small_file_is_held_in_memory(run):
    assert run(*PROTECT)[0] == 0
    assert Path("out/release/data.parquet").is_file()


def test_a_file_that_may_not_fit_is_refused_with_both_ways_out(run, monkeypatch):
    monkeypatch.setattr("shoal.cli.engine.BYTES_A_CELL", 1 << 28)
    status, _, err = run(*PROTECT, "--memory", "1GB")
    assert status == 2
    assert "'t.parquet' may need 30,720 MB in memory, of which 1,024 MB may be used." in err
    assert "Allow more with --memory, or work part by part with --engine duckdb" in err
    assert not Path("out").exists()
    assert run(*PROTECT, "--memory", "40GB")[0] == 0
    status, _, err = run("audit", "out/release/data.parquet", "--plan", "plan.yaml", "--memory", "1GB")
    assert status == 2
    assert "may be used" in err
    assert run(*PROTECT, "--overwrite", "--memory", "1GB", "--engine", "duckdb")[0] == 0
    assert run("audit", "out/release/data", "--plan", "plan.yaml", "--workers", "1")[0] == 0


def test_a_file_of_another_kind_is_to_be_written_to_parquet(run, monkeypatch):
    monkeypatch.setattr("shoal.cli.engine.BYTES_A_CELL", 1 << 28)
    Path("t.sav").write_bytes(b" " * 800)
    status, _, err = run("protect", "t.sav", "--plan", "plan.yaml", "--out", "out", "--memory", "1GB")
    assert status == 2
    assert "or write it to Parquet and work part by part" in err


def test_what_is_no_parquet_is_said_by_its_reader(run):
    Path("t.parquet").write_bytes(b"no table")
    status, _, err = run(*PROTECT, "--memory", "1GB")
    assert status == 2
    assert "t.parquet" in err and "Traceback" not in err


@pytest.mark.parametrize("memory", ["200MB", "64GB"])
def test_memory_changes_no_byte_and_half_a_machine_neither(run, monkeypatch, memory):
    """Of one table in a file, and in a folder."""
    Path("folder").mkdir()
    Path("t.parquet").rename("folder/t.parquet")
    Path("t.parquet").symlink_to("folder/t.parquet")
    for data, engine in (("t.parquet", "memory"), ("folder", "duckdb")):
        said = ("protect", data, "--plan", "plan.yaml", "--overwrite", "--seed", "7", "--workers", "1")
        monkeypatch.setattr("shoal.scale.session.half_of_memory", lambda: 1 << 40)
        assert run(*said, "--out", f"{engine}-1")[0] == 0
        monkeypatch.setattr("shoal.scale.session.half_of_memory", lambda: 1 << 28)
        status, out, _ = run(*said, "--out", f"{engine}-2", "--memory", memory)
        assert status == 0
        assert f"Engine    {engine}" in out
        assert contents(Path(f"{engine}-1/release")) == contents(Path(f"{engine}-2/release"))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_record_makes_the_same_bytes_again(run, engine):
    """Plan, seed and engine from `private/record.json` alone."""
    Path("plan.yaml").write_text(PLAN.replace("steps: [", "steps: [{mask: noise, variance: 0.5, columns: [b]}, "))
    status, out, _ = run(*PROTECT, "--engine", engine, "--json")
    assert status == 0
    assert json.loads(out)["engine"] == engine
    record = json.loads(Path("out/private/record.json").read_text())
    Path("again.yaml").write_text(json.dumps(record["plan"]))
    again = ("protect", "t.parquet", "--plan", "again.yaml", "--out", "again", "--workers", "1")
    assert run(*again, "--engine", record["engine"], "--seed", str(record["seed"]))[0] == 0
    assert contents(Path("again/release")) == contents(Path("out/release"))


def test_the_record_of_a_text_file_says_how_it_was_read(run):
    pl.read_parquet("t.parquet").write_csv("t.csv", separator=";")
    for engine in ("memory", "duckdb"):
        given = ("--plan", "plan.yaml", "--out", engine, "--workers", "1", "--engine", engine, "--delimiter", ";")
        assert run("protect", "t.csv", *given)[0] == 0
    parts, memory = (json.loads(Path(f"{name}/private/record.json").read_text()) for name in ("duckdb", "memory"))
    assert parts["input"]["read as"]["delimiter"] == ";"
    assert "semicolon" in memory["input"]["read as"]


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
    def absent() -> None:
        raise shoal.errors.MissingDependency("A table larger than memory", "duckdb", "scale")

    monkeypatch.setattr("shoal.scale.session.duckdb_module", absent)
    status, _, err = run(*PROTECT, "--engine", "duckdb")
    assert status == 2
    assert "pip install 'shoal[scale]'" in err
    assert run(*PROTECT)[0] == 0
