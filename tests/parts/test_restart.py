"""A run that is killed leaves no release, and the next one goes on and ends with the same bytes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from by_night import by_night, only_by_night
from parts.killed import Killed, killed_before
from shoal import protect
from shoal.vocabulary.errors import FileError

SEED = 1 << 70

CHILD = """
import sys
import shoal.table.parts.dealing as dealing, shoal.table.parts.source as source
dealing.BLOCK_CELLS, dealing.SMALLEST_BLOCK, source.CHUNK = 0, 400, 700
from shoal import protect
import json
protect(sys.argv[1], json.loads(sys.argv[2]) | {"exact": False}, sys.argv[3], seed=int(sys.argv[4]), workers=1)
"""


def released_bytes(out: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((out / "release" / "data").iterdir())]


class Stopped(Exception):  # noqa: N818 - it is none of ours
    pass


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("after", [20, 1, 9, 4][: by_night(1, 4)])
def test_a_run_goes_on_where_it_was_stopped(table, folder_of, plan, tmp_path, monkeypatch, after):
    source = folder_of(table(1500))
    protect(source, plan, tmp_path / "whole", seed=SEED, workers=1)
    calls = []

    def stage(text: str, fraction: float) -> None:
        calls.append(text)
        if len(calls) == after:
            raise Stopped

    with pytest.raises(Stopped):
        protect(source, plan, tmp_path / "out", seed=SEED, workers=1, stage=stage)
    assert not (tmp_path / "out").exists()
    treated = []
    import shoal.run.parts.steps as steps

    plain = steps.treated
    monkeypatch.setattr(steps, "treated", lambda job: (treated.append(job.number), plain(job))[1])
    made = protect(source, plan, tmp_path / "out", workers=1)  # the seed is that of the run
    assert made.account.seed == SEED
    assert released_bytes(tmp_path / "out") == released_bytes(tmp_path / "whole")
    if after > 9:
        assert len(treated) < made.record["steps"][0]["blocks"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out", "whole"]


@pytest.mark.usefixtures("small_blocks")
def test_another_plan_begins_anew(table, folder_of, plan, tmp_path):
    source = folder_of(table(900))

    def stop(text: str, fraction: float) -> None:
        if text == "finishing":
            raise Stopped

    with pytest.raises(Stopped):
        protect(source, plan, tmp_path / "out", seed=SEED, workers=1, stage=stop)
    plan["steps"][0]["k"] = 6
    made = protect(source, plan, tmp_path / "out", workers=1)
    assert made.account.seed != SEED
    assert made.record["steps"][0]["smallest group"] == 6


def test_two_runs_do_not_write_to_one_place(table, folder_of, plan, tmp_path):
    source = folder_of(table(600))

    def again(text: str, fraction: float) -> None:
        if text == "finishing":
            with pytest.raises(FileError, match="Another run"):
                protect(source, plan, tmp_path / "out", workers=1)

    protect(source, plan, tmp_path / "out", workers=1, stage=again)


def test_the_folder_of_a_run_is_its_owners_only(table, folder_of, plan, tmp_path):
    seen = []

    def look(text: str, fraction: float) -> None:
        seen.extend(p.stat().st_mode & 0o077 for p in tmp_path.glob(".out.unfinished"))

    protect(folder_of(table(600)), plan, tmp_path / "out", workers=1, stage=look)
    assert seen
    assert set(seen) == {0}


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_killed_between_operations_on_files_it_goes_on(table, plan, tmp_path):
    """At points spread over the whole run, and over its end, when the release is there and the folder is taken away."""
    source = tmp_path / "in.parquet"
    table(900).write_parquet(source)
    plan["steps"].append({"mask": "rank-swap", "p": 0.05, "columns": ["income"]})
    with killed_before(float("inf")) as operations:
        protect(source, plan, tmp_path / "whole", seed=SEED, workers=1)
    expected, released = released_bytes(tmp_path / "whole"), operations.index("rename")
    points = max(int(os.environ.get("SHOAL_KILLS", by_night(1, 4))), 1)
    for first, count in ((0, released), (released, len(operations) - released)):
        for number in range(first, first + count, max(count // points, 1)):
            with killed_before(number), pytest.raises(Killed):
                protect(source, plan, tmp_path / "out", seed=SEED, workers=1)
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            protect(source, plan, tmp_path / "out", workers=1, seed=SEED)
            assert released_bytes(tmp_path / "out") == expected, number
            assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out", "whole"]
            shutil.rmtree(tmp_path / "out")


@only_by_night  # by day a run is stopped, and ends between two operations on files
def test_killed_at_any_moment_it_leaves_no_release_or_a_proved_one(table, folder_of, plan, tmp_path):
    source = folder_of(table(1500))
    command = [sys.executable, "-c", CHILD, str(source), json.dumps(plan), str(tmp_path / "out"), str(SEED)]
    began = time.monotonic()
    subprocess.run([*command[:-2], str(tmp_path / "whole"), str(SEED)], check=True, timeout=300)
    usual = time.monotonic() - began
    draw = random.Random(8)
    kills = int(os.environ.get("SHOAL_KILLS", by_night(2, 4)))
    expected = released_bytes(tmp_path / "whole")
    for _ in range(kills):
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(draw.uniform(0.1, usual))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if (tmp_path / "out").exists():
            assert (tmp_path / "out" / "private" / "record.json").exists()
            smallest = pl.read_parquet(tmp_path / "out/release/data/*.parquet").group_by("x", "y", "sex").len()["len"]
            assert smallest.min() >= 4
            assert released_bytes(tmp_path / "out") == expected
            shutil.rmtree(tmp_path / "out")
    subprocess.run(command, check=True, timeout=300)
    assert released_bytes(tmp_path / "out") == expected
