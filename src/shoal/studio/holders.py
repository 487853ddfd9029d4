"""The studio's two processes: one keeps the table and the releases, the other carries plans out.

A cancelled run ends its process and nothing is lost, since the table and all releases are with the keeper, which also
answers every question of the screens meanwhile.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import shoal
from shoal.desk.files_of_tables import tables_in_files
from shoal.desk.preparing import in_words, prepared, prepared_tables
from shoal.release.directory import check_free, check_writable
from shoal.release.evidence_file import private_evidence, public_evidence
from shoal.release.linked import LinkedRelease
from shoal.release.review import Approved, Review, approval_of
from shoal.report.page import page
from shoal.studio import linked, profile
from shoal.studio.arguments import Answer
from shoal.studio.databases import database_of, named
from shoal.studio.kept import Kept
from shoal.studio.plans import reading
from shoal.studio.showing import Showing
from shoal.studio.sides import Sides
from shoal.studio.worker import Report
from shoal.table.examples import example
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.linked_examples import example_tables
from shoal.vocabulary.errors import FileError, InputError, plural
from shoal.vocabulary.registry import load

MADE = "made by shoal"


class Keeper(Showing):
    """Keeps the table and the releases, and answers questions about them."""

    def __init__(self) -> None:
        super().__init__()
        self._exposure: profile.KeyExposure | None = None
        self._writing: Future[str] | None = None
        self._aside: dict[str, tuple[str, Table]] = {}
        self._as_read: dict[str, Table] = {}
        self._files: dict[str, str] = {}
        self._looked: str | tuple[list[bytes], str] | None = None

    def open(self, path: str | list[str], how: Mapping[str, Any], preparations: list[Answer], report: Report) -> Answer:
        """Read a file by its path, or several linked tables: those of a folder, or of files that are named."""
        report("reading the file", 0.0)
        if isinstance(path, str) and (database := database_of(path, how)) is not None:
            return self._hold(database.read(), named(database), report, preparations)
        if (several := _several(path, how)) is not None:
            return self._hold_linked(*several, report, preparations)
        one = Path(path if isinstance(path, str) else path[0]).expanduser()
        return self._hold(read_table(one, **how), one.name, report, preparations)

    def take_file(self, parcel: int, name: str, how: Mapping[str, Any], report: Report) -> Answer:
        """Read a file that was dropped on the page and came in pieces; its cells are never written to disk."""
        report("reading the file", 0.0)
        return self._hold(dropped(self._all_of(parcel), Path(name).name, how), Path(name).name, report)

    def look(self, how: Mapping[str, Any], path: str | list[str] | None, file: tuple[int, str] | None) -> Answer:
        """What a table would be, before it is opened: the file of a path, a database, or a file that was dropped.

        Of several linked tables, in a folder or in files that are named, see `linked.look`.

        Parameters
        ----------
        file
            Number of the parcel and name of a dropped file. Without it and `path` the last one is read again.
        """
        if path is not None and (several := _several(path, how)) is not None:
            return linked.look(*several)
        if isinstance(path, list):
            path = path[0]
        if file is not None:
            self._looked = (self._all_of(file[0]), Path(file[1]).name)
        elif path is not None:
            self._looked = path
        if self._looked is None:
            raise InputError("The file is not here any more. Choose it again.")
        source, table = self._read_looked(how)
        return {"source": source, **profile.look(table)}

    def _read_looked(self, how: Mapping[str, Any]) -> tuple[str, Table]:
        looked = self._looked
        if isinstance(looked, tuple):
            return looked[1], dropped(list(looked[0]), looked[1], how)
        if looked is None:
            raise InputError("The file is not here any more. Choose it again.")
        if (database := database_of(looked, how)) is not None:
            return named(database), database.read()
        path = Path(looked).expanduser()
        if path.is_dir():
            raise InputError("A folder is opened as a whole. Name a file to look at.")
        return path.name, read_table(path, **how)

    def look_aside(self) -> Answer:
        """What the files would be that were put aside: see `linked.look`."""
        return linked.look(*_described(self._aside))

    def open_looked(self, how: Mapping[str, Any], preparations: list[Answer], report: Report) -> Answer:
        """Open what was looked at."""
        report("reading the file", 0.0)
        source, table = self._read_looked(how)
        return self._hold(table, source, report, preparations)

    def put_aside(self, parcel: int, name: str, how: Mapping[str, Any], first: bool) -> None:
        """Read one of several files that were dropped together; `open_aside` opens them as linked tables."""
        aside = {} if first else self._aside
        of = Path(name).name.split(".")[0]
        if not of:
            raise FileError(f"File '{Path(name).name}' has no name before its ending, for a table. Give it one.")
        if of in aside:
            raise FileError(f"Two files are named for the table '{of}'. Leave one out, or give it another name.")
        self._aside = {**aside, of: (Path(name).name, dropped(self._all_of(parcel), Path(name).name, how))}

    def open_aside(self, preparations: list[Answer], report: Report) -> Answer:
        """Open the files that were put aside as linked tables."""
        return self._hold_linked(*_described(self._aside), report, preparations)

    def open_example(self, n: int, several: bool, report: Report) -> Answer:
        """Open the built-in example: an invented hospital, as one table or as several that are linked."""
        if several:
            tables = {name: Table(frame=frame, described=MADE) for name, frame in example_tables(n=n, seed=1).items()}
            return self._hold_linked(tables, "example of tables", {name: f"{name}.csv" for name in tables}, report)
        return self._hold(Table(frame=example("hospital", n=n, seed=1), described=MADE), "example", report)

    def _hold(self, as_read: Table, source: str, report: Report, preparations: Sequence[Answer] = ()) -> Answer:
        report("looking at the columns", 0.5)
        table, facts = _prepared(as_read, preparations, source)
        opened = {"facts": facts, "text": profile.draft(table, source)}
        self._work_on(table, as_read)
        self._hands.submit(load)  # which takes seconds, and is needed by the time that a result is looked at
        return opened

    def _work_on(self, table: Table, as_read: Table) -> None:
        self.close()
        self._tables, self._exposure, self._as_read = {"": table}, profile.KeyExposure(table.frame), {"": as_read}

    def prepare(self, preparations: list[Answer], source: str, report: Report) -> Answer:
        """Work on the table, or tables, as read after some preparations; the facts, and these in words."""
        report("preparing the table", 0.5)
        if not self._as_read:
            raise InputError("No table is open. Open one first.")
        if "" not in self._as_read:
            opened = self._hold_linked(self._as_read, source, self._files, report, preparations)
            facts: Answer = opened["facts"]
            return facts
        as_read = self._as_read[""]
        table, facts = _prepared(as_read, preparations, source)
        self._work_on(table, as_read)
        return facts

    def _hold_linked(
        self,
        as_read: dict[str, Table],
        source: str,
        files: dict[str, str],
        report: Report,
        preparations: Sequence[Answer] = (),
    ) -> Answer:
        report("looking for links", 0.5)
        tables = prepared_tables(as_read, preparations)
        opened = linked.facts_and_draft(tables, source, files, preparations)
        self.close()
        self._tables, self._linked, self._as_read, self._files = tables, linked.LinkedTables(tables), as_read, files
        self._hands.submit(load)
        return opened

    def close(self) -> None:
        """Forget the table and the releases."""
        self._tables, self._exposure, self._releases, self._counting, self._aside = {}, None, {}, {}, {}
        self._order, self._as_read, self._files, self._looked = Kept(), {}, {}, None
        self._risk_sides = Sides()
        self._identifiers, self._linked = {}, linked.LinkedTables({})

    def links(self, text: str, folder: str) -> Answer:
        """See `linked.LinkedTables.counted`."""
        plan = reading(text, Path(folder)).linked
        if plan is None or set(plan.keys) - set(self.tables):
            return {"refused": ""}
        return self._linked.counted(plan)

    def pack_table(self) -> None:
        """Pack the tables for the other process."""
        self._pack(self.tables)

    def exposure(self, levels: Mapping[str, str | None]) -> Answer | None:
        """See `profile.KeyExposure.of`; None while it is still being counted."""
        if (exposure := self._exposure) is None:
            raise InputError("No table is open. Open one first.")
        answer: Answer | None = self._later((exposure, *levels.items()), lambda: exposure.of(levels))
        return answer

    def keep(self, parcel: int, number: int, also: list[int]) -> None:
        """Keep a release that came in pieces; of the earlier ones keep those in `also`."""
        self._releases = {n: r for n, r in self._releases.items() if n in also}
        self._releases[number] = self._unpack(parcel)

    def review_text(self, run: int, by: str, private: bool) -> str:
        """A release as one file for a second person."""
        return shoal.review(self.release(run), by, private=private).text

    def approval(self, run: int, review: str) -> Approved:
        """The approval of a release, from the review that came back."""
        return approval_of(self.release(run), Review.of_text(review))

    def export(self, run: int, directory: str, overwrite: bool, review: str) -> None:
        """Start to write both folders of a release, proved again on the file; `exported` tells when that is done."""
        self._writing = self._hands.submit(self._write, run, directory, overwrite, review)

    def exported(self) -> str | None:
        """The directory as it was named; None while it is being written."""
        return None if self._writing is None or not self._writing.done() else self._writing.result()

    def _write(self, run: int, directory: str, overwrite: bool, review: str) -> str:
        target = Path(directory).expanduser()
        check_writable(target)
        check_free(target, overwrite=overwrite)
        approval = Review.of_text(review) if review else None
        release = self.release(run)
        labels = self.tables if isinstance(release, LinkedRelease) else self.table("")
        release.publisher(release, target, overwrite=overwrite, labels=labels, approval=approval)
        return directory

    def report_page(self, run: int, private: bool) -> str:
        """The report of a release as a page."""
        release = self.release(run)
        return page(private_evidence(release) if private else public_evidence(release, files={}))


def _prepared(as_read: Table, preparations: Sequence[Answer], source: str) -> tuple[Table, Answer]:
    """A table after preparations, and its facts with these in words."""
    words = [in_words(each) for each in preparations]
    table = replace(prepared(as_read, preparations), described="; ".join([as_read.described, *words]))
    return table, {**profile.facts(table, source), "prepared": list(preparations), "prepared in words": words}


Several = tuple[dict[str, Table], str, dict[str, str]]
"""Linked tables, what they are called together, and the name of each one's file."""


