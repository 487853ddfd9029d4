"""Releases of earlier versions: what they wrote is read, compared, judged, made again and replaced.

`golden/version-1` was written by the last state of the package that wrote version 1 of the record; `version-2` by the
first days of version 2. They are never written anew.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import cli
from shoal.release.directory import is_release

VERSIONS = {"version-1": 1, "version-2": 2}


@pytest.fixture(params=VERSIONS)
def golden(request: pytest.FixtureRequest, project: Path) -> Path:
    return project / "tests" / "golden" / str(request.param)


def table() -> pl.DataFrame:
    """The table that all were made from."""
    return pl.DataFrame(
        {"age": [20 + i % 5 for i in range(20)], "pay": [1.5 * i for i in range(20)], "ill": ["a", "b"] * 10}
    )


def record_of(golden: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((golden / "private" / "record.json").read_text())
    assert record["version"] == VERSIONS[golden.name]
    return record


def test_the_plan_of_a_record_makes_the_same_records_again(golden: Path) -> None:
    """In another order: since then a record's place in the release is drawn for the record."""
    record = record_of(golden)
    for plan in (record["plan"], golden / "plan.yaml"):
        release = shoal.protect(table(), plan, seed=record["seed"])
        header, *lines = release.data.write_csv().splitlines()
        before, *those = (golden / "release" / "data.csv").read_text().splitlines()
        assert header == before and sorted(lines) == sorted(those)


def test_its_file_is_audited_with_its_private_folder(golden: Path) -> None:
    evidence = shoal.audit(
        golden / "release" / "data.csv", golden / "plan.yaml", original=table(), private=golden / "private"
    )
    assert evidence.holds
    assert next(f.value for f in evidence.findings if f.measure == "prosecutor") == 0.25


def test_releases_of_all_versions_are_compared(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(project / "tests" / "golden" / name) for name in VERSIONS]
    monkeypatch.setattr("sys.argv", ["shoal", "--json", "compare", *folders, "--out", str(tmp_path / "page.html")])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capsys.readouterr()
    assert (end.value.code or 0, err) == (0, "")
    rows = {row["title"]: row["cells"] for row in json.loads(out)["rows"]}
    assert rows["4-anonymity"] == [4, 4]
    assert rows["Prosecutor risk"] == [0.25, 0.25]
    assert "version-1" in (tmp_path / "page.html").read_text()


def test_it_is_known_for_a_release_and_replaced(golden: Path, tmp_path: Path) -> None:
    record = record_of(golden)
    shutil.copytree(golden, tmp_path / "out", ignore=shutil.ignore_patterns("plan.yaml"))
    assert is_release(tmp_path / "out")
    shoal.protect(table(), record["plan"], seed=3).write(tmp_path / "out", overwrite=True)
    assert json.loads((tmp_path / "out" / "private" / "record.json").read_text())["seed"] == 3
