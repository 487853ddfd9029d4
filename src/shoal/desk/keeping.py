"""Keeping of a ledger in a run: what is held back, and the entry that waits to be written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.ledger.entry import entry_of, numbers_of
from shoal.ledger.hold_back import changes_to_hold_back
from shoal.ledger.pairing import labels_of
from shoal.ledger.pending import IN_PRIVATE, Pending
from shoal.ledger.proof import History, holdings
from shoal.ledger.store import Ledger, new_secret
from shoal.plan import Plan
from shoal.plan.sections import LedgerRules
from shoal.run.carry_out import Outcome
from shoal.run.course import Course
from shoal.run.judging import k_asked
from shoal.run.privacy_spent import private_steps
from shoal.table.files.json_text import as_json
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, ParameterError, PlanError
from shoal.vocabulary.facts import losses, of_original

IN_PARTS = "A ledger is kept only for a table that is held whole. Set exact: true, or take the section ledger out."


@dataclass(frozen=True, kw_only=True, eq=False)
class Keeping:
    """A plan's ledger in a run.

    Parameters
    ----------
    earlier, own_copy, secret
        As in `shoal.ledger.pending.Pending`.
    """

    plan: Plan
    rules: LedgerRules
    earlier: Ledger | None
    own_copy: bool
    secret: bytes

    @classmethod
    def of(cls, plan: Plan, ledger: str | Path | None, after: str | Path | None) -> "Keeping | None":
        """The ledger that a plan and a caller name; None for a plan without one.

        Raises
        ------
        ParameterError
            If a ledger is named that the plan does not ask for, or two are.
        FileError
            If the ledger is damaged, or there is none where it should be.
        """
        rules = plan.ledger
        if rules is None:
            if ledger is None and after is None:
                return None
            raise ParameterError("A ledger needs to know whose a record is. Add it to the plan: ledger: {key: COLUMN}.")
        if rules.hold_back and private_steps(plan):
            raise PlanError("ledger: hold_back looks at cells whose privacy loss nobody accounts for. Take it out.")
        file = Path(ledger) if ledger is not None else (plan.folder / rules.file if rules.file else None)
        if file is not None and after is not None:
            raise ParameterError("A ledger in a file has all earlier releases in it. Leave --after out.")
        if after is not None and not (Path(after) / IN_PRIVATE).exists():
            raise ParameterError(f"The release '{after}' has no ledger in its private folder. Name one that has.")
        earlier = Ledger(file) if file else (Ledger(Path(after) / IN_PRIVATE) if after else None)
        if earlier is not None:
            earlier.check()
        secret = new_secret() if earlier is None else earlier.secret
        return cls(plan=plan, rules=rules, earlier=earlier, own_copy=file is None, secret=secret)

    @property
    def k(self) -> int:
        return self.rules.k or k_asked(self.plan)

    def hold_back(self, original: Microdata, course: Course) -> Course:
        """The records with what would tell persons apart held back, beside all releases that may meet this one."""
        records, names = course.records, self._names(course.records.quasi_identifiers)
        keys = _cells(original, self.rules.key)
        persons = numbers_of([str(keys[row]) for row in records.rows.tolist()], self.secret)
        if len(np.unique(persons)) < len(persons):
            raise DataError("ledger: hold_back needs one record a person, and the key repeats. Take it out.")
        left = [None] * len(keys) if self.rules.left is None else _cells(original, self.rules.left)
        left_rows = np.array([left[row] is not None for row in records.rows.tolist()], dtype=bool)
        change = changes_to_hold_back(self._history(), persons, records.classes(names).ids, left_rows, self.k)
        copied = records.take(change.source)
        changed = records.with_variables(*(copied[name] for name in names)).take(change.released)
        facts = {
            "records withheld": int((~change.released & ~left_rows).sum()),
            "records of persons who left": change.remain,
            "records with the cells of others": int((change.source != np.arange(len(records)))[change.released].sum()),
        }
        return replace(course, records=changed).with_account("ledger: hold_back", of_original(facts), names)

    def pending(self, done: Outcome) -> Pending:
        """The entry of a finished table, which waits to be written."""
        names = self._names(done.released.quasi_identifiers)
        keys, rows = _cells(done.original, self.rules.key), done.released.rows
        entry = entry_of(
            [keys[row] for row in rows.tolist()],
            done.released,
            done.closure.records,
            done.before.take(_places(done.before.rows, rows)),
            names,
            self.secret,
            self._about(done, names),
        )
        return Pending(
            entry=entry, earlier=self.earlier, own_copy=self.own_copy, secret=self.secret, rules=self.rules, k=self.k
        )

    def _names(self, quasi_identifiers: tuple[str, ...]) -> tuple[str, ...]:
        """The quasi-identifiers that tell of persons: those that were not made anew for the table as a whole."""
        anew = self.plan.made_anew
        return tuple(name for name in quasi_identifiers if name not in anew)

    def _history(self) -> History:
        history = History()
        if self.earlier is not None:
            rows = self.earlier.counted()
            parties = holdings(rows, self.plan.about.audience, self.rules.collude)
            numbers = sorted({row.number for party in parties for row in party})
            for entry in map(self.earlier.entry, numbers):
                history = history.after(entry) if entry.tells_of_persons else history
        return history

    def _about(self, done: Outcome, names: tuple[str, ...]) -> Mapping[str, Any]:
        spent = [loss for account in done.accounts for loss in losses(account.facts)]
        about: Mapping[str, Any] = as_json(
            {
                "audience": self.plan.about.audience,
                "collude": list(self.rules.collude),
                "title": self.plan.about.title,
                "quasi-identifiers": list(names),
                "columns": {v.name: v.role for v in done.released.variables},
                "records": len(done.released),
                "epsilon": [{"columns": list(loss.columns), "epsilon": loss.epsilon} for loss in spent],
                "m": self.rules.m,
            }
        )
        return about


def _places(rows: Any, wanted: Any) -> Any:
    """Places of some rows among all."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, wanted, sorter=order)]


def _cells(original: Microdata, name: str) -> list[str | None]:
    """The cells of a column as text, by row of the original."""
    return labels_of(original.frame[name].to_polars()).to_list()
