"""Which tables the commands hold whole, and which they work on in parts: the plan and the size of the table say."""

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import cli
from shoal.desk.given import Given

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
    Path("parts.yaml").write_text(PLAN + "exact: false\n")
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
IN_PARTS = ("protect", "t.parquet", "--plan", "parts.yaml", "--out", "out", "--workers", "1")


def folder_of(frame: pl.DataFrame, place: str, parts: int) -> str:
    """A folder with a table in so many files."""
    Path(place).mkdir()
    size = -(-len(frame) // parts)
    for number in range(parts):
        frame[number * size : (number + 1) * size].write_parquet(f"{place}/part-{number}.parquet")
    return place


def test_a_small_table_is_held_whole_wherever_it_lies(run):
    folder_of(pl.read_parquet("t.parquet"), "folder", 7)
    released = []
    for data in ("t.parquet", "folder", "folder/*.parquet"):
        status, out, _ = run("protect", data, "--plan", "plan.yaml", "--out", "out", "--seed", "9", "--overwrite")
        assert status == 0
        assert "held whole" in out
        assert Path("out/release/data.parquet").is_file()
        released.append(contents(Path("out/release")))
    assert released[0] == released[1] == released[2]


@pytest.mark.parametrize("limit", [119, 120])
def test_a_table_beyond_the_limit_is_worked_on_in_parts(run, monkeypatch, limit):
    """Sixty records of two columns: as the size says, whoever gives the table."""
    monkeypatch.setattr("shoal.run.parts.admission.EXACT_CELLS", limit)
    folder_of(pl.read_parquet("t.parquet"), "folder", 2)
    for data in ("t.parquet", "folder"):
        assert run("protect", data, "--plan", "plan.yaml", "--out", f"of {data}", "--seed", "9")[0] == 0
        assert Path(f"of {data}/release/data").is_dir() == (limit < 120)
    release = shoal.protect(pl.read_parquet("t.parquet"), "plan.yaml", seed=9, workers=1)
    release.write("of a frame")
    assert contents(Path("of t.parquet/release")) == contents(Path("of folder/release"))
    assert contents(Path("of a frame/release")) == contents(Path("of folder/release"))


def test_the_plan_has_the_last_word(run, monkeypatch):
    assert run(*IN_PARTS)[0] == 0
    assert Path("out/release/data").is_dir()
    monkeypatch.setattr("shoal.run.parts.admission.EXACT_CELLS", 0)
    Path("plan.yaml").write_text(PLAN + "exact: true\n")
    assert run(*PROTECT, "--overwrite")[0] == 0
    assert Path("out/release/data.parquet").is_file()
    Path("plan.yaml").write_text(PLAN + "exact: true\nblock_size: 20000\n")
    status, _, err = run(*PROTECT, "--overwrite")
    assert status == 2
    assert "block_size is for a table that is worked on in parts, which 'exact: true' rules out" in err


def test_what_needs_the_whole_table_is_done_whole_at_any_size(run, monkeypatch):
    """However the table is worked on, and with a trial and a page of what is refused."""
    monkeypatch.setattr("shoal.run.parts.admission.EXACT_CELLS", 0)
    for setting in ("", "exact: false\n", "block_size: 20000\n"):
        Path("plan.yaml").write_text(f"{PLAN}constraints: [b >= 0]\n{setting}")
        assert run(*PROTECT, "--overwrite", "--dry-run")[0] == 0
        assert run(*PROTECT, "--overwrite")[0] == 0
        assert Path("out/release/data.parquet").is_file()
    Path("plan.yaml").write_text(PLAN.replace("k: 3}]\nout", "k: 30}]\nout") + "constraints: [b >= 0]\n")
    assert run(*PROTECT, "--overwrite", "--refusal", "why.html")[0] == 3
    assert "refuted" in Path("why.html").read_text()


@pytest.mark.parametrize("rule", ["", "constraints: [b >= 0]\n"])
def test_a_table_that_may_not_fit_whole_is_refused_with_the_ways_out(run, monkeypatch, rule):
    monkeypatch.setattr("shoal.desk.given.BYTES_A_CELL", 1 << 28)
    monkeypatch.setattr("shoal.desk.given.FITS_ANYWHERE", 0)
    Path("plan.yaml").write_text(PLAN + rule)
    status, _, err = run(*PROTECT, "--memory", "1GB")
    assert status == 2
    assert "'t.parquet' may need 30,720 MB held whole, of which 1,024 MB may be used. Allow more with --memory." in err
    assert ("Edit rules (constraints) are restored only in a whole table." if rule else "block_size: 100000") in err
    assert not Path("out").exists()
    assert run(*PROTECT, "--memory", "40GB")[0] == 0
    status, _, err = run("audit", "out/release/data.parquet", "--plan", "plan.yaml", "--memory", "1GB")
    assert status == 2
    assert "may be used" in err


def test_what_is_no_parquet_is_said_by_its_reader(run):
    Path("t.parquet").write_bytes(b"no table")
    status, _, err = run(*PROTECT, "--memory", "1GB")
    assert status == 2
    assert "no readable parquet file" in err


@pytest.mark.parametrize("plan", ["plan.yaml", "parts.yaml"])
@pytest.mark.parametrize("memory", ["1GB", "900GB"])
def test_memory_changes_no_byte(run, monkeypatch, plan, memory):
    said = ("protect", "t.parquet", "--plan", plan, "--seed", "7", "--workers", "1")
    monkeypatch.setattr("shoal.table.parts.session.half_of_memory", lambda: 1 << 40)
    assert run(*said, "--out", "first")[0] == 0
    monkeypatch.setattr("shoal.table.parts.session.half_of_memory", lambda: 1 << 28)
    assert run(*said, "--out", "second", "--memory", memory)[0] == 0
    assert contents(Path("first/release")) == contents(Path("second/release"))


@pytest.mark.parametrize("arguments", [PROTECT, IN_PARTS], ids=["whole", "in parts"])
def test_the_record_makes_the_same_bytes_again(run, arguments):
    """Plan and seed from `private/record.json` alone."""
    for name in ("plan.yaml", "parts.yaml"):
        noise = "steps: [{mask: noise, variance: 0.5, columns: [b]}, "
        Path(name).write_text(Path(name).read_text().replace("steps: [", noise))
    assert run(*arguments)[0] == 0
    record = json.loads(Path("out/private/record.json").read_text())
    Path("again.yaml").write_text(json.dumps(record["plan"]))
    again = ("protect", "t.parquet", "--plan", "again.yaml", "--out", "again", "--workers", "1")
    assert run(*again, "--seed", str(record["seed"]))[0] == 0
    assert contents(Path("again/release")) == contents(Path("out/release"))


def test_the_record_of_a_text_file_says_how_it_was_read(run):
    pl.read_parquet("t.parquet").write_csv("t.csv", separator=";")
    for plan in ("plan", "parts"):
        given = ("--plan", f"{plan}.yaml", "--out", plan, "--workers", "1", "--delimiter", ";")
        assert run("protect", "t.csv", *given)[0] == 0
    parts, whole = (json.loads(Path(f"{name}/private/record.json").read_text()) for name in ("parts", "plan"))
    assert parts["input"]["read as"]["delimiter"] == ";"
    assert "semicolon" in whole["input"]["read as"]


def test_a_folder_is_looked_at_tried_and_explored_like_a_file(run):
    folder_of(pl.read_parquet("t.parquet"), "folder", 3)
    status, out, _ = run("init", "folder")
    assert status == 0
    assert "a:" in out
    status, out, _ = run("risk", "folder", "--plan", "plan.yaml")
    assert status == 0
    assert "60 records" in out
    for plan in ("plan.yaml", "parts.yaml"):
        status, out, _ = run("protect", "folder", "--plan", plan, "--out", "out", "--dry-run", "--workers", "1")
        assert status == 0
        assert "nothing was written" in out
        assert not Path("out").exists()


def test_a_refusal_in_parts_has_its_page(run):
    Path("parts.yaml").write_text(PLAN.replace("k: 3}]\nout", "k: 30}]\nout") + "exact: false\n")
    status, _, err = run(*IN_PARTS, "--refusal", "why.html")
    assert status == 3
    assert "30-anonymity does not hold" in err
    assert "refuted" in Path("why.html").read_text()


def test_parts_are_judged_by_themselves(run):
    run(*IN_PARTS)
    status, _, err = run(
        "audit", "out/release/data/part-00001.parquet", "--plan", "parts.yaml", "--failing", "rows.csv"
    )
    assert status == 2
    assert "Leave --failing out" in err


def test_columns_that_folders_name_count(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    for year in (2024, 2025):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        frame.write_parquet(tmp_path / "in" / f"year={year}" / "part.parquet")
    given = Given.of(tmp_path / "in")
    assert given.size == given.whole.frame.shape == (6, 3)
    assert Given.of(tmp_path / "in/year=2024/part.parquet").size == (3, 2)
