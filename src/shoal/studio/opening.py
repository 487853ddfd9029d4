"""Tables are opened and closed, and work that was saved by itself is taken up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any

from shoal.desk.preparing import TAKEN_AS
from shoal.release.review import Review
from shoal.studio.parcels import bring
from shoal.studio.saved import NOT_SAVED, Work, earlier, home, key_of, note_tour, recent, saving
from shoal.studio.working import Working
from shoal.table.files.database import is_address
from shoal.vocabulary.errors import InputError

Content = AsyncIterator[bytes] | None
"""Pieces of a file that was dropped."""

TakenAs = dict[str, dict[str, dict[str, Any]]]
"""By table and column, the type and the codes for missing with which it is read."""

EXAMPLE_ROWS, EXAMPLE_PERSONS = 1000, 300
"""Sizes of the examples of one table and of several."""


class Opening(Working):
    """A session that can open tables; what is done on them is saved."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path()
        self.saved = home()
        self.saving: asyncio.Task[None] | None = None
        self.unsaved = ""
        self.looked_at: str | None = None

    def stop(self) -> None:
        if self.saving is not None:
            self.saving.cancel()
        super().stop()

    async def do_open(
        self, path: str | list[str], how: Mapping[str, Any] | None = None, columns: TakenAs | None = None
    ) -> None:
        """Open a file, or several linked tables: those of a folder, or files that are named.

        `columns`: by table, columns that are taken as other types, and codes in them as missing.
        """
        if path == []:
            raise InputError("No file is named. Name one, or several linked tables.")
        if isinstance(path, str) and Path(path).suffix.lower() == ".json":  # no format of tables
            read = await asyncio.to_thread(Review.read, Path(path).expanduser())
            self.session = self.session.reviewed(read)
            return
        given = {"path": path, "how": _reading(how), "preparations": _taken_as(columns)}
        self._begin("open", "reading the file", self._opened("open", _folder_of(path), **given))

    async def look(
        self,
        how: Mapping[str, Any] | None = None,
        path: str | list[str] | None = None,
        name: str = "",
        content: Content = None,
        aside: bool = False,
    ) -> Any:
        """What a table would be: of a path, of a dropped file, or of the last one read otherwise.

        Or what several would be, of a folder, of paths, or (`aside`) of the files that were dropped together.
        """
        if self.session.source is not None or self.session.job is not None:
            raise InputError("A table is open here, or being read. Close it first.")
        if not self.keeper.alive:
            self.keeper.restart()
        if aside:
            return await self.question("look_aside")
        if path == []:
            raise InputError("No file is named. Name one, or several linked tables.")
        if path is not None or content is not None:
            self.looked_at = path if isinstance(path, str) else None
        file = None if content is None else (await bring(self.keeper, content), name)
        return await self.question("look", how=_reading(how), path=path, file=file)

    async def do_open_looked(self, how: Mapping[str, Any], columns: dict[str, dict[str, Any]]) -> None:
        """Open what was looked at, with some columns taken as other types and codes in them as missing."""
        preparations = [{TAKEN_AS: columns}] if columns else []
        folder = Path() if self.looked_at is None else _folder_of(self.looked_at)
        opened = self._opened("open_looked", folder, path=self.looked_at, how=_reading(how), preparations=preparations)
        self._begin("open", "reading the file", opened)

    async def do_example(self, several: bool = False) -> None:
        n = EXAMPLE_PERSONS if several else EXAMPLE_ROWS
        self._begin("open", "making the example", self._opened("open_example", Path(), n=n, several=several))

    async def do_tour(self) -> None:
        """Note that the tour was begun, so that it is not shown again unless it is asked for."""
        try:
            await asyncio.to_thread(note_tour, self.saved)
        except OSError:
            self._not_saved(NOT_SAVED)
        self.session = self.session.moved_on()

    async def take_part(self, name: str, content: AsyncIterator[bytes], how: Mapping[str, Any], *, first: bool) -> None:
        """Take one of several files that were dropped together; `do_open_aside` opens them."""
        if self.session.job is not None:
            raise InputError("Something is under way already. Wait for it, or cancel it.")
        if not self.keeper.alive:
            self.keeper.restart()
        parcel = await bring(self.keeper, content)
        await self.question("put_aside", parcel=parcel, name=name, how=_reading(how), first=first)

    async def do_open_aside(self, columns: TakenAs | None = None) -> None:
        """Open the files that were dropped together as linked tables; `columns` as in `do_open`."""
        opened = self._opened("open_aside", Path(), preparations=_taken_as(columns))
        self._begin("open", "looking for links", opened)

    async def take_file(self, name: str, content: AsyncIterator[bytes], how: Mapping[str, Any]) -> None:
        """Open a file that was dropped on the page; its pieces go to the keeper as they arrive."""
        if not self.keeper.alive:
            self.keeper.restart()
        parcel = await bring(self.keeper, content)
        opened = self._opened("take_file", Path(), parcel=parcel, name=name, how=_reading(how))
        self._begin("open", "reading the file", opened)

    async def do_take_up(self) -> None:
        """Take up what was saved by itself of the present table."""
        if self.session.source is None:
            raise InputError("No table is open. Open one first.")
        work = await asyncio.to_thread(Work.of, self.saved / f"{key_of(self.session.facts)}.json")
        self.session = work.restored(self.session)

    async def do_reopen(self, key: str) -> None:
        """Open the table of saved work again, and take the work up."""
        work = next((one for one in await asyncio.to_thread(recent, self.saved) if one["key"] == key), None)
        if work is None or work["path"] is None:
            raise InputError("The place of this table is not known. Drop its file here, and take the work up then.")
        whole = await asyncio.to_thread(Work.of, self.saved / f"{key}.json")
        given = {"path": work["path"], "how": dict(whole.reading), "preparations": []}
        opened = self._opened("open", _folder_of(work["path"]), **given)
        self._begin("open", "reading the file", self._then_take_up(opened))

    async def _then_take_up(self, opened: Awaitable[None]) -> None:
        await opened
        work = await asyncio.to_thread(Work.of, self.saved / f"{key_of(self.session.facts)}.json")
        if preparations := work.content.get("prepared"):
            await self._prepared(preparations)
        await self.do_take_up()

    async def do_forget(self, key: str) -> None:
        """Delete saved work."""
        if any(work["key"] == key for work in await asyncio.to_thread(recent, self.saved)):
            (self.saved / f"{key}.json").unlink(missing_ok=True)

    async def do_prepare(self, preparations: list[dict[str, Any]]) -> None:
        """Work on the table as it was read after these preparations; none of them gives all of it back."""
        if self.session.source is None:
            raise InputError("No table is open. Open one first.")
        placed = [
            {**each, "file": str(self.folder / Path(each["file"]).expanduser())}
            if isinstance(each.get("file"), str)
            else each
            for each in preparations
        ]
        self._begin("open", "preparing the table", self._prepared(placed))

    async def _prepared(self, preparations: list[dict[str, Any]]) -> None:
        source, old = str(self.session.source), self.session.facts
        facts = await self.keeper.ask("prepare", report=self._report(), preparations=preparations, source=source)
        await self._hand_over()
        kept = {key: old[key] for key in ("reading", "path", "earlier") if key in old}
        self.session = self.session.prepared({**facts, **kept})

    async def do_close(self) -> None:
        """Forget the table and all its results."""
        if self.session.job is not None:
            raise InputError("Something is under way. Wait for it, or cancel it.")
        for process in (self.keeper, self.runner):
            if process.alive:
                await process.ask("close")
        self.session = self.session.closed()

    async def _opened(self, what: str, folder: Path, **given: Any) -> None:
        if not self.keeper.alive:
            self.keeper.restart()
        path = given.get("path")
        asked = {key: value for key, value in given.items() if key != "path" or what == "open"}
        opened = await self.keeper.ask(what, report=self._report(), **asked)
        await self._hand_over()
        self.folder = folder.expanduser()
        path = None if path is None else _whole(path)
        facts = {**opened["facts"], "reading": given.get("how", {}), "path": path}
        facts["earlier"] = await asyncio.to_thread(earlier, facts, self.saved)
        self.session = self.session.opened(facts["source"], facts, opened["text"])
        if self.saving is None:
            self.saving = asyncio.create_task(saving(lambda: self.session, self.saved, self._not_saved))

    def _not_saved(self, sentence: str) -> None:
        if sentence != self.unsaved:
            self.unsaved = sentence
            self.session = self.session.moved_on()


def _reading(how: Mapping[str, Any] | None) -> dict[str, str]:
    """The options for reading a file that are set."""
    return {
        key: str(how[key]) for key in ("delimiter", "decimal", "encoding", "sheet", "query") if how and how.get(key)
    }


def _taken_as(columns: TakenAs | None) -> list[dict[str, Any]]:
    """A preparation for each table of which columns are read otherwise."""
    return [{"table": name, TAKEN_AS: own} for name, own in (columns or {}).items() if own]


def _folder_of(path: str | list[str]) -> Path:
    """The folder in which files that a plan names are looked up."""
    if isinstance(path, str) and is_address(path):
        return Path()
    first = Path(path if isinstance(path, str) else path[0]).expanduser()
    return first if first.is_dir() else first.parent


def _whole(path: str | list[str]) -> str | list[str]:
    """Whole paths; an address of a database as it is."""
    if isinstance(path, str):
        return path if is_address(path) else str(Path(path).expanduser().resolve())
    return [str(Path(one).expanduser().resolve()) for one in path]
