"""The files of linked tables, named one by one or by their folder."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

import shoal
from command_line import Run, runner
from shoal.desk.files_of_tables import files_for, one_table, tables_in_files
from shoal.plan.linked import LinkedPlan
from shoal.vocabulary.errors import FileError, ParameterError

PLAN = {
    "tables": {
        "persons": {"key": "person", "columns": {"sex": {"role": "quasi-identifier", "level": "nominal"}}},
        "stays": {"parent": "persons", "columns": {"ward": {"role": "quasi-identifier", "level": "nominal"}}},
    },
    "requirements": [{"privacy": "k-anonymity", "k": 2}],
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two linked tables, in folders of their own, and beside each other under the same names."""
    persons = pl.DataFrame({"person": [f"P{n:02}" for n in range(24)], "sex": ["f", "m"] * 12})
    stays = pl.DataFrame({"person": persons["person"], "ward": ["a", "b"] * 12})
    for folder in ("one", "other", "both"):
        (tmp_path / folder).mkdir()
    for folder, name, table in (("one", "persons", persons), ("other", "stays", stays)):
        table.write_csv(tmp_path / folder / f"{name}.csv")
        table.write_csv(tmp_path / "both" / f"{name}.csv")
    (tmp_path / "tables.yaml").write_text(LinkedPlan.of(PLAN).as_yaml())
    return tmp_path


def test_files_named_one_by_one_are_what_their_folder_is(run: Run, place: Path) -> None:
    """In any order and from any folder: the same guessed plan, the same bytes released, the same verdicts."""
    files = place / "other/stays.csv", place / "one/persons.csv"
    guessed = run("init", *files)
    assert guessed == run("init", place / "both")
    assert guessed[0] == 0 and "all 24 values of 'person' are 'person' of 'persons'" in guessed[1]
    plan = "--plan", place / "tables.yaml"
    for given, out in ((files, "by-file"), ((place / "both",), "by-folder")):
        assert run("protect", *given, *plan, "--out", place / out, "--seed", 1)[0] == 0
    for name in ("persons.csv", "stays.csv"):
        released = [(place / out / "release" / name).read_bytes() for out in ("by-file", "by-folder")]
        assert released[0] == released[1]
    alone = run("audit", place / "by-file/release/persons.csv", place / "by-file/release/stays.csv", *plan)
    assert alone == run("audit", place / "by-file/release", *plan)
    assert alone[0] == 0
    assert shoal.audit([*files], PLAN).holds


def test_a_plan_names_the_file_of_a_table(place: Path) -> None:
    (place / "one/2024.txt").write_bytes((place / "one/persons.csv").read_bytes())
    files = [place / "one/2024.txt", place / "other/stays.csv"]
    assert files_for(files, ["persons", "stays"], {"persons": "2024.txt"})["persons"] == files[0]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (("one/persons.csv", "both/persons.csv", "other/stays.csv"), "are both named for the table 'persons'"),
        (("one/persons.csv", "one/persons.csv", "other/stays.csv"), "'persons.csv' was named twice"),
        (("one/persons.csv", "one/parts.csv"), "'persons.csv', 'parts.csv' have the same columns, as parts of one"),
        (("one", "other/stays.csv"), "one' is a folder, and several were named"),
        (("one/persons.csv", "other/lost.csv"), "There is no file"),
        (("one/persons.csv", "other/stays.csv", "one/alone.csv"), "'alone', 'persons' hang on no other"),
    ],
)
def test_a_plan_is_guessed_from_files_that_are_tables(
    run: Run, place: Path, files: tuple[str, ...], sentence: str
) -> None:
    (place / "one/parts.csv").write_bytes((place / "one/persons.csv").read_bytes())
    (place / "one/alone.csv").write_text("code,colour\n1,red\n2,blue\n")
    status, out, error = run("init", *(place / file for file in files))
    assert (status, out) == (2, "")
    assert sentence in " ".join(error.split())


@pytest.mark.parametrize("command", ["protect", "audit"])
@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (("one/persons.csv",), "The plan is for the tables 'persons', 'stays'. Give"),
        (("one/persons.csv", "both/persons.csv", "other/stays.csv"), "One file of the table 'persons' is needed among"),
        (("one/persons.csv", "one/alone.csv"), "One file of the table 'stays' is needed among those named"),
        (("one/persons.csv", "other/stays.csv", "one/alone.csv"), "'alone.csv' belongs to no table of the plan"),
    ],
)
def test_each_table_of_a_plan_has_one_file(
    run: Run, place: Path, command: str, files: tuple[str, ...], sentence: str
) -> None:
    (place / "one/alone.csv").write_text("code,colour\n1,red\n2,blue\n")
    out = ("--out", place / "out") if command == "protect" else ()
    status, _, error = run(command, *(place / file for file in files), "--plan", place / "tables.yaml", *out)
    assert status == 2
    assert sentence in " ".join(error.split())


