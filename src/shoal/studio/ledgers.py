"""The ledger of all releases in the studio: chosen by its address, looked at, and what is withdrawn from it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.desk.keeping import ledger_of
from shoal.ledger.accounts import accounts_of
from shoal.ledger.pending import IN_PRIVATE
from shoal.ledger.store import Ledger
from shoal.plan.sections import LedgerRules
from shoal.studio.arguments import Answer
from shoal.studio.linked import for_open_tables
from shoal.studio.opening import Opening
from shoal.studio.plans import ReadPlan, put, reading
from shoal.vocabulary.errors import FileError, InputError


class Ledgers(Opening):
    """A session whose runs are kept beside earlier releases, if the plan says so."""

    def __init__(self) -> None:
        super().__init__()
        self._read: tuple[Any, ReadPlan] = (None, ReadPlan(tree={}))

    @property
    def plan(self) -> ReadPlan:
        """The plan of the present text."""
        text, tables = self.session.history.text, list(self.session.facts.get("tables", ()))
        if self._read[0] != (text, tables):
            self._read = ((text, tables), for_open_tables(reading(text, self.folder), tables))
        return self._read[1]

    async def do_keep(self, address: str, key: str | None = None) -> None:
        """Keep a ledger: those of earlier releases, by their folders, or one in a file; without an address a new one.

        `address`: one line a folder. `key`: the column that says whose a record is; of several tables it is the key of
        persons.
        """
        if self.session.source is None:
            raise InputError("No table is open. Open one first.")
        lines = [line.strip() for line in address.splitlines() if line.strip()]
        each = [await asyncio.to_thread(_of_address, line, self.folder) for line in lines]
        after, file = [folder for folder, _ in each if folder], next((file for _, file in each if file), None)
        if file is not None and len(each) > 1:
            raise InputError(
                "A ledger in a file has all earlier releases in it. Name the file alone, or folders alone."
            )
        before = self.plan.tree.get("ledger")
        section: Answer = {**before} if isinstance(before, Mapping) else {}
        section.pop("file", None)
        section |= {} if key is None else {"key": key}
        section |= {} if file is None else {"file": file}
        text = put(self.session.history.text, ["ledger"], section)
        self.session = self.session.after_releases(after).edited(text, "keep a ledger")

    async def do_keep_none(self) -> None:
        """Keep no ledger."""
        text = put(self.session.history.text, ["ledger"], None)
        self.session = self.session.after_releases(()).edited(text, "keep no ledger")

    async def do_withdraw(self, number: int, because: str) -> None:
        """Note in the ledger that nobody holds a release."""
        if len(self.session.after) > 1:
            raise InputError("Several earlier releases are named. Name the one alone in whose ledger this one stands.")
        ledger = self._ledger
        if ledger is None or not because.strip():
            raise InputError("A release is withdrawn from a ledger for a reason. Say why nobody holds it.")
        await asyncio.to_thread(ledger.withdraw, number, because.strip())
        self.session = self.session.moved_on()

    async def ledger(self) -> Answer:
        """What stands in the ledger that the plan and the earlier release name."""
        if (ledger := self._ledger) is None:
            return {"where": "", "releases": [], "faults": []}
        releases, faults = await asyncio.to_thread(_seen, ledger)
        where = ", ".join(self.session.after) if len(self.session.after) > 1 else str(ledger.path)
        return {"where": where, "releases": releases, "faults": faults}

    @property
    def _ledger(self) -> Ledger | None:
        if self.session.after:
            return ledger_of(self.session.after)
        rules = self._rules
        return None if rules is None or rules.file is None else Ledger(self.folder / Path(rules.file).expanduser())

    @property
    def _rules(self) -> LedgerRules | None:
        read = self.plan
        either = read.plan or read.linked
        return None if either is None else either.ledger


def _of_address(address: str, folder: Path) -> tuple[str, str | None]:
    """The folder of an earlier release, or the file of a ledger.

    Raises FileError if the folder has no ledger, or no file can have the address.
    """
    path = folder / Path(address).expanduser()
    if not address:
        return "", None
    try:
        there = path.is_dir()
    except OSError as error:
        raise FileError(f"The ledger's address cannot be used ({error.strerror}). Name another file.") from None
    if not there:
        return "", address
    release = path.parent if path.name == IN_PRIVATE.parent.name else path
    if not (release / IN_PRIVATE).exists():
        raise FileError(
            f"'{address}' has no {IN_PRIVATE}. Name the folder of a release that was written with a ledger, or a file."
        )
    return str(release.resolve()), None


def _seen(ledger: Ledger) -> tuple[list[dict[str, Any]], list[str]]:
    """The releases in a ledger, unless it is damaged, and what is wrong with it."""
    faults = ledger.faults()
    return [] if faults else accounts_of(ledger), faults
