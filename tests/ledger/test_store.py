"""The ledger's file: it only grows, names every damage, survives killed and simultaneous writers, reveals nothing."""

import os
import signal
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from command_line import Run
from shoal.ledger.entry import LedgerEntry, numbers_of
from shoal.ledger.store import Ledger, new_secret
from shoal.vocabulary.errors import FileError

ABOUT = {
    "audience": None,
    "collude": [],
    "quasi-identifiers": ["age"],
    "records": 6,
    "epsilon": [],
    "m": 2,
    "sha256": {},
}


MOMENTS = int(os.environ.get("SHOAL_KILLED_AT", "15"))
"""Moments at which a writer is killed, on an empty ledger and on one with a release."""

LINES = 240
"""Lines of the store that entering a release runs."""


def an_entry(secret: bytes, persons: int = 6) -> LedgerEntry:
    numbers = np.unique(numbers_of([f"person-{n}" for n in range(persons)], secret))
    groups = np.arange(persons) % 2
    two = np.array([3, 3])
    return LedgerEntry(
        about=ABOUT,
        persons=numbers,
        groups=groups,
        patterns=np.array([[0], [1]], dtype=np.uint8),
        signatures={"pay": np.array([5, 6], dtype=np.uint64)},
        distinct={"pay": two},
    )


@pytest.fixture
def kept(tmp_path: Path) -> Ledger:
    """A ledger of two releases."""
    ledger, secret = Ledger(tmp_path / "registry.ledger"), new_secret()
    for _ in range(2):
        ledger.append(an_entry(secret), secret, lambda: None)
    return ledger


def test_what_is_entered_is_read_again(kept: Ledger) -> None:
    entry, read = an_entry(kept.secret), kept.entry(2)
    assert [row.number for row in kept.counted()] == [1, 2]
    assert read.persons.tolist() == entry.persons.tolist()
    assert (read.groups.tolist(), read.patterns.tolist()) == (entry.groups.tolist(), entry.patterns.tolist())
    assert (read.signatures["pay"].tolist(), read.distinct["pay"].tolist()) == ([5, 6], [3, 3])
    assert read.cells == {"age": {"blank": 3, "recoded": 0}}
    assert kept.faults() == []