def _several(path: str | list[str], how: Mapping[str, Any]) -> Several | None:
    """Linked tables: those of a folder, or of files that are named; None for one table."""
    paths = [Path(one).expanduser() for one in ([path] if isinstance(path, str) else path)]
    files = tables_in_files(paths if len(paths) > 1 else paths[0])
    if not files:
        return None
    source = paths[0].resolve().name if len(paths) == 1 else plural(len(files), "linked table")
    return (
        {name: read_table(file, **how) for name, file in files.items()},
        source,
        {n: f.name for n, f in files.items()},
    )


def _described(aside: Mapping[str, tuple[str, Table]]) -> Several:
    """Linked tables that were dropped as files, by name. Raises FileError if they are parts of one table."""
    if len({tuple(table.frame.columns) for _, table in aside.values()}) < 2:
        raise FileError(
            "The files have the same columns, as parts of one table do. Put them into a folder of their own, and open "
            "that by its path."
        )
    tables = {name: table for name, (_, table) in sorted(aside.items())}
    return tables, plural(len(tables), "linked table"), {name: file for name, (file, _) in aside.items()}


def dropped(pieces: list[bytes], name: str, how: Mapping[str, Any]) -> Table:
    """The table in a file that was dropped on the page."""
    with as_file(pieces, name) as path:
        try:
            return read_table(path, **how)
        except FileError as error:  # the place is of no use to anyone
            raise FileError(str(error).replace(str(path), path.name)) from None


@contextmanager
def as_file(pieces: list[bytes], name: str) -> Any:
    """A path by which readers find some bytes: in memory if the system can, else in a folder of the owner only."""
    with TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder) / name
        if not hasattr(os, "memfd_create"):
            with path.open("wb") as file:
                file.writelines(pieces)
            yield path
            return
        memory = os.memfd_create("table")
        with os.fdopen(memory, "wb") as file:
            file.writelines(pieces)
            file.flush()
            pieces.clear()
            path.symlink_to(f"/proc/{os.getpid()}/fd/{memory}")
            yield path
