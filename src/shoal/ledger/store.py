"""Store: the ledger's file, an SQLite database that only its owner may read and that only grows.

Each row is linked to the one before it by a keyed hash of all that it holds, so that a changed, removed or inserted
row is named. Beside the file lie its key (`.key`) and its head (`.head`): the number of the last row, its link and the
hash of the whole file, by which any changed byte and a removed end are seen. Whoever puts an older state of all three
files back is not noticed; a copy of the head elsewhere shows it.

A row is written in one transaction under a lock (on the key's file, for closing the database's would drop SQLite's own)
that is taken before the last judgement, so that two writers never release beside one another unjudged. The head is
replaced after the row: a process that is killed in between leaves a head that lags behind, which the next writer mends.

What a release tells cannot be taken back, so nothing is ever removed. A release is withdrawn by a further row, when
nobody holds it (it never left, or every copy was destroyed); from then on it no longer counts.
"""

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from shoal.ledger.entry import LedgerEntry
from shoal.table.files.atomic import atomic_file, locked
from shoal.table.files.checksums import sha256_of
from shoal.vocabulary.errors import FileError

WAIT = 600.0
"""Seconds that a writer waits for another one."""

KEY_BYTES = 32

TABLE = """CREATE TABLE rows (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, about TEXT NOT NULL, persons BLOB NOT NULL, groups BLOB NOT NULL,
    patterns BLOB NOT NULL, signatures BLOB NOT NULL, link BLOB NOT NULL
);"""

TRIGGERS = """
CREATE TRIGGER unchanged BEFORE UPDATE ON rows BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END;
CREATE TRIGGER kept BEFORE DELETE ON rows BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END;
"""

SELECTED = "SELECT number, kind, about, persons, groups, patterns, signatures FROM rows WHERE number = ?"
ALL = "SELECT number, kind, about, persons, groups, patterns, signatures, link FROM rows ORDER BY number"
ADDED = "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