def test_only_the_owner_may_read_any_of_its_files(kept: Ledger) -> None:
    paths = sorted(kept.path.parent.iterdir())
    assert [path.name for path in paths] == ["registry.ledger", "registry.ledger.head", "registry.ledger.key"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


def test_a_withdrawn_release_counts_no_longer_and_stays(kept: Ledger, run: Run) -> None:
    status, out, _ = run("ledger", "withdraw", kept.path, 1, "--because", "never sent")
    assert (status, "Release 1 is withdrawn; row 3 says so." in out) == (0, True)
    assert [row.number for row in kept.counted()] == [2]
    assert [row.kind for row in kept.rows()] == ["release", "release", "withdrawal"]
    status, _, error = run("ledger", "withdraw", kept.path, 1, "--because", "again")
    assert (status, "has no release 1 that could be withdrawn" in error) == (2, True)
    status, out, _ = run("ledger", "show", kept.path)
    assert (status, "never sent" in out, "age 3" in out) == (0, True, True)


def test_a_ledger_takes_over_what_another_has(kept: Ledger, tmp_path: Path) -> None:
    """Releases keep their time, withdrawals name the new numbers, and nothing is entered twice."""
    one, two = (kept.copy_to(tmp_path / name) for name in ("one", "two"))
    for ledger, title in ((one, "of one"), (two, "of two")):
        ledger.append(replace(an_entry(kept.secret), about={**ABOUT, "title": title}), kept.secret, lambda: None)
    two.append(replace(an_entry(kept.secret), about={**ABOUT, "title": "gone"}), kept.secret, lambda: None)
    two.withdraw(4, "never sent")
    for _ in range(2):
        one.take_over(two)
        titles = [row.about.get("title") for row in one.rows() if row.kind == "release"]
        assert titles == [None, None, "of one", "of two", "gone"]
        assert [row.number for row in one.counted()] == [1, 2, 3, 4]
    assert one.rows()[3].about == two.rows()[2].about
    assert one.faults() == two.faults() == []


def test_rows_are_neither_changed_nor_removed(kept: Ledger) -> None:
    connection = sqlite3.connect(kept.path)
    for statement in ("UPDATE rows SET kind = 'x'", "DELETE FROM rows"):
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            connection.execute(statement)
    connection.close()


def test_any_changed_byte_is_named(kept: Ledger, run: Run) -> None:
    """Every 97th byte of the file, and all of the first hundred, where SQLite keeps its own."""
    whole = kept.path.read_bytes()
    for place in [*range(0, 100, 7), *range(100, len(whole), 97)]:
        kept.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert kept.faults() != [], place
    assert run("ledger", "verify", kept.path)[0] == 3
    with pytest.raises(FileError, match=r"is damaged\. .*nothing is released by a damaged ledger"):
        kept.append(an_entry(kept.secret), kept.secret, lambda: None)
    kept.path.write_bytes(whole)
    assert run("ledger", "verify", kept.path)[0] == 0


def test_a_changed_row_a_removed_end_and_a_missing_file_are_named(kept: Ledger) -> None:
    whole = kept.path.read_bytes()
    connection = sqlite3.connect(kept.path)
    connection.executescript("DROP TRIGGER kept; DROP TRIGGER unchanged; DELETE FROM rows WHERE number = 2;")
    connection.close()
    assert kept.faults() == ["It ends with row 1; the head names row 2."]
    connection = sqlite3.connect(kept.path)
    connection.execute("UPDATE rows SET about = replace(about, '6', '7')")
    connection.commit()
    connection.close()
    assert kept.faults() == ["Row 1 is not as it was written, or does not follow row 0.", *kept.faults()[1:]]
    kept.path.unlink()
    assert kept.faults() == ["It ends with row 0; the head names row 2."]
    kept.path.write_bytes(whole)
    key = kept.path.with_name("registry.ledger.key")
    secret = key.read_bytes()
    key.write_bytes(bytes(32))
    assert len(kept.faults()) == 1
    key.unlink()
    assert "key" in kept.faults()[0]
    key.write_bytes(secret)
    assert kept.faults() == []


def test_a_stolen_ledger_tells_no_value_and_no_member_without_its_key(kept: Ledger) -> None:
    whole = kept.path.read_bytes()
    assert all(f"person-{n}".encode() not in whole for n in range(6))
    assert kept.secret not in whole
    assert kept.secret.hex().encode() not in whole
    unkeyed = [numbers_of([f"person-{n}" for n in range(6)], key) for key in (b"", bytes(32), new_secret())]
    assert all(int(number).to_bytes(8, "little") not in whole for numbers in unkeyed for number in numbers)
    assert all(int(number).to_bytes(8, "little") in whole for number in an_entry(kept.secret).persons)


pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def forked(work: Callable[[], None]) -> int:
    """The process that does some work and ends, without the test's own ending."""
    if process := os.fork():
        return process
    with suppress(BaseException):
        work()
        os._exit(0)
    os._exit(1)


def enter(path: Path, times: int) -> None:
    for _ in range(times):
        secret = Ledger(path).secret
        Ledger(path).append(an_entry(secret), secret, lambda: None)


def enter_and_die(path: Path, moment: int) -> None:
    """Enter a release, and be killed by the system at the given line of the store that is run."""
    left = moment

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if Path(frame.f_code.co_filename).name not in ("store.py", "atomic.py"):
            return None
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    sys.settrace(line)
    enter(path, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_writers_at_once_lose_no_row(kept: Ledger) -> None:
    writers = [forked(lambda: enter(kept.path, 6)) for _ in range(2)]
    assert [os.waitpid(process, 0)[1] for process in writers] == [0, 0]
    assert (len(kept.rows()), kept.faults()) == (14, [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize("begun", [False, True])
def test_a_writer_killed_at_any_moment_leaves_the_old_ledger_or_the_new_one(tmp_path: Path, begun: bool) -> None:
    """At lines that an entry runs, from before the ledger's first byte on; the next writer goes on."""
    ends, counts = set(), set()
    for moment in range(1, 2 * LINES, LINES // MOMENTS):
        path = tmp_path / f"{moment}.ledger"
        if begun:
            enter(path, 1)
        ends.add(os.waitpid(forked(lambda at=moment, to=path: enter_and_die(to, at)), 0)[1])
        assert Ledger(path).faults() == []
        counts.add(len(Ledger(path).rows()) - begun)
        enter(path, 1)
        assert Ledger(path).faults() == []
        if 0 in ends:
            break  # it was done before
    assert ends == {signal.SIGKILL, 0}
    assert counts == {0, 1}
