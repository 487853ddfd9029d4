"""Work that is saved by itself: the plan with its history, and what runs proved, in a folder of the user's own.

What a result says of cells (distributions, facts of steps and measures, riskiest rows) is left out; the table is read
again. Values that the plan names stand in its text. The folder and its files can be read by their owner only.
"""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.studio.arguments import Answer
from shoal.studio.session import Session, StudioRun, as_text, of_text
from shoal.table.files.atomic import atomic_file
from shoal.vocabulary.errors import InputError, ShoalError

EVERY = 0.5
"""Seconds between two looks at whether anything changed."""

MOST_RECENT = 12

NOT_SAVED = "The work is not saved by itself: its folder cannot be written. Save the plan with its history."

TOUR = "tour"
"""File in the folder that says that the tour was begun once."""

OF_CELLS = ("distribution", "facts", "riskiest", "values that cannot be", "by_column", "values", "parameters")
"""Parts of a result that say something of cells."""


def home() -> Path:
    """The folder for saved work."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "shoal" / "studio"


def key_of(facts: Mapping[str, Any]) -> str:
    """A name for the work on a table: the same for a file of the same place and columns."""
    names = [[column["name"] for column in of["columns"]] for of in (facts, *facts.get("tables", {}).values())]
    names = names if "tables" in facts else names[0]
    content = json.dumps([facts.get("path") or facts["source"], names])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def save(session: Session, folder: Path) -> None:
    """Write the work on the present table."""
    facts = session.facts
    content = {
        "shoal studio": 1,
        "source": facts["source"],
        "path": facts.get("path"),
        "reading": facts.get("reading", {}),
        "rows": facts["rows"],
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "history": as_text(session.history),
        "runs": [
            {
                "number": r.number,
                "text": r.text,
                "released": r.released,
                "result": without_cells(r.result),
                "prepared": r.prepared,
                "after": r.after,
            }
            for r in session.runs
        ],
        "frontier": session.frontier,
        "analyses": session.analyses,
        "after": session.after,
        "prepared": facts.get("prepared", []),
    }
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_file(folder / f"{key_of(facts)}.json", mode=0o600) as file:
        file.write_text(json.dumps(content, ensure_ascii=False, default=str), encoding="utf-8")


def without_cells(content: Any) -> Any:
    """A result without what it says of cells."""
    if isinstance(content, Mapping):
        return {key: _emptied(value) if key in OF_CELLS else without_cells(value) for key, value in content.items()}
    return [without_cells(one) for one in content] if isinstance(content, (list, tuple)) else content


def _emptied(value: Any) -> Any:
    return {} if isinstance(value, Mapping) else [] if isinstance(value, (list, tuple)) else None


@dataclass(frozen=True, kw_only=True)
class Work:
    """Saved work.

    Parameters
    ----------
    path
        The table's file, or the folder or files of several tables; None if they were dropped on the page.
    reading
        How the file was read.
    """

    key: str
    source: str
    path: str | list[str] | None
    reading: Mapping[str, Any]
    when: str
    content: Mapping[str, Any]

    @classmethod
    def of(cls, file: Path) -> "Work":
        """Raises InputError if the file holds no saved work."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            named = {key: content[key] for key in ("source", "path", "reading", "when")}
            if content["shoal studio"] != 1:
                raise KeyError("shoal studio")
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError("This work is not there any more, or cannot be read.") from None
        return cls(key=file.stem, content=content, **named)

    def restored(self, session: Session) -> Session:
        """The session with this work taken up."""
        try:
            history = of_text(self.content["history"])
            runs = tuple(_run(r) for r in self.content["runs"])
        except (KeyError, TypeError):
            raise InputError("This work is not there any more, or cannot be read.") from None
        session = session.after_releases(_folders(self.content.get("after", ())))
        return session.restored(history, runs, self.content.get("frontier"), self.content.get("analyses", ()))

    @property
    def described(self) -> Answer:
        """What the page shows of it."""
        edits = max(0, len(json.loads(self.content["history"])["points"]) - 1)
        return {
            "key": self.key,
            "source": self.source,
            "path": self.path,
            "when": self.when,
            "edits": edits,
            "runs": len(self.content["runs"]),
        }


def _folders(after: str | list[str]) -> tuple[str, ...]:
    """Folders of earlier releases; work that was saved when there could be one alone has its name or nothing."""
    return tuple([after] if isinstance(after, str) and after else after)


def _run(saved: Mapping[str, Any]) -> StudioRun:
    """A saved run, without its release."""
    own = {key: saved[key] for key in ("number", "text", "released", "result")}
    return StudioRun(**own, reopened=True, prepared=saved.get("prepared", ()), after=_folders(saved.get("after", ())))


def took_tour(folder: Path) -> bool:
    """True if the tour was begun once by this user."""
    return (folder / TOUR).exists()


def note_tour(folder: Path) -> None:
    """Note that the tour was begun."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / TOUR).touch(mode=0o600)


def recent(folder: Path) -> list[Answer]:
    """Saved work, the latest first."""
    works = []
    for file in folder.glob("*.json") if folder.is_dir() else ():
        try:
            works.append(Work.of(file).described)
        except InputError:
            continue  # of another version
    return sorted(works, key=lambda work: work["when"], reverse=True)[:MOST_RECENT]


def earlier(facts: Mapping[str, Any], folder: Path) -> Answer | None:
    """The saved work on a table, if there is any."""
    try:
        return Work.of(folder / f"{key_of(facts)}.json").described
    except InputError:
        return None


async def saving(session: Callable[[], Session], folder: Path, failed: Callable[[str], None]) -> None:
    """Save whatever changes, until cancelled; a failure is told and does not stop the work."""
    last: Any = None
    while True:
        await asyncio.sleep(EVERY)
        now = session()
        prepared = now.facts.get("prepared")
        content = (now.source, now.history, now.runs, now.frontier, now.analyses, prepared)
        if now.source is None or content == last or (len(now.history.points) == 1 and not now.runs and not prepared):
            continue
        last = content
        try:
            await asyncio.to_thread(save, now, folder)
            failed("")
        except (OSError, ShoalError):
            failed(NOT_SAVED)
