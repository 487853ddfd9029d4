"""A release that was written is handed over, looked at, approved, and says so; all on the command line."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import shoal
from command_line import Run
from shoal.vocabulary.errors import FileError, InputError

ODD = "Zaphod-4711"
PLAN = {
    "columns": {"name": "identifier", "age": "quasi-identifier", "ill": "confidential"},
    "steps": [{"partition": "mdav", "k": 4}],
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pl.DataFrame(
        {"name": [f"{ODD}-{i}" for i in range(40)], "age": range(20, 60), "ill": [i % 7 for i in range(40)]}
    )
    return shoal.protect(table, PLAN, seed=2**70 + 1).write(tmp_path_factory.mktemp("review") / "out")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "out"))


def test_from_hand_to_hand(folder: Path, tmp_path: Path, run: Run) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    file = tmp_path / "review.json"
    assert run("review", "make", folder, "--by", "Ada", "--out", file)[0] == 0
    assert file.stat().st_mode & 0o077 == 0
    assert not any(secret in file.read_text() for secret in (ODD, str(2**70 + 1), "riskiest"))
    _, out, _ = run("review", "show", file)
    for line in (
        "handed over by Ada",
        "  - partition: mdav",
        "proved    4-anonymity",
        "(of the table as it came 100 %)",
    ):
        assert line in out
    assert "approval  none yet" in out
    assert run("review", "comment", file, "Why <4>?", "--by", "Bo")[0] == 0
    status, _, err = run("review", "record", folder, file)
    assert (status, "has no approval" in err) == (2, True)
    status, _, err = run("review", "approve", file, "--by", "ada")
    assert (status, "somebody other" in err) == (2, True)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert "approved  by Bo" in run("review", "approve", file, "--by", "Bo")[1]
    approval = json.loads(run("--json", "review", "show", file)[1])["approval"]
    assert run("review", "record", folder, file)[0] == 0

    evidence = json.loads((folder / "release" / "evidence.json").read_text())
    assert evidence["approval"] == approval
    changed = [path for path, bytes in before.items() if path.read_bytes() != bytes]
    assert sorted(path.relative_to(folder).as_posix() for path in changed) == [
        "private/record.json",
        "release/evidence.json",
        "release/report.html",
    ]
    assert "Approved by Bo" in (folder / "release" / "report.html").read_text()
    assert not any(b"Why" in path.read_bytes() for path in (folder / "release").iterdir())
    record = json.loads((folder / "private" / "record.json").read_text())
    assert record["approval"]["comments"][0]["text"] == "Why <4>?"
    assert (folder / "private").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder / "private").iterdir())
    status, _, err = run("review", "record", folder, file)
    assert (status, "was approved before" in err) == (2, True)
    shoal.dossier(folder)  # which reads the evidence by its layout


def test_without_figures_of_the_original(folder: Path, tmp_path: Path, run: Run) -> None:
    shutil.rmtree(folder / "private")
    file = tmp_path / "review.json"
    status, _, err = run("review", "make", folder, "--by", "Ada", "--out", file)
    assert (status, "cannot be read" in err) == (2, True)
    assert run("review", "make", folder, "--by", "Ada", "--out", file, "--public")[0] == 0
    assert shoal.Review.read(file).private is None
    _, out, _ = run("review", "show", file)
    assert "proved    4-anonymity" in out
    assert "as it came" not in out


def test_another_release_or_a_changed_table_is_refused(folder: Path, tmp_path: Path) -> None:
    given = shoal.review(folder, by="Ada").approved("Bo")
    data = folder / "release" / "data.csv"
    data.write_text(data.read_text() + "1,2\n")
    with pytest.raises(FileError, match="is not the table that was proved"):
        shoal.approve(folder, given)
    with pytest.raises(FileError, match="is not the table that was proved"):
        shoal.review(folder, by="Ada")
    evidence = json.loads((folder / "release" / "evidence.json").read_text())
    evidence["sha256"]["data.csv"] = ""
    data.unlink()
    (folder / "release" / "evidence.json").write_text(json.dumps(evidence))
    with pytest.raises(InputError, match="Another release was approved"):
        shoal.approve(folder, given)


def test_figures_that_were_changed_are_refused(folder: Path) -> None:
    given = shoal.review(folder, by="Ada").approved("Bo")
    private = json.loads((folder / "private" / "evidence.json").read_text())
    private["measures"][0]["value"] = 0.0
    (folder / "private" / "evidence.json").write_text(json.dumps(private))
    with pytest.raises(InputError, match="private figures that were reviewed"):
        shoal.approve(folder, given)
