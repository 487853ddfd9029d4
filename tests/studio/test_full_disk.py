"""A disk that is full, and processes that are killed in the midst: the page says so, and nothing is half written."""

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.studio.runner import Runner
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError
from studio.running import LONGEST, Running, children, running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows limits no sizes of files")


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    """A studio where no file may have more than 24 000 bytes, and its folder; a release needs more."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "temporary").mkdir()
    with running(folder, largest=24_000, temporary=folder / "temporary") as studio:
        studio.enter()
        yield studio, folder


def made(studio: Running, *changes: dict[str, Any]) -> int:
    """The number of a run whose release is made, but not written."""
    studio.act("example")
    studio.idle()
    studio.act("put", changes=changes, note="output")
    studio.act("run")
    last = studio.idle()["runs"][-1]
    assert last["released"]
    return int(last["number"])


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_nothing_is_half_written(output: str, small_disk: tuple[Running, Path]) -> None:
    studio, folder = small_disk
    run = made(studio, {"place": ["output"], "value": {"format": output}})
    studio.act("export", run=run, directory="out")
    kind, sentence = studio.idle()["notice"]
    assert kind == "error"
    assert "cannot be written" in sentence
    assert "free some space" in sentence
    assert sorted({path.name for path in folder.iterdir()} - {"state"}) == ["studio.log", "temporary"]
    for saved in (folder / "state").rglob("*.*"):  # what is saved by itself is whole, or not there
        json.loads(saved.read_text())
    assert not list((folder / "temporary").rglob("*.*"))
    assert studio.ask("rows", {"run": run})[0] == 200  # and all is still there
    assert studio.log.read_text().count("\n") <= 3


def test_what_was_there_stays_when_it_cannot_be_replaced(small_disk: tuple[Running, Path]) -> None:
    studio, folder = small_disk
    out = folder / "out"
    shoal.protect(
        shoal.example(n=40, seed=1).select("age", "sex"),
        {
            "columns": {"age": "quasi-identifier", "sex": "quasi-identifier"},
            "steps": [{"partition": "mdav", "k": 3}],
            "requirements": [{"privacy": "k-anonymity", "k": 3}],
        },
        seed=1,
    ).write(out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    try:
        studio.act("export", run=made(studio), directory="out", overwrite=True)
        assert studio.idle()["notice"][0] == "error"
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    finally:
        shutil.rmtree(out)


def test_a_file_that_does_not_fit_is_said(small_disk: tuple[Running, Path]) -> None:
    """A file that is dropped lies in memory while it is read; where even that is full, a sentence says so."""
    studio, _ = small_disk
    text = "age,town\n" + "".join(f"{20 + i % 50},{i % 9}\n" for i in range(9000))
    headers = {"Authorization": f"Bearer {studio.key}", "X-File-Name": "people.csv"}
    assert studio.request("POST", "/api/upload", text.encode(), headers)[0] == 200
    assert studio.idle()["notice"] == ["error", "The disk is full (File too large). Make room, and do it again."]
    studio.act("example")
    assert studio.idle()["rows"] == 1000


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name is short enough for a socket in it."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(not Path("/proc").exists(), reason="no /proc on this system")
def test_work_that_is_ended_leaves_nothing_in_the_temporary_folder(tmp_path: Path, short_folder: Path) -> None:
    """Cancelled, its process killed, and the studio told to end, which it does quietly in the midst of an answer."""
    with running(tmp_path, temporary=short_folder) as studio:
        studio.enter()
        studio.act("example")
        studio.idle()
        there = set(short_folder.iterdir())
        section = {"method": ["mdav", "gaussian-mixture", "latent-class"], "k": [3, 5, 10, 20]}
        studio.act("put", changes=[{"place": ["explore"], "value": section}], note="explore")
        for end in ("cancel", "kill"):
            studio.act("explore")
            until = time.monotonic() + LONGEST
            while not list(short_folder.rglob("*.json")):
                assert time.monotonic() < until
                time.sleep(0.05)
            if end == "cancel":
                studio.act("cancel")
            else:
                os.kill(children(studio.process.pid)[-1], 9)
            notice = studio.idle()["notice"]
            assert notice is None or "ancelled" in notice[1] or "ended" in notice[1]
            assert set(short_folder.iterdir()) == there
        waiting = unanswered(studio)
    waiting.close()
    assert not list(short_folder.iterdir())
    assert "Traceback" not in studio.log.read_text() and "ERROR" not in studio.log.read_text()


def unanswered(studio: Running) -> socket.socket:
    """What waits for an answer that never comes, since who would give it is held up."""
    studio.act("example")
    studio.idle()
    os.kill(children(studio.process.pid)[-1], signal.SIGSTOP)
    waiting = socket.create_connection(("127.0.0.1", studio.port), LONGEST)
    lines = ["POST /api/beginnings HTTP/1.1", f"Host: 127.0.0.1:{studio.port}", f"Authorization: Bearer {studio.key}"]
    waiting.sendall("\r\n".join([*lines, "Content-Length: 0", "", ""]).encode())
    studio.ask("state")  # which comes after it
    waiting.setblocking(False)
    with pytest.raises(BlockingIOError):
        waiting.recv(1)
    return waiting


@pytest.mark.skipif(not Path("/proc").exists(), reason="no /proc on this system")
def test_what_is_given_up_for_a_run_is_no_error(fresh: Running) -> None:
    """A page asks for what it shows, and cannot know that a run begins meanwhile."""
    with unanswered(fresh) as waiting:
        fresh.act("run")
        waiting.settimeout(LONGEST)
        answer = HTTPResponse(waiting)
        answer.begin()
        assert (answer.status, json.loads(answer.read())) == (200, {"refused": "This was ended for a run."})
    assert fresh.idle()["runs"][-1]["released"]


def test_a_plan_that_works_in_parts_is_refused_for_they_would_lie_on_the_disk() -> None:
    class Holding(Runner):
        tables = property(lambda holder: {"": Table(frame=pl.DataFrame({"age": [30, 30, 40, 40]}))})

    text = "columns: {age: quasi-identifier}\nsteps: [{partition: mdav, k: 2}]\nexact: false\n"
    with pytest.raises(InputError, match="the studio writes no cell to disk"):
        Holding().protect(text, ".", 1, "t.csv", lambda stage, fraction: None)
    result, was_released = Holding().protect(text.replace("false", "true"), ".", 1, "t.csv", lambda stage, _: None)
    assert was_released
    assert result["records"] == 4
