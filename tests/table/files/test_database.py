"""A database as the source of a table: SQLite everywhere, PostgreSQL where it is installed."""

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli import main
from shoal.table.files.database import Database, is_address, like_address
from shoal.vocabulary.errors import FileError

PLAN = """
columns: {age: quasi-identifier, town: quasi-identifier, income: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
"""
ROWS = [(20 + i, "nm"[i % 2], 1000.25 * (5 * i % 12)) for i in range(12)]
TABLE = "CREATE TABLE people (age integer, town text, income numeric(12, 2))"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute(TABLE)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    connection.close()
    return f"sqlite:///{tmp_path / 'people.db'}"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["shoal", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("query", ["people", "main.people", "SELECT age, town, income FROM people"])
def test_a_table_and_a_query(sqlite: str, query: str) -> None:
    frame = Database(address=sqlite, query=query).read().frame
    assert frame.rows() == ROWS
    assert frame.schema == {"age": pl.Int64, "town": pl.String, "income": pl.Float64}


def test_what_comes_late_in_a_column_counts(sqlite: str) -> None:
    query = "SELECT CASE WHEN age > 30 THEN income END AS late FROM people ORDER BY age"
    assert Database(address=sqlite, query=query).read().frame["late"].null_count() == 11


def test_a_release_from_a_database(
    sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    arguments = ("--query", "SELECT * FROM people", "--plan", "plan.yaml", "--out", "out")
    assert run(monkeypatch, "protect", sqlite, *arguments) == 0
    released = pl.read_csv("out/release/data.csv")
    assert sorted(released["income"]) == sorted(income for _, _, income in ROWS)
    assert '"query": "SELECT * FROM people"' in Path("out/private/record.json").read_text()
    assert "people" not in Path("out/release/evidence.json").read_text()
    assert run(monkeypatch, "init", sqlite, "--query", "people") == 0
    assert run(monkeypatch, "risk", sqlite, "--query", "people", "--plan", "plan.yaml", "--quiet") == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["DATABASE"], "Name one, or give a SELECT, with --query."),
        (["plan.yaml", "--query", "people"], "--query is for a database, and a file was named."),
        (["DATABASE", "--query", "absent"], "The sqlite database cannot be reached, or has no such table."),
        (["postgresql://me:secret@h/d", "--query", "people"], "has a password, which others can see."),
        (["postgresql://me@h/d?passwd=secret", "--query", "people"], "has a password, which others can see."),
        (["postgresql://me@h/d?sslpassword=secret", "--query", "people"], "has a password, which others can see."),
        (["postgresql:/me:secret@h/d", "--query", "people"], "It is like postgresql://user@host/name."),
        (["my-db://me:secret@h/d?x=y", "--query", "people"], "It is like postgresql://user@host/name."),
        (["nothing://h/d", "--query", "people"], "There is no kind of database 'nothing'."),
        (["oracle://h/d", "--query", "people"], "needs its driver, the Python package"),
        (["DATABASE", "--query", "DELETE FROM people"], "gives no table. Give a SELECT, or the name of a table."),
        (["DATABASE", "--query", ""], "gives no table. Give a SELECT, or the name of a table."),
        (["DATABASE", "--query", "SELECT * FROM people WHERE age < 0"], "The table has no records"),
    ],
)
def test_wrong_use_is_one_sentence(
    sqlite: str,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    named = [sqlite if argument == "DATABASE" else argument for argument in arguments]
    assert run(monkeypatch, "protect", *named, "--plan", "plan.yaml", "--out", "out") == 2
    said = capsys.readouterr().err
    assert message in said
    assert "secret" not in said
    assert len(said.splitlines()) == 1


def test_a_statement_that_gives_no_rows_changes_nothing(sqlite: str) -> None:
    with pytest.raises(FileError, match="gives no table"):
        Database(address=sqlite, query="DELETE FROM people").read()
    assert Database(address=sqlite, query="people").read().frame.rows() == ROWS


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "ADDRESS", "--plan", "plan.yaml"],
        ["hierarchy", "build", "ADDRESS", "age", "{rounding: [5]}"],
        ["audit", "release.csv", "--plan", "plan.yaml", "--original", "ADDRESS"],
    ],
)
def test_where_a_file_is_needed_an_address_is_not_shown(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = "postgresql://me:secret@h/d?x=y"
    assert run(monkeypatch, *(address if argument == "ADDRESS" else argument for argument in arguments)) == 2
    said = capsys.readouterr().err
    assert said == (
        "shoal: A file is needed here, and the address of a database was given. Write the table to a file first.\n"
    )


def test_addresses_are_told_from_paths() -> None:
    assert is_address("postgresql://me@host/name")
    assert is_address("postgresql+psycopg://host/name")
    assert not any(is_address(path) for path in ("people.csv", "C:\\people.csv", "/data/a:b.csv", "census/*.parquet"))
    assert not any(like_address(path) for path in ("C:/people.csv", "C:\\people.csv", "/data/a:/b.csv", "a/b:c.csv"))


def test_a_lazy_frame_comes_back_lazy() -> None:
    frame = pl.DataFrame(ROWS, schema=["age", "town", "income"], orient="row")
    plan = {
        "columns": {"age": "quasi-identifier", "town": "other", "income": "confidential"},
        "steps": [{"partition": "mdav", "k": 3}],
    }
    release = shoal.protect(frame.lazy(), plan, seed=1)
    assert isinstance(release.data, pl.LazyFrame)
    assert release.data.collect().equals(shoal.protect(frame, plan, seed=1).data)


PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a server of its own on this machine, which asks for a password."""
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed")
    if os.name != "posix" or (os.getuid() == 0 and shutil.which("runuser") is None):
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    as_other = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgresql-"))  # pytest's own are shut to other users
    (folder / "password").write_text("open sesame\n")
    if as_other:
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres")

    def program(name: str, *arguments: str) -> None:
        subprocess.run([*as_other, str(PROGRAMS[-1] / name), *arguments], check=True, capture_output=True, cwd="/")

    data = str(folder / "data")
    password = f"--pwfile={folder / 'password'}"
    program("initdb", "-D", data, "-U", "me", "-A", "scram-sha-256", password, "-E", "UTF8", "--no-sync")
    how = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c fsync=off"
    program("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", how, "start")
    try:
        yield f"postgresql://me@127.0.0.1:{port}/postgres"
    finally:
        program("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def test_postgresql(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    with psycopg.connect(postgresql, password="open sesame") as connection:
        connection.execute(TABLE)
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", ROWS)
    people = Database(address=postgresql, query="people")
    with pytest.raises(FileError, match="cannot be reached, or has no such table"):
        people.read()
    monkeypatch.setenv("SHOAL_PASSWORD", "wrong")
    with pytest.raises(FileError, match="cannot be reached"):
        people.read()
    monkeypatch.setenv("SHOAL_PASSWORD", "open sesame")
    assert people.read().frame.rows() == ROWS
    monkeypatch.delenv("SHOAL_PASSWORD")
    (tmp_path / "password").write_text("open sesame\nsecond line\n")
    monkeypatch.setenv("SHOAL_PASSWORD_FILE", str(tmp_path / "password"))
    query = "SELECT age, town::varchar AS town, income FROM public.people WHERE age > 25"
    assert Database(address=postgresql, query=query).read().frame.rows() == ROWS[6:]
    with pytest.raises(FileError, match=r"does not answer the query \(ProgrammingError\)"):
        Database(address=postgresql, query="SELECT nothing FROM people").read()
    with pytest.raises(FileError, match="Columns of the query have types that a table cannot hold: 'pair'"):
        Database(address=postgresql, query="SELECT ARRAY[1, 2] AS pair").read()
