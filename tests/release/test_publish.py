"""Two folders at once or none, nothing replaced that is no part of a release, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.plan.sections import EditRules
from shoal.release.directory import RECORD, is_release
from shoal.table.files.atomic import UNFINISHED, atomic_directory, atomic_file
from shoal.table.files.table import Table
from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary.errors import FileError, Refused

FRAME = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": [1.5, 2, 3, 4, 5, 6]})
PLAN = {"columns": {"a": "quasi-identifier", "b": "confidential"}, "requirements": [{"privacy": "k-anonymity", "k": 3}]}


def written(folder: Path) -> Path:
    return shoal.protect(FRAME, PLAN, seed=1).write(folder / "out", overwrite=True)


def test_the_record_names_every_file(tmp_path: Path) -> None:
    out = written(tmp_path)
    named = json.loads((out / RECORD).read_text())["files"]
    assert sorted(named) == sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert is_release(out)
    written(tmp_path)  # and so it can be replaced


@pytest.mark.parametrize("name", ["private/pseudonym.key", "notes.txt", "release/data.parquet", "private/more/key"])
def test_what_the_record_does_not_name_stops_an_overwrite(tmp_path: Path, name: str) -> None:
    out = written(tmp_path)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    with pytest.raises(FileError, match=f"holds '{name}', which is not part of the release"):
        written(tmp_path)
    assert (out / name).read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"version": 2, "plan": {}, "seed": 1, "files": "all"}'])
def test_without_a_record_it_is_no_release(tmp_path: Path, content: str) -> None:
    out = written(tmp_path)
    (out / RECORD).write_text(content)
    with pytest.raises(FileError, match="not a release, and would be lost"):
        written(tmp_path)


def test_a_release_of_version_1_is_replaced(tmp_path: Path) -> None:
    out = written(tmp_path)
    (out / "private" / "evidence.json").unlink()
    (out / RECORD).write_text(json.dumps({"version": 1, "plan": {}, "seed": 1}))
    assert json.loads((written(tmp_path) / RECORD).read_text())["version"] == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_what_a_killed_run_left_is_taken_away(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from shoal.table.files.atomic import atomic_directory, atomic_file
with atomic_file(Path(sys.argv[1]) / "page") as page, atomic_directory(Path(sys.argv[1]) / "out") as folder:
    (folder / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len([path for path in tmp_path.iterdir() if UNFINISHED in path.name]) == 2
    with atomic_directory(tmp_path / "out") as folder, atomic_file(tmp_path / "page") as page:
        (folder / "whole").write_text("whole")
        page.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "page"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_request_to_end_cleans_up(tmp_path: Path) -> None:
    program = f"""
import sys, time
import shoal.release.publish
publish = sys.modules["shoal.release.publish"]
whole = publish.write_json
def write_json(*content):
    whole(*content)
    print("writing", flush=True)
    time.sleep(600)
publish.write_json = write_json
sys.argv = ["shoal", "-q", "demo", "--records", "30", "--out", {str(tmp_path / "demo")!r}]
from shoal.__main__ import main
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err.strip()) == (130, "Interrupted; nothing was changed.")
    assert not list(tmp_path.iterdir())


def test_a_path_of_links_in_a_circle_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(FileError, match="Output"):
        shoal.protect(FRAME, PLAN, seed=1).write(tmp_path / "one")


@pytest.mark.skipif(os.name == "nt", reason="Windows does not open folders")
def test_all_of_a_release_is_on_the_disk_before_it_is_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = set()
    monkeypatch.setattr(os, "fsync", lambda handle: written.add(os.fstat(handle).st_ino))
    out = shoal.protect(FRAME, PLAN, seed=1).write(tmp_path / "out")
    assert {path.stat().st_ino for path in [*out.rglob("*"), tmp_path]} <= written


@pytest.mark.parametrize("ending", ["csv", "sav", "dta", "xpt", "rds"])
def test_suppressed_text_is_proved_on_files_that_write_it_empty(tmp_path: Path, ending: str) -> None:
    table = pl.DataFrame({"town": ["ash", *["bow"] * 6], "sex": ["f", *["f", "m"] * 3], "pay": range(7)})
    plan = {
        "columns": {"town": "quasi-identifier", "sex": "quasi-identifier", "pay": "confidential"},
        "steps": [{"mask": "suppress", "k": 3}],
        "requirements": [{"privacy": "k-anonymity", "k": 3, "missing": "wildcard"}],
        "output": {"format": ending},
    }
    release = shoal.protect(table, plan, seed=1)
    assert release.data["town"].null_count() == 1
    out = release.write(tmp_path / "out")
    assert shoal.audit(out / "release" / f"data.{ending}", plan).holds


@pytest.mark.parametrize("left", [0, 3])
def test_a_file_that_gives_fewer_records_back_is_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """As a library leaves it behind that does not notice a full disk; what is left would be proved, too."""
    publish = sys.modules["shoal.release.publish"]
    whole = publish.write_table
    monkeypatch.setattr(
        publish, "write_table", lambda table, *place, **how: whole(Table(frame=table.frame.head(left)), *place, **how)
    )
    with pytest.raises(FileError, match=rf"was not written whole \({left} of 6 records can be read back\)"):
        shoal.protect(FRAME, PLAN, seed=1).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


KEEP = {"role": "quasi-identifier", "missing": "keep"}


def test_a_file_is_judged_on_what_the_rules_of_the_plan_fill_in(tmp_path: Path) -> None:
    """No gross is in the file; net and tax are, which add up to it, and to another one for everybody."""
    cells = {"net": [10.0, 20, 30, 40], "tax": [1.0, 2, 3, 4], "gross": [None] * 4}
    columns = {"net": "other", "tax": "other", "gross": {**KEEP, "level": "continuous"}}
    required = [{"privacy": "k-anonymity", "k": 4}]
    plan = {"columns": columns, "requirements": required, "accept": ["net", "tax"]}
    release = shoal.protect(pl.DataFrame(cells).cast(pl.Float64), plan, seed=1)
    release.write(tmp_path / "out")
    with pytest.raises(Refused, match=r"gives away 4 missing .* of 'gross', by the rules"):
        replace(release, rules=EditRules(rules=("net + tax == gross",))).write(tmp_path / "ruled")


def test_a_file_is_judged_on_what_the_hierarchies_of_the_plan_narrow_down(tmp_path: Path) -> None:
    """Ten homes in `Madrid | Lyon` and Spain, one in `Madrid | Lyon` and France: that one alone lives in Lyon."""
    towns = ["Madrid | Lyon", "Spain"] * 10 + ["Madrid | Lyon", "France"] + ["Nice", "France"] * 10
    columns = {"home": "household", "town": {**KEEP, "level": "nominal"}}
    plan = {"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": 10}]}
    release = shoal.protect(pl.DataFrame({"home": [i // 2 for i in range(42)], "town": towns}), plan, seed=1)
    release.write(tmp_path / "out")
    tree = Hierarchy.from_nested({"Spain": ["Madrid", "Vigo"], "France": ["Lyon", "Nice"]})
    with pytest.raises(Refused, match="gives away 32 missing or generalised cells of 'town'"):
        replace(release, trees={"town": tree}).write(tmp_path / "narrowed")
