"""Keeping of a ledger in a run on several linked tables: whose rows are whose, and what all of them tell of a person.

A person is recognised by the key of the table of persons, as the table that came in has it. The person's class is the
whole released profile: the row of persons and all that hangs on it, table by table. Persons of one class are alike by
every table, by some of them, and by any number of rows. So no reader who knows less tells them apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.desk.keeping import asked_for, opened
from shoal.judges.joined import Joined
from shoal.kernels.arrays import Bytes, Longs
from shoal.kernels.classes import classes
from shoal.ledger.entry import KEPT, RECODED, LedgerEntry, Numbers, cell_states, numbers_of
from shoal.ledger.pairing import labels_of
from shoal.ledger.pending import PendingEntry
from shoal.ledger.store import Ledger
from shoal.plan.linked import LinkedPlan
from shoal.plan.sections import LedgerRules
from shoal.run.linked import LinkedOutcome
from shoal.table.files.json_text import as_json
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata, eager
from shoal.vocabulary.errors import DataError

SAME = (
    "Two persons got the same number in the ledger, which happens three times in a million with ten million persons. "
    "Begin another ledger, whose key is another."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedKeeping:
    """A plan's ledger in a run on several tables.

    Parameters
    ----------
    earlier, own_copy, secret
        As in `shoal.ledger.pending.PendingEntry`.
    """

    plan: LinkedPlan
    rules: LedgerRules
    earlier: Ledger | None
    own_copy: bool
    secret: bytes

    @classmethod
    def of(cls, plan: LinkedPlan, ledger: str | Path | None, after: Sequence[str | Path]) -> "LinkedKeeping | None":
        """The ledger that a plan and a caller name, as `Keeping.of`."""
        lacking = "A ledger holds what a plan asks to be kept over releases. Add it to the plan: ledger: {}."
        rules = asked_for(plan.ledger, ledger, after, lacking)
        if rules is None:
            return None
        earlier, secret, own_copy = opened(rules, plan.folder, ledger, after)
        return cls(plan=plan, rules=rules, earlier=earlier, own_copy=own_copy, secret=secret)

    def pending(self, done: LinkedOutcome, persons: Any) -> PendingEntry:
        """The entry of finished tables, which waits to be written. `persons`: the table of persons that came in."""
        frame = eager(persons.frame if isinstance(persons, (Table, Microdata)) else persons)[0]
        keys = labels_of(frame.get_column(str(self.plan.keys[self.plan.root].key)).to_polars()).to_list()
        numbers = numbers_of(map(str, keys), self.secret)
        entry = _entry(done, numbers) if self.plan.synthesis is None else _entry_of_nobody(numbers)
        about = {**self._about(done), **entry.about}
        return PendingEntry(
            entry=replace(entry, about=about),
            earlier=self.earlier,
            own_copy=self.own_copy,
            secret=self.secret,
            rules=self.rules,
            k=self.rules.k or self.plan.k,
        )

    def _about(self, done: LinkedOutcome) -> Mapping[str, Any]:
        about = self.plan.tables[self.plan.root].about
        content: Mapping[str, Any] = as_json(
            {
                "audience": about.audience,
                "collude": list(self.rules.collude),
                "title": about.title,
                "columns": {
                    f"{name}.{variable.name}": variable.role
                    for name, outcome in done.tables.items()
                    for variable in outcome.released.variables
                },
                "records": sum(len(outcome.released) for outcome in done.tables.values()),
                "epsilon": [],
                "levels": {},
            }
        )
        return content


def _entry(done: LinkedOutcome, numbers: Numbers) -> LedgerEntry:
    """The entry of persons who are released, with the whole profile of each. `numbers`: of all who came in."""
    root = done.plan.root
    groups = _profiles(done)
    names, states = _states(done)
    patterns = np.zeros((int(groups.max()) + 1, len(names)), dtype=np.uint8)
    np.maximum.at(patterns, groups, states)
    persons = numbers[done.tables[root].released.rows]
    order = np.argsort(persons)
    if len(np.unique(persons)) < len(persons):
        raise DataError(SAME)
    return LedgerEntry(
        about={"quasi-identifiers": names, "m": None}, persons=persons[order], groups=groups[order], patterns=patterns
    )


def _entry_of_nobody(numbers: Numbers) -> LedgerEntry:
    """The entry of a release of made-up persons: of all whose rows were looked at; nothing tells them apart."""
    return LedgerEntry(
        about={"quasi-identifiers": [], "m": None},
        persons=np.unique(numbers),
        groups=np.zeros(len(np.unique(numbers)), dtype=np.int64),
        patterns=np.zeros((1, 0), dtype=np.uint8),
    )


def _profiles(done: LinkedOutcome) -> Longs:
    """Shape (persons,); the class of each: all of the rows, as written and with cells filled in that they give away.

    Where a requirement takes the order of rows to be known, it tells persons apart as well.
    """
    root = done.plan.root
    orders = {None, *(model.order for model in done.plan.requirements)}
    stages = [stage for joined, laws in done.stages for stage in joined.stages(laws)]
    known = [_of_persons(done, joined).branches(order)[root] for joined in stages for order in orders]
    return classes(known, done.links.sizes[root])[0]


def _of_persons(done: LinkedOutcome, joined: Joined) -> Joined:
    """The joins without columns that were made anew for a table as a whole, whose cells are nobody's."""
    anew = {f"{name}.{column}" for name, plan in done.plan.tables.items() for column in plan.made_anew}
    return replace(joined, joins={name: records.without(anew) for name, records in joined.joins.items()})


def _states(done: LinkedOutcome) -> tuple[list[str], Bytes]:
    """Names of what tells of a person (columns, and numbers of rows), and shape (persons, names): what became of it."""
    people = done.links.sizes[done.plan.root]
    rows = done.tables[done.plan.root].released.rows
    names, states = [], []
    for name, outcome in done.tables.items():
        own = [c for c in outcome.released.quasi_identifiers if c not in outcome.plan.made_anew]
        before = outcome.before.take(_places(outcome.before.rows, outcome.released.rows))
        of_person = np.zeros((people, len(own)), dtype=np.uint8)
        np.maximum.at(of_person, done.links.persons[name], cell_states(outcome.released, before, own))
        if name != done.plan.root:
            came = np.bincount(
                done.original_links.persons[name], minlength=len(done.original_links.persons[done.plan.root])
            )
            left = np.bincount(done.links.persons[name], minlength=people)
            names.append(name)
            states.append(np.where(left == came[rows], KEPT, RECODED).astype(np.uint8)[:, None])
        names += [f"{name}.{column}" for column in own]
        states.append(of_person)
    return names, np.concatenate(states, axis=1)


def _places(rows: Longs, wanted: Longs) -> Longs:
    """Places of some rows among all."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, wanted, sorter=order)]
