"""Work that is saved by itself: found again, taken up with its runs, without any cell, for its owner only."""

import json
import re
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from shoal.studio.saved import recent
from studio.running import LONGEST, Running, running

TOWNS = ["Quillonford", "Brackmere", "Oldenvale"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = "".join(f"{TOWNS[i % 3]},{20 + i % 5},{3141592 + 7919 * i}\n" for i in range(120))
    (tmp_path / "people.csv").write_text(f"town,age,income\n{rows}")
    return tmp_path


PLAN = {
    "columns": {
        "town": {"role": "quasi-identifier", "level": "nominal"},
        "age": {"role": "quasi-identifier", "level": "continuous"},
        "income": {"role": "confidential", "level": "continuous"},
    },
    "steps": [{"mask": "suppress", "k": 5}, {"mask": "noise", "columns": ["income"], "variance": 0.2}],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
}


def saved(folder: Path, runs: int = 0) -> Path:
    """The file of saved work, once it is there with so many runs."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        files = list((folder / "state").rglob("*.json"))
        if files and len(json.loads(files[0].read_text())["runs"]) == runs:
            return files[0]
        time.sleep(0.1)
    raise TimeoutError("nothing was saved")


def worked(studio: Running) -> None:
    studio.enter()
    studio.idle()
    studio.act("edit", text=json.dumps(PLAN), note="my plan")
    studio.act("run")
    assert [run["released"] for run in studio.idle()["runs"]] == [True]


def taken_up(studio: Running) -> dict[str, Any]:
    """The state when the work has been taken up, after its table was opened."""
    end = time.monotonic() + LONGEST
    while (state := studio.idle())["text"] != json.dumps(PLAN):
        assert time.monotonic() < end
        time.sleep(0.05)
    return state


def test_work_is_taken_up_with_its_runs_after_the_studio_ended(table: Path) -> None:
    with running(table, "people.csv") as studio:
        worked(studio)
        file = saved(table, 1)
        measured = studio.ask("result", {"run": 1})[1]["measures"]
    holds_no_cell_and_only_its_owner_can_read_it(file)
    with running(table) as studio:
        studio.enter()
        (work,) = studio.ask("recent")[1]
        assert (work["source"], work["edits"], work["runs"]) == ("people.csv", 1, 1)
        studio.act("reopen", key=work["key"])
        state = taken_up(studio)
        assert [run["reopened"] for run in state["runs"]] == [True]
        shown = studio.ask("result", {"run": 1})[1]
        assert [m["value"] for m in shown["measures"]] == [m["value"] for m in measured]
        assert "Run it again" in studio.ask("document", {"what": "public report", "run": 1})[1]["error"]
        studio.act("run")
        state = studio.idle()
        assert [run["number"] for run in state["runs"]] == [1, 2]
        studio.act("go", at=0)  # the plan that was guessed when the table was opened again
        assert "# Guessed" in studio.ask("state")[1]["text"]


def holds_no_cell_and_only_its_owner_can_read_it(file: Path) -> None:
    text = file.read_text()
    assert not any(town in text for town in TOWNS)
    assert not set(re.findall(r"\b\d+\b", text)) & {f"{3141592 + 7919 * i}" for i in range(120)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_opening_a_table_leaves_nothing_and_forgetting_deletes(table: Path) -> None:
    with running(table, "people.csv") as studio:
        studio.enter()
        studio.idle()
        time.sleep(1.5)
        assert not (table / "state").exists()
        studio.act("edit", text=json.dumps(PLAN))
        saved(table)
        studio.act("close")
        (work,) = studio.ask("recent")[1]
        studio.act("open", path="people.csv")
        studio.idle()
        assert studio.ask("facts")[1]["earlier"]["key"] == work["key"]
        studio.act("take_up")
        assert studio.ask("state")[1]["text"] == json.dumps(PLAN)
        studio.act("forget", key="../people")  # no such work
        assert (table / "people.csv").exists()
        studio.act("close")
        studio.act("forget", key=work["key"])
        assert studio.ask("recent")[1] == []
        assert studio.ask("do", {"do": "reopen", "with": {"key": work["key"]}})[0] == 422


def test_what_cannot_be_saved_is_no_end_of_the_work(table: Path) -> None:
    (table / "state").write_text("a file where the folder would be")
    with running(table, "people.csv") as studio:
        studio.enter()
        studio.idle()
        studio.act("edit", text=json.dumps(PLAN))
        end = time.monotonic() + LONGEST
        while not studio.ask("state")[1]["unsaved"]:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_what_is_no_saved_work_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"shoal studio": 7}')
    assert recent(tmp_path) == []
