"""Tables of databases in the studio, and the program that reads what a run was of."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from command_line import runner
from shoal.studio import serve
from shoal.studio.databases import address_of, database_of, named
from shoal.studio.script import script
from shoal.studio.session import StudioRun
from shoal.vocabulary.errors import FileError


def test_an_address_is_that_of_the_command_line() -> None:
    assert address_of("people.csv") is None
    assert address_of("postgresql://me@host/name") == "postgresql://me@host/name"
    assert address_of("folder/people.duckdb") == "duckdb:///folder/people.duckdb"
    database = database_of("folder/people.duckdb", {"query": "census.people"})
    assert database is not None
    assert named(database) == "census.people of a duckdb database"
    assert database_of("people.csv", {}) is None
    for path, how, message in (("x.duckdb", {}, "Name one"), ("x.csv", {"query": "people"}, "a file was named")):
        with pytest.raises(FileError, match=message):
            database_of(path, how)


def read_by(facts: dict[str, Any], preparations: tuple[dict[str, Any], ...]) -> Any:
    """The table that the program of a run reads."""
    run: Any = StudioRun(number=1, text="", released=True, result={"seed": "1"}, prepared=preparations)  # type: ignore[typeddict-item]
    program = script(run, facts).partition('Path("plan.yaml")')[0]
    line = next(line for line in script(run, facts).splitlines() if line.startswith("table = "))
    names: dict[str, Any] = {}
    exec(f"{program}\n{line}", names)
    return names["table"]


def test_the_program_reads_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("a;b\n1;x\n-9;y\n")
    file = {"source": "few.csv", "reading": {"delimiter": ";"}}
    assert read_by(file, ())["a"].to_list() == [1, -9]
    preparation = {"taken as": {"a": {"missing": ["-9"]}}}
    assert read_by(file, (preparation,)).frame["a"].to_list() == [1, None]
    with duckdb.connect(str(tmp_path / "few.duckdb")) as connection:
        connection.execute("create table people as select 3 as a")
    database = {"source": "people", "path": str(tmp_path / "few.duckdb"), "reading": {"query": "people"}}
    assert read_by(database, ()).frame.equals(pl.DataFrame({"a": [3]}, schema={"a": pl.Int32}))
    assert read_by(database, ({"rows": [1]},)).frame["a"].to_list() == [3]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), ([], {})),
        (("few.csv",), (["few.csv"], {})),
        (("few.csv", "more.csv"), (["few.csv", "more.csv"], {})),
        (("few.duckdb", "--query", "people"), (["duckdb:///few.duckdb"], {"query": "people"})),
        (("--query", "people"), "none was named"),
        (("few.duckdb",), "A database holds many tables"),
    ],
)
def test_the_command_opens_what_the_page_would(
    asked: tuple[str, ...], expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("few.csv", "more.csv"):
        (tmp_path / name).write_text("a\n1\n")
    opened: list[Any] = []
    monkeypatch.setattr(serve, "main", lambda files, how, *_, **__: opened.append((files, how)))
    status, _, message = runner(monkeypatch, capsys)("studio", "--no-browser", *asked)
    if isinstance(expected, str):
        assert (status, opened) == (2, []) and expected in message
    else:
        assert (status, opened) == (0, [expected])