def test_several_files_are_no_single_table(run: Run, place: Path) -> None:
    files = [place / "one/persons.csv", place / "other/stays.csv"]
    (place / "plan.yaml").write_text("columns: {'*': other}\n")
    for command, sentence in (("protect", "2 files were named"), ("audit", "The plan is for one released file")):
        out = ("--out", place / "out") if command == "protect" else ()
        status, _, error = run(command, *files, "--plan", place / "plan.yaml", *out)
        assert status == 2 and sentence in " ".join(error.split())
    status, _, error = run("protect", *files, "postgresql://me@db/x", "--plan", place / "tables.yaml", "--out", "out")
    assert status == 2 and "Several linked tables are files" in error
    with pytest.raises(FileError, match="Several linked tables are files"):
        tables_in_files([pl.DataFrame(), place / "one/persons.csv"])
    with pytest.raises(ParameterError, match="0 files were named"):
        one_table([])


def test_two_files_of_one_table_in_a_folder(place: Path) -> None:
    pl.read_csv(place / "both/persons.csv").write_parquet(place / "both/persons.parquet")
    with pytest.raises(FileError, match="are both named for the table 'persons'"):
        shoal.init(place / "both")


def test_tables_in_parts_are_released_with_the_same_bytes(place: Path) -> None:
    """From folders of parts, from DuckDB and from memory."""
    frames = {name: pl.read_csv(place / "both" / f"{name}.csv") for name in PLAN["tables"]}
    for name, frame in frames.items():
        (place / "parts" / name).mkdir(parents=True)
        for number, start in enumerate(range(0, 24, 9)):
            frame[start : start + 9].write_parquet(place / "parts" / name / f"part-{number}.parquet")
    connection = duckdb.connect()
    relations = {name: connection.from_arrow(frame.to_arrow()) for name, frame in frames.items()}
    released = [shoal.protect(tables, PLAN, seed=5) for tables in (frames, relations, place / "parts")]
    text = [{name: table.write_csv() for name, table in release.to_frames().items()} for release in released]
    assert text == [text[0]] * 3
    assert files_for(place / "parts", ["stays"], {}) == {"stays": place / "parts/stays"}
    (place / "both" / "stays").mkdir()
    assert files_for(place / "both", ["stays"], {}) == {"stays": place / "both/stays.csv"}, "as in a release"


@pytest.mark.parametrize("ending", ["asc", "tsv"])
def test_text_files_of_other_endings_are_tables(place: Path, ending: str) -> None:
    mark = {"asc": ";", "tsv": "\t"}[ending]
    (place / "text").mkdir()
    for name in PLAN["tables"]:
        frame = pl.read_csv(place / "both" / f"{name}.csv")
        frame.write_csv(place / "text" / f"{name}.{ending}", separator=mark, quote_style="non_numeric")
    assert set(tables_in_files(place / "text")) == {"persons", "stays"}
    of_text, of_csv = (shoal.protect(place / folder, PLAN, seed=5).to_frames() for folder in ("text", "both"))
    assert all(of_text[name].equals(of_csv[name]) for name in of_csv)


def test_tables_that_do_not_fit_together_are_refused_before_one_is_read(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone would fit; what fits is said."""
    monkeypatch.setattr("shoal.desk.given.FITS_ANYWHERE", 10)
    monkeypatch.setattr("shoal.desk.given.BYTES_A_CELL", 2 << 20)
    monkeypatch.setattr("shoal.desk.linked.BYTES_A_CELL", 2 << 20)
    monkeypatch.setattr("shoal.desk.given.Given.whole", property(lambda given: pytest.fail("a table was read")))
    parts = place / "parts"
    for name in PLAN["tables"]:
        (parts / name).mkdir(parents=True)
        pl.read_csv(place / "both" / f"{name}.csv").write_parquet(parts / name / "0.parquet")
    message = (
        r"The tables 'persons', 'stays' may need 192 MB held whole, 96 MB of it for 'persons', of which 128 MB may be "
        r"used\. Allow more with --memory\. About 66 % of the persons, each with all rows, would fit"
    )
    for work in (shoal.protect, shoal.audit):
        with pytest.raises(FileError, match=message):
            work(parts, PLAN, memory="128MB")