BEGINNING = bytes(32)
"""The link before the first row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A row of the ledger without what it holds of persons.

    Parameters
    ----------
    kind
        `release`, or `withdrawal` of one.
    about
        Its account, with the time (`made`) and, for a withdrawal, the number of the release and the reason.
    persons
        Number of persons in the release.
    """

    number: int
    kind: str
    about: Mapping[str, Any]
    persons: int


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Ledger:
    """A ledger in a file.

    Parameters
    ----------
    path
        The file.
    """

    path: Path

    @property
    def secret(self) -> bytes:
        """The key of all hashes in the ledger; a new one, kept nowhere yet, where there is no ledger."""
        path = self._beside("key")
        if not path.exists():
            if self.path.exists():
                raise FileError(f"The key of the ledger '{self.path}' is missing: '{path}'. Put it back from a copy.")
            return new_secret()
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise FileError(f"The key of the ledger, '{path}', is damaged. Put it back from a copy.")
        return key

    def rows(self) -> list[LedgerRow]:
        """All rows, earliest first; none if the ledger does not exist."""
        with self._reading() as connection:
            rows = connection.execute("SELECT number, kind, about, length(persons) / 8 FROM rows ORDER BY number")
            return [LedgerRow(number=n, kind=k, about=json.loads(a), persons=p) for n, k, a, p in rows]

    def counted(self) -> list[LedgerRow]:
        """The releases that were not withdrawn."""
        rows = self.rows()
        withdrawn = {row.about["number"] for row in rows if row.kind == "withdrawal"}
        return [row for row in rows if row.kind == "release" and row.number not in withdrawn]

    def entry(self, number: int) -> LedgerEntry:
        """The entry of a release."""
        with self._reading() as connection:
            return _entry(connection.execute(SELECTED, (number,)).fetchone())

    def faults(self) -> list[str]:
        """All that is wrong with the ledger's file, in sentences; empty for one as it was written."""
        if not self._beside("key").exists() and not self.path.exists():
            return [f"The head of the ledger '{self.path}' is there, and its file is missing."] * self._head_exists
        if not self._beside("key").exists():
            return [f"Its key '{self._beside('key')}' is missing."]
        with locked(self._beside("key")):
            return self._faults_seen()

    def _faults_seen(self) -> list[str]:
        try:
            return list(self._faults())
        except (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError, OverflowError) as error:
            return [f"The file cannot be read as a ledger ({type(error).__name__})."]

    def check(self) -> None:
        """Refuse a ledger that is not as it was written."""
        self._refuse(self.faults())

    def _refuse(self, faults: list[str]) -> None:
        if faults:
            raise FileError(
                f"The ledger '{self.path}' is damaged. {' '.join(faults)} Put it back from a copy, and enter what was "
                f"released since; nothing is released by a damaged ledger."
            )

    def append(self, entry: LedgerEntry, secret: bytes, judged_again: Callable[[], None]) -> int:
        """Add a release; the number of its row.

        `secret`: the key of the entry's hashes; `judged_again`: called once no other writer can add a row, to raise
        what keeps the release from being added.
        """
        blobs = (
            entry.persons.astype("<u8").tobytes(),
            entry.groups.astype("<i4").tobytes(),
            entry.patterns.tobytes(),
            _packed(entry),
        )
        return self._append("release", {**entry.about, "classes": len(entry.patterns)}, blobs, secret, judged_again)

    def withdraw(self, number: int, because: str) -> int:
        """Note that nobody holds a release any more; the number of the new row.

        Raises FileError if there is no such release, or it was withdrawn.
        """

        def judged_again() -> None:
            if number not in [row.number for row in self.counted()]:
                raise FileError(f"The ledger has no release {number} that could be withdrawn. See: shoal ledger show.")

        return self._append("withdrawal", {"number": number, "because": because}, (b"",) * 4, self.secret, judged_again)

    def copy_to(self, path: Path) -> "Ledger":
        """The same ledger in another place."""
        self.check()
        if not self.path.exists():
            raise FileError(
                f"There is no ledger '{self.path}' of earlier releases. Name the folder of one with a ledger."
            )
        for ending in ("", ".key", *[".head"] * self._head_exists):  # its writer may have been killed before the head
            shutil.copyfile(f"{self.path}{ending}", f"{path}{ending}")
            Path(f"{path}{ending}").chmod(0o600)
        return Ledger(path)

    def take_over(self, other: "Ledger") -> None:
        """Enter what another ledger with the same key has and this one lacks: releases with their time, withdrawals.

        Raises FileError if the keys differ, so that no person would be recognised.
        """
        if other.secret != self.secret:
            raise FileError(
                f"The ledger '{other.path}' and those named before it were begun apart, so that nobody can be "
                f"recognised between them. Keep one ledger in a file (--ledger) from now on."
            )
        own = {_text(row.about): row.number for row in self.rows()}
        numbers: dict[int, int] = {}
        for row in other.rows():
            if row.kind == "withdrawal":
                if (number := numbers[row.about["number"]]) in [counted.number for counted in self.counted()]:
                    self.withdraw(number, row.about["because"])
                continue
            present = own.get(_text(row.about))
            numbers[row.number] = present or self.append(other.entry(row.number), self.secret, lambda: None)

    def _append(
        self,
        kind: str,
        about: Mapping[str, Any],
        blobs: tuple[bytes, ...],
        secret: bytes,
        judged_again: Callable[[], None],
    ) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._keep_key(secret)
        if secret != self.secret:
            raise FileError(f"The ledger '{self.path}' was begun by another run meanwhile. Run this one again.")
        with locked(self._beside("key")), self._writing() as connection:
            self._refuse(self._faults_seen())
            judged_again()
            last = connection.execute("SELECT number, link FROM rows ORDER BY number DESC LIMIT 1").fetchone()
            number, before = last or (0, BEGINNING)
            text = _text({"made": datetime.now(UTC).isoformat(timespec="seconds"), **about})
            row = (number + 1, kind, text, *blobs)
            connection.execute(ADDED, (*row, _link(before, row, secret)))
            connection.execute("COMMIT")
            self._write_head(connection)
        return int(number) + 1

    def _faults(self) -> Iterator[str]:
        head = self._head()
        with self._reading() as connection:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                yield "The database is damaged."
                return
            link, number = BEGINNING, 0
            for *row, own in connection.execute(ALL):
                link, number = _link(link, tuple(row), self.secret), number + 1
                if link != own or row[0] != number:
                    yield f"Row {row[0]} is not as it was written, or does not follow row {number - 1}."
                    return
                if number == head["number"] and link.hex() != head["link"]:
                    yield f"Row {number} is not the one that the head '{self._beside('head')}' names."
        if number < head["number"]:
            yield f"It ends with row {number}; the head names row {head['number']}."
        elif number and number == head["number"] and head["sha256"] != sha256_of(self.path):
            yield "Bytes of the file that belong to no row were changed."

    @property
    def _head_exists(self) -> bool:
        return self._beside("head").exists()

    def _head(self) -> dict[str, Any]:
        if not self._head_exists:
            return {"number": 0, "link": "", "sha256": ""}
        try:
            head = json.loads(self._beside("head").read_text(encoding="utf-8"))
            return {"number": int(head["number"]), "link": str(head["link"]), "sha256": str(head["sha256"])}
        except (ValueError, KeyError, TypeError):
            raise FileError(f"The head of the ledger, '{self._beside('head')}', is damaged.") from None

    def _keep_key(self, secret: bytes) -> None:
        """Keep the key, unless there is one: whole or not at all, though a process is killed."""
        with locked(self.path.parent):
            if not self._beside("key").exists():
                with atomic_file(self._beside("key"), 0o600) as temporary:
                    temporary.write_bytes(secret)

    def _write_head(self, connection: sqlite3.Connection) -> None:
        number, link = connection.execute("SELECT number, link FROM rows ORDER BY number DESC LIMIT 1").fetchone()
        content = {"number": number, "link": link.hex(), "sha256": sha256_of(self.path)}
        with atomic_file(self._beside("head"), 0o600) as temporary:
            temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection; to an empty database where the ledger does not exist."""
        place = str(self.path) if self.path.exists() else ":memory:"
        with closing(sqlite3.connect(place, timeout=WAIT, isolation_level=None)) as connection:
            if not _begun(connection):
                connection.execute("ATTACH ':memory:' AS none_yet")
                connection.execute(TABLE.replace("rows", "none_yet.rows"))
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A connection on which a transaction was begun; what is not committed is not kept."""
        if not self.path.exists():
            _new_file(self.path)
        with closing(sqlite3.connect(str(self.path), timeout=WAIT, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            if not _begun(connection):
                connection.executescript(f"BEGIN; {TABLE} {TRIGGERS} COMMIT;")
            connection.execute("BEGIN IMMEDIATE")
            yield connection


def new_secret() -> bytes:
    """A new key of a ledger's hashes."""
    return secrets.token_bytes(KEY_BYTES)


def _text(about: Mapping[str, Any]) -> str:
    return json.dumps(about, sort_keys=True)


def _begun(connection: sqlite3.Connection) -> bool:
    """True if the database has its table: a process may have been killed before it was made."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _new_file(path: Path) -> None:
    """Make an empty file that only its owner may read, unless another process has just made it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise FileError(f"The ledger '{path}' cannot be written ({error.strerror}). Choose another place.") from None


def _link(before: bytes, row: tuple[Any, ...], secret: bytes) -> bytes:
    """The keyed hash of a row and the link before it, each field with its length."""
    link = hashlib.blake2b(before, key=secret, digest_size=32)
    for field in row:
        content = field if isinstance(field, bytes) else str(field).encode()
        link.update(len(content).to_bytes(8, "little"))
        link.update(content)
    return link.digest()


def _packed(entry: LedgerEntry) -> bytes:
    names = list(entry.signatures)
    arrays = [part for n in names for part in (entry.signatures[n].astype("<u8"), entry.distinct[n].astype("<u8"))]
    return b"".join([json.dumps(names).encode(), b"\n", *(array.tobytes() for array in arrays)])


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    _, _, about, persons, groups, patterns, packed = row
    described = json.loads(about)
    count, names = described["classes"], described["quasi-identifiers"]
    head, _, rest = packed.partition(b"\n")
    columns = json.loads(head)
    arrays = np.frombuffer(rest, dtype="<u8").reshape(2 * len(columns), count)
    return LedgerEntry(
        about=described,
        persons=np.frombuffer(persons, dtype="<u8").astype(np.uint64),
        groups=np.frombuffer(groups, dtype="<i4").astype(np.int64),
        patterns=np.frombuffer(patterns, dtype=np.uint8).reshape(count, len(names)),
        signatures={name: arrays[2 * place] for place, name in enumerate(columns)},
        distinct={name: arrays[2 * place + 1].astype(np.int64) for place, name in enumerate(columns)},
    )
