"""The folder of a run: whose it is, what makes a run the same, and what is left where nothing came of it."""

import os
import pickle
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from parts.conftest import released
from parts.killed import Killed, killed_before
from shoal import protect
from shoal.proof.sampled import SampleOfClasses
from shoal.run.parts.journal import Journal
from shoal.table.files.atomic import locked
from shoal.vocabulary.errors import FileError, Refused

SEED = 1 << 70


class Stopped(Exception):  # noqa: N818 - it is none of ours
    pass


def stop_at(what: str):
    def stage(text: str, fraction: float) -> None:
        if text == what:
            raise Stopped

    return stage


class Trap:
    """What would be carried out if a pickle of it were read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.fixture
def journal(tmp_path):
    return Journal.open(tmp_path / "run", {"seed": 1})


@pytest.mark.parametrize("open_to", ["group writes", "others write", "others read"])
def test_a_file_that_others_could_have_written_is_not_carried_out(journal, tmp_path, open_to):
    mode = {"group writes": 0o620, "others write": 0o602, "others read": 0o604}[open_to]
    trap = journal.folder / "work.done"
    trap.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    trap.chmod(mode)
    with pytest.raises(FileError, match=r"is open to others, who could have put 'work\.done' there"):
        journal.once("work", lambda: 1)
    assert not (tmp_path / "sprung").exists()


def test_nothing_is_carried_out_from_an_open_folder_or_through_a_link(journal, tmp_path):
    trap = tmp_path / "elsewhere"
    trap.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    trap.chmod(0o600)
    (journal.folder / "linked.done").symlink_to(trap)
    with pytest.raises(FileError, match="cannot be read"):
        journal.once("linked", lambda: 1)
    journal.once("mine", lambda: 1)
    journal.folder.chmod(0o770)
    with pytest.raises(FileError, match="is open to others"):
        journal.once("mine", lambda: 2)
    assert not (tmp_path / "sprung").exists()


def test_a_file_of_somebody_else_is_not_carried_out(journal, monkeypatch):
    journal.once("mine", lambda: 1)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(FileError, match="is open to others"):
        journal.once("mine", lambda: 2)


def test_an_open_folder_is_begun_anew(journal):
    assert Journal.is_of(journal.folder, {"seed": 1})
    journal.once("work", lambda: 1)
    journal.folder.chmod(0o755)
    assert not Journal.is_of(journal.folder, {"seed": 1})
    again = Journal.open(journal.folder, {"seed": 1})
    assert not again.resumed
    assert again.once("work", lambda: 2) == 2


def finished_run(folder: Path) -> Journal:
    """A run with results that lie in files of their own, as stages do."""
    journal = Journal.open(folder, {"seed": 1})
    for name in ("first", "second"):
        journal.once(name, lambda: ((journal.place(name) / "part").touch(), name)[1])  # noqa: B023 - called at once
    return journal


@pytest.mark.parametrize("how", ["taken away", "begun anew by another"])
def test_no_run_goes_on_from_what_a_kill_left_of_its_folder(tmp_path, how):
    """Killed between any two operations, a run finds all that it had finished, or nothing."""

    def end(folder: Path) -> None:
        if how == "taken away":
            Journal.open(folder, {"seed": 1}).remove()
        else:
            Journal.open(folder, {"seed": 2})

    finished_run(tmp_path / "whole")
    with killed_before(float("inf")) as operations:
        end(tmp_path / "whole")
    for number in range(len(operations)):
        folder = finished_run(tmp_path / f"{number}").folder
        with killed_before(number), pytest.raises(Killed):
            end(folder)
        again = Journal.open(folder, {"seed": 1})
        finished = [name for name in ("first", "second") if again.finished(name)]
        assert all((folder / name / "part").exists() for name in finished)
        assert again.resumed == (number == 0) == bool(finished)


@pytest.mark.usefixtures("small_blocks")
def test_all_files_of_a_run_are_its_owners_only(table, folder_of, plan, tmp_path):
    seen: dict[str, int] = {}

    def look(text: str, fraction: float) -> None:
        inside = [p for p in (tmp_path / ".out.unfinished").rglob("*") if p.is_file()]
        seen.update({p.name: stat.S_IMODE(p.stat().st_mode) for p in inside})

    before = os.umask(0)
    try:
        protect(folder_of(table(900)), plan, tmp_path / "out", workers=1, stage=look)
    finally:
        os.umask(before)
    assert {Path(name).suffix for name in seen} >= {".done", ".parquet", ".arrow", ".json"}
    assert set(seen.values()) == {0o600}
    public = (tmp_path / "out" / "release" / "data").iterdir()
    assert {stat.S_IMODE(path.stat().st_mode) for path in public} == {0o644}


def stopped(source: Path, plan: dict, out: Path, **how: object) -> None:
    with pytest.raises(Stopped):
        protect(source, plan, out, seed=SEED, workers=1, stage=stop_at("finishing"), **how)


def test_a_file_that_the_plan_names_is_a_part_of_the_run(table, folder_of, plan, tmp_path):
    source, tree = folder_of(table(600)), tmp_path / "tree.csv"
    tree.write_text("f,*\nm,*\n")
    plan["columns"] = plan["columns"] | {"sex": {"role": "quasi-identifier", "hierarchy": "tree.csv"}}
    stopped(source, plan, tmp_path / "out", folder=tmp_path)
    made = protect(source, plan, tmp_path / "out", workers=1, folder=tmp_path)
    assert made.account.seed == SEED
    stopped(source, plan, tmp_path / "out-2", folder=tmp_path)
    tree.write_text("f,all,*\nm,all,*\n")
    made = protect(source, plan, tmp_path / "out-2", workers=1, folder=tmp_path)
    assert made.account.seed != SEED


def test_so_is_how_a_file_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("a|b;c\n" + "1|2;3\n" * 8)
    plan = {"columns": {"*": "other"}, "output": {"format": "parquet"}}
    how = {"unproved": True}
    stopped(tmp_path / "t.csv", plan, tmp_path / "out", reading={"delimiter": "|"}, **how)
    made = protect(tmp_path / "t.csv", plan, tmp_path / "out", workers=1, reading={"delimiter": ";"}, **how)
    assert made.account.seed != SEED
    assert released(tmp_path / "out").columns == ["a|b", "c"]


@pytest.mark.parametrize("before", [False, True])
def test_folders_made_for_a_refused_release_are_taken_away(table, folder_of, plan, tmp_path, before):
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 5}]
    source, out = folder_of(table(600)), tmp_path / "a" / "b" / "out"
    if before:
        (tmp_path / "a").mkdir()
    with pytest.raises(Refused):
        protect(source, plan, out, workers=1)
    assert (tmp_path / "a").exists() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["in", *["a"] * before])
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 4}]
    protect(source, plan, out, workers=1)
    assert [p.name for p in out.parent.iterdir()] == ["out"]


def test_nothing_is_left_of_a_run_that_would_fail_again(tmp_path):
    """A file that changed makes another run of it; an odd cell is met again: neither goes on from what was finished."""
    (tmp_path / "in").mkdir()
    pl.DataFrame({"a": ["", None, "x", "x"], "b": [1, 1, 1, 1]}).write_parquet(tmp_path / "in" / "t.parquet")
    plan = {"columns": {"a": {"role": "other", "missing": "keep"}, "b": "other"}, "output": {"format": "csv"}}
    with pytest.raises(FileError, match="with quotation marks and others without"):
        protect(tmp_path / "in", plan, tmp_path / "out", workers=1, unproved=True)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_a_sample_of_records_is_no_period_of_them(tmp_path, folder_of, monkeypatch):
    """Every fourth record is of one kind; without quasi-identifiers the sample has all kinds in their shares."""
    monkeypatch.setattr("shoal.proof.sampled.SAMPLE", 1000)
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 3000)
    drawn: list[SampleOfClasses] = []
    plain = SampleOfClasses.drawn.__func__

    def keep(cls, *given: object) -> SampleOfClasses:
        drawn.append(plain(cls, *given))
        return drawn[-1]

    monkeypatch.setattr(SampleOfClasses, "drawn", classmethod(keep))
    frame = pl.DataFrame({"kind": np.tile(["a", "b", "c", "d"], 2000), "x": np.arange(8000.0)})
    plan = {"columns": {"kind": "confidential", "x": "confidential"}, "output": {"format": "parquet", "shuffle": False}}
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    values = drawn[0].released["kind"].values
    assert 800 < len(values) < 1200
    assert np.bincount(values, minlength=4).min() > 0.15 * len(values)
    assert np.bincount(drawn[0].part[0], minlength=10).min() > 0.05 * len(values)


def test_no_lock_is_made_through_a_link(tmp_path):
    """In a folder that others can write to, the file that a link names would be made in the user's name."""
    pl.DataFrame({"q": [1] * 4}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / ".out.unfinished.lock").symlink_to(tmp_path / "theirs")
    plan = {"columns": {"q": "quasi-identifier"}, "requirements": [{"privacy": "k-anonymity", "k": 4}]}
    with pytest.raises(FileError, match="cannot be made"):
        protect(tmp_path / "t.parquet", plan, tmp_path / "out", seed=1, workers=1)
    assert not (tmp_path / "theirs").exists()


def test_the_lock_on_a_file_that_another_took_away_is_none(tmp_path, monkeypatch):
    """A run opens the file, the run before it ends and takes it away, a third makes it anew."""
    lock = tmp_path / "lock"
    lock.touch()
    opened = os.open

    def open_too_early(path, *how):
        handle = opened(path, *how)
        lock.unlink()
        os.close(opened(lock, os.O_CREAT | os.O_RDWR))
        return handle

    monkeypatch.setattr(os, "open", open_too_early)
    with pytest.raises(BlockingIOError), locked(lock, wait=False):
        pass
