"""The commands about hierarchies."""

import json
import stat
from pathlib import Path

import polars as pl
import pytest

import shoal
from command_line import Run


@pytest.fixture(autouse=True)
def _files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    people = {"age": [23, 24, 31, 47, 47], "town": ["Arles", "Bonn", "Arles", "Evora", None]}
    pl.DataFrame(people).write_csv(tmp_path / "people.csv")
    (tmp_path / "towns.yaml").write_text("south: [Arles, Evora]\nnorth: [Bonn, Cork]\n")
    monkeypatch.chdir(tmp_path)


def test_a_tree_is_shown_with_its_records(run: Run) -> None:
    status, out, _ = run("hierarchy", "show", "towns.yaml", "--data", "people.csv", "--column", "town")
    assert (status, out[out.index("*") :]) == (
        0,
        "*   (4 values, 4 records)\n"
        "  south   (2 values, 3 records)\n"
        "    Arles   (2 records)\n"
        "    Evora   (1 record)\n"
        "  north   (2 values, 1 record)\n"
        "    Bonn   (1 record)\n"
        "    Cork   (0 records)\n",
    )
    _, out, _ = run("hierarchy", "show", "towns.yaml", "--most", 2)
    assert out.endswith("  south   (2 values)\n... and 5 labels more; see all with --most 7\n")
    _, out, _ = run("--json", "hierarchy", "show", "towns.yaml", "--data", "people.csv", "--column", "town")
    assert json.loads(out)["levels"] == [
        {"level": 0, "labels": 4, "most values": 1, "fewest records": 0},
        {"level": 1, "labels": 2, "most values": 2, "fewest records": 1},
        {"level": 2, "labels": 1, "most values": 4, "fewest records": 4},
    ]


def test_all_mistakes_are_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("Arles;south;p;*\nBonn;south;q;*\nCork;;q;*\nArles;west;q;*\n")
    status, out, err = run("hierarchy", "check", "bad.csv", "--data", "people.csv", "--column", "town")
    assert (status, err) == (2, "shoal: The hierarchy has 4 mistakes.\n")
    assert [line.split("'")[1::2] for line in out.splitlines()] == [
        ["Cork"],
        ["Arles"],
        ["south", "p", "q"],
        ["town", "Evora"],
    ]
    assert "level 1 is blank (row 3)" in out and "(rows 1 and 4)" in out and "(rows 1 and 2)" in out


def test_what_is_no_mistake_is_pointed_at(run: Run) -> None:
    status, out, _ = run("hierarchy", "check", "towns.yaml", "--data", "people.csv", "--column", "town")
    assert status == 0
    assert out == "look at   No record has these values (row 4). 'Cork'\nchecked   4 values, 2 levels above them\n"
    assert run("-q", "hierarchy", "check", "towns.yaml") == (0, "", "")


def test_a_built_file_can_be_named_in_a_plan(run: Run, tmp_path: Path) -> None:
    form = "{frequency: [2]}"
    assert run("hierarchy", "build", "people.csv", "town", form, "--out", "town.csv")[0] == 0
    assert stat.S_IMODE((tmp_path / "town.csv").stat().st_mode) == 0o600, "its leaves are cells"
    assert (tmp_path / "town.csv").read_text() == "Arles;Arles;*\nBonn;other;*\nEvora;other;*\n"
    status, out, _ = run("hierarchy", "build", "people.csv", "town", form)
    assert (status, out) == (0, (tmp_path / "town.csv").read_text())
    people = pl.read_csv(tmp_path / "people.csv").drop_nulls()
    columns = {"age": "other", "town": {"role": "quasi-identifier", "hierarchy": "town.csv"}}
    assert shoal.Microdata.of(people, columns, folder=tmp_path).records["town"].hierarchy is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "{intervals: [5]}"), "give it with --data and --column"),
        (("show", "towns.yaml", "--column", "town"), "give the table with --data"),
        (("show", "towns.yaml", "--data", "people.csv"), "say with --column which one"),
        (("build", "people.csv", "twon", "{order: [2]}"), "has no column 'twon'; it has 'age', 'town'"),
        (("build", "people.csv", "town", "{intervals: [5]}"), "is for numbers, and the column holds text"),
        (("build", "people.csv", "age", "{intervals: [5"), "The form of the hierarchy, line 1"),
        (("check", "none.csv"), "cannot be read"),
        (("build", "people.csv", "town", "{order: [2]}", "--out", "-"), "it cannot be a pipe: name a place."),
    ],
)
def test_wrong_use_is_one_clear_message(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = run("hierarchy", *arguments)
    assert (status, out) == (2, "")
    assert message in err
