"""Whatever is done to a place, in whatever order and at once: it holds one whole release, or what it held before."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from os import environ, pathsep
from pathlib import Path
from tempfile import mkdtemp

import polars as pl
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import shoal
from shoal.release.directory import RECORD, is_release
from shoal.table.files.atomic import UNFINISHED
from shoal.vocabulary.errors import DataError, FileError, Refused

FRAME = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": [1.5, 2, 3, 4, 5, 6]})
PLAN = {"columns": {"a": "quasi-identifier", "b": "confidential"}, "requirements": [{"privacy": "k-anonymity", "k": 3}]}
UNPROVED = {**PLAN, "requirements": []}


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Place(RuleBasedStateMachine):
    """A directory in which releases are written, replaced, broken and meddled with; `expected` is what it must hold."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(mkdtemp())
        self.out = self.folder / "out"
        self.releases = [shoal.protect(FRAME, PLAN, seed=seed) for seed in (1, 2)]
        self.unproved = shoal.protect(FRAME, UNPROVED, seed=3)
        self.expected: dict[str, bytes] | None = None
        self.named: set[str] = set()

    def teardown(self) -> None:
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    @rule(which=st.sampled_from([0, 1]), overwrite=st.booleans())
    def written(self, which: int, *, overwrite: bool) -> None:
        free = not self.expected or (overwrite and self._replaceable())
        if not free:
            with pytest.raises(FileError):
                self.releases[which].write(self.out, overwrite=overwrite)
            return
        self.releases[which].write(self.out, overwrite=overwrite)
        assert is_release(self.out)
        self.expected = contents(self.out)
        self.named = set(self.expected)
        assert f'"seed": {which + 1}' in self.expected[RECORD.as_posix()].decode()

    @rule()
    def unproved_without_a_word(self) -> None:
        with pytest.raises(Refused):
            self.unproved.write(self.out, overwrite=True)

    @rule(cell=st.sampled_from([1.5, 99.0]))
    def changed_after_it_was_proved(self, cell: float) -> None:
        release = shoal.protect(FRAME.to_pandas(), PLAN, seed=4)
        release.data.loc[0, "b"] = cell + 1000
        with pytest.raises(DataError if self.expected is None or self._replaceable() else FileError):
            release.write(self.out, overwrite=True)

    @rule(name=st.sampled_from(["notes.txt", "private/pseudonym.key", "release/data.parquet"]))
    def meddled_with(self, name: str) -> None:
        if self.expected:
            (self.out / name).write_text("mine")
            self.expected = contents(self.out)

    @rule()
    def record_lost(self) -> None:
        if self.expected:
            (self.out / RECORD).unlink(missing_ok=True)
            self.expected = contents(self.out)

    @rule()
    def tidied(self) -> None:
        for name in ("notes.txt", "private/pseudonym.key", "release/data.parquet"):
            (self.out / name).unlink(missing_ok=True)
        self.expected = contents(self.out) if self.expected else None

    @rule()
    def taken_away(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.expected = None

    @rule()
    def killed_while_it_wrote(self) -> None:
        left = self.folder / f".out{UNFINISHED}killed"
        (left / "release").mkdir(parents=True, exist_ok=True)
        (left / "release" / "data.csv").write_text("a,b\n")

    def _replaceable(self) -> bool:
        """Whether there is a record, and nothing but what it names."""
        return self.expected is not None and RECORD.as_posix() in self.expected and set(self.expected) <= self.named

    @invariant()
    def it_holds_what_it_must(self) -> None:
        if hasattr(self, "out"):
            assert (contents(self.out) or None) == self.expected
            assert {path.name for path in self.folder.iterdir()} <= {"out", f".out{UNFINISHED}killed"}


TestPlace = Place.TestCase
TestPlace.settings = settings(max_examples=8, stateful_step_count=10, deadline=None, phases=[Phase.generate])


def test_threads_protect_at_once_as_one_after_the_other() -> None:
    plans = [
        {**PLAN, "steps": [{"partition": "mdav", "k": 3}]},
        {**PLAN, "steps": [{"mask": "noise", "columns": ["b"], "variance": 0.1}]},
        {**PLAN, "steps": [{"mask": "suppress", "k": 3}]},
    ] * 4
    alone = [shoal.protect(FRAME, plan, seed=number).data for number, plan in enumerate(plans)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: shoal.protect(FRAME, job[1], seed=job[0]).data, enumerate(plans)))
    assert all(one.equals(other) for one, other in zip(alone, together, strict=True))


PROGRAM = """
import sys
import polars as pl, shoal

seed, out, times = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
frame = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": [1.5, 2, 3, 4, 5, 6]})
columns = {"a": "quasi-identifier", "b": "confidential"}
release = shoal.protect(frame, {"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": 3}]}, seed=seed)
for _ in range(times):
    release.write(out, overwrite=True)
"""


def test_processes_that_write_to_one_place_leave_one_whole_release(tmp_path: Path) -> None:
    environment = {**environ, "PYTHONPATH": pathsep.join(sys.path)}
    commands = [[sys.executable, "-c", PROGRAM, str(seed), str(tmp_path / "out"), "3"] for seed in (1, 2)]
    running = [subprocess.Popen(c, stderr=subprocess.PIPE, text=True, env=environment) for c in commands]
    errors = [process.communicate()[1] for process in running]
    assert all(process.returncode == 0 or "FileError" in text for process, text in zip(running, errors, strict=True))
    assert any(process.returncode == 0 for process in running), errors
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    seeds = [seed for seed in (1, 2) if f'"seed": {seed},' in (tmp_path / "out" / RECORD).read_text()]
    alone = [sys.executable, "-c", PROGRAM, str(seeds[0]), str(tmp_path / "again"), "1"]
    subprocess.run(alone, env=environment, check=True)
    one, other = (contents(tmp_path / name) for name in ("out", "again"))
    assert {name: one[name] for name in one if name != RECORD.as_posix()} == {
        name: other[name] for name in other if name != RECORD.as_posix()
    }
