"""Keeping of a ledger in a run: what is held back, and the entry that waits to be written."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import numpy as np

from shoal.kernels.arrays import Bools, ints
from shoal.ledger.entry import BLANK, LedgerEntry, Numbers, entry_of, numbers_of
from shoal.ledger.hold_back import changes_to_hold_back, sequences_of, taking_part
from shoal.ledger.pairing import labels_of
from shoal.ledger.pending import IN_PRIVATE, PendingEntry
from shoal.ledger.proof import ReleasedPersons, holdings
from shoal.ledger.store import Ledger, new_secret
from shoal.plan import PartitionStep, Plan
from shoal.plan.sections import LedgerRules
from shoal.plan.steps import Step
from shoal.run.carry_out import Outcome
from shoal.run.course import Course
from shoal.run.judging import k_asked
from shoal.run.one_step import SEQUENCE
from shoal.run.privacy_spent import makes_records, private_steps
from shoal.table.files.json_text import as_json
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, ParameterError, PlanError, Refused
from shoal.vocabulary.facts import losses, of_original

AT_ONCE = "ledger: hold_back forms groups of the whole table at once. Set exact: true, or take hold_back out."

ACCOUNT = "ledger: hold_back"
"""Title of the account of what is held back."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Keeping:
    """A plan's ledger in a run.

    Parameters
    ----------
    earlier, own_copy, secret
        As in `shoal.ledger.pending.PendingEntry`.
    withheld
        Persons who are withheld because their classes would break m-invariance.
    """

    plan: Plan
    rules: LedgerRules
    earlier: Ledger | None
    own_copy: bool
    secret: bytes
    withheld: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    @classmethod
    def of(cls, plan: Plan, ledger: str | Path | None, after: Sequence[str | Path]) -> "Keeping | None":
        """The ledger that a plan and a caller name; None for a plan without one.

        Raises
        ------
        ParameterError
            If a ledger is named that the plan does not ask for, or two are.
        FileError
            If the ledger is damaged, or there is none where it should be.
        """
        lacking = "A ledger needs to know whose a record is. Add it to the plan: ledger: {key: COLUMN}."
        rules = asked_for(plan.ledger, ledger, after, lacking)
        if rules is None:
            return None
        if rules.hold_back and private_steps(plan):
            raise PlanError("ledger: hold_back looks at cells whose privacy loss nobody accounts for. Take it out.")
        if rules.m and makes_records(plan):
            raise PlanError(
                "ledger: m counts the values released of a person, and new records are nobody's. Leave m out."
            )
        earlier, secret, own_copy = opened(rules, plan.folder, ledger, after)
        return cls(plan=plan, rules=rules, earlier=earlier, own_copy=own_copy, secret=secret)

    @property
    def k(self) -> int:
        return self.rules.k or k_asked(self.plan)

    @cached_property
    def k_together(self) -> int:
        """Fewest persons who stay together: enough for the groups of every step, too."""
        smallest = (int(step.method.smallest) for step in self.plan.steps if isinstance(step, PartitionStep))
        return max(self.k, *smallest, 0)

    def as_before(self, plan: Plan) -> Plan:
        """The plan with columns generalised to the levels of the last release."""
        *_, last = None, *self._entries()
        levels = {} if last is None else last.about.get("levels", {})
        steps = (_at_levels(step, plan, levels.get(str(number), {})) for number, step in enumerate(plan.steps))
        return replace(plan, steps=tuple(steps))

    def before_steps(self, original: Microdata, course: Course) -> Course:
        """The records of persons who take part, beside all releases that may meet this one; who is told alike."""
        records = course.records
        persons, left = self._persons(original, records), self._left(original, records)
        if len(np.unique(persons)) < len(persons):
            raise DataError("ledger: hold_back needs one record a person, and the key repeats. Take it out.")
        there = np.flatnonzero(~np.isin(persons, self.withheld))
        part = there[taking_part(self._history, persons[there], left[there], self.k_together, self.rules.newcomers)]
        facts = {
            "records withheld": int((~left).sum() - (~left[part]).sum()),
            "of these for m-invariance": int((np.isin(persons, self.withheld) & ~left).sum()),
            "records of persons who left": int(left[part].sum()),
        }
        _some_take_part(len(part))
        taken = replace(course, records=records.take(part)).with_account(ACCOUNT, of_original(facts))
        if not self._history.count:
            return taken
        sequences = Variable(
            name=SEQUENCE,
            role="identifier",
            level="nominal",
            values=ints(sequences_of(self._history, persons[part])),
            categories=tuple(enumerate((*self._blank_before, ()))),
        )
        return replace(taken, records=taken.records.with_variables(sequences))

    def after_steps(self, original: Microdata, course: Course) -> Course:
        """The records with what would tell persons apart held back."""
        records, names = course.records.without([SEQUENCE]), self._names(course.records.quasi_identifiers)
        persons, left = self._persons(original, records), self._left(original, records)
        groups = records.classes(names).ids
        change = changes_to_hold_back(self._history, persons, groups, left, self.k_together)
        _some_take_part(int(change.released.sum()))
        copied = records.take(change.source)
        changed = records.with_variables(*(copied[name] for name in names)).take(change.released)
        (first,) = (account for account in course.accounts if account.step == ACCOUNT)
        withheld = int((~change.released & ~left).sum())
        facts = {
            **{name: fact.private() for name, fact in first.facts.items()},
            "records withheld": first.facts["records withheld"].private() + withheld,
            "records of persons who left": change.remain,
            "records with the cells of others": int((groups[change.source] != groups)[change.released].sum()),
        }
        others = tuple(account for account in course.accounts if account is not first)
        return replace(course, records=changed, accounts=others).with_account(ACCOUNT, of_original(facts), names)

    def withholding_more(self, pending: PendingEntry) -> "Keeping | None":
        """The same, with persons withheld whose classes break m-invariance; None if it would not help."""
        persons = pending.breaking_m_invariance if self.rules.hold_back and self.rules.m else self.withheld[:0]
        return replace(self, withheld=np.concatenate([self.withheld, persons])) if len(persons) else None

    def pending(self, done: Outcome) -> PendingEntry:
        """The entry of a finished table, which waits to be written."""
        names = self._names(done.released.quasi_identifiers)
        keys = _cells(done.original, self.rules.key)
        released, filled = done.released, done.closure.records
        if makes_records(done.plan):  # of all who were counted, and nobody's
            released = filled = done.before
        entry = entry_of(
            [keys[row] for row in released.rows.tolist()],
            released,
            filled,
            done.before.take(_places(done.before.rows, released.rows)),
            names,
            self.secret,
            self._about(done, names),
        )
        return PendingEntry(
            entry=entry, earlier=self.earlier, own_copy=self.own_copy, secret=self.secret, rules=self.rules, k=self.k
        )

    def _names(self, quasi_identifiers: tuple[str, ...]) -> tuple[str, ...]:
        """The quasi-identifiers that tell of persons: those that were not made anew for the table as a whole."""
        anew = self.plan.made_anew
        return tuple(name for name in quasi_identifiers if name not in anew)

    @cached_property
    def _history(self) -> ReleasedPersons:
        history = ReleasedPersons()
        for entry in self._entries():
            history = history.after(entry)
        return history

    def _entries(self) -> Iterator[LedgerEntry]:
        """The earlier releases that may meet this one and tell of persons."""
        if self.earlier is not None:
            parties = holdings(self.earlier.counted(), self.plan.about.audience, self.rules.collude)
            numbers = sorted({row.number for party in parties for row in party})
            yield from (entry for entry in map(self.earlier.entry, numbers) if entry.tells_of_persons)

    @property
    def _blank_before(self) -> list[tuple[str, ...]]:
        """By sequence, the quasi-identifiers that were blank in the last of the releases."""
        blank: list[tuple[str, ...]] = [()] * self._history.count
        for entry in self._entries():
            names = entry.about["quasi-identifiers"]
            of_class = [tuple(itertools.compress(names, pattern == BLANK)) for pattern in entry.patterns]
            sequences, first = np.unique(self._history.sequences[self._history.at(entry.persons)[0]], return_index=True)
            for sequence, group in zip(sequences.tolist(), entry.groups[first].tolist()):
                blank[sequence] = of_class[group]
        return blank

    def _persons(self, original: Microdata, records: Records) -> Numbers:
        """Shape (n,); the person of each record."""
        keys = _cells(original, self.rules.key)
        return numbers_of([str(keys[row]) for row in records.rows.tolist()], self.secret)

    def _left(self, original: Microdata, records: Records) -> Bools:
        """Shape (n,); True for records of persons who left."""
        if self.rules.left is None:
            return np.zeros(len(records), dtype=bool)
        left = _cells(original, self.rules.left)
        return np.array([left[row] is not None for row in records.rows.tolist()], dtype=bool)

    def _about(self, done: Outcome, names: tuple[str, ...]) -> Mapping[str, Any]:
        steps = [(done.plan.steps[a.place].method, a.facts) for a in done.accounts if a.place is not None]
        spent = [(loss, getattr(method, "whole_records", False)) for method, facts in steps for loss in losses(facts)]
        about: Mapping[str, Any] = as_json(
            {
                "audience": self.plan.about.audience,
                "collude": list(self.rules.collude),
                "title": self.plan.about.title,
                "quasi-identifiers": list(names),
                "columns": {v.name: v.role for v in done.released.variables},
                "records": len(done.released),
                "epsilon": [
                    {
                        "columns": list(loss.columns),
                        "epsilon": loss.epsilon,
                        "delta": loss.delta,
                        "everybody": whole,  # in the table or not
                    }
                    for loss, whole in spent
                ],
                "m": self.rules.m,
                "levels": {str(a.place): a.facts["levels"].private() for a in done.accounts if "levels" in a.facts},
            }
        )
        return about


def asked_for(
    rules: LedgerRules | None, ledger: str | Path | None, after: Sequence[str | Path], lacking: str
) -> LedgerRules | None:
    """What the plan asks of its ledger. Raises ParameterError, with what is lacking, if only the caller names one."""
    if rules is None and (ledger is not None or after):
        raise ParameterError(lacking)
    return rules


def opened(
    rules: LedgerRules, folder: Path, ledger: str | Path | None, after: Sequence[str | Path]
) -> tuple[Ledger | None, bytes, bool]:
    """The ledger that a plan and a caller name, its key, and True if the release gets a copy of its own.

    Raises
    ------
    ParameterError
        If two are named.
    FileError
        If it is damaged, or there is none where it should be.
    """
    file = Path(ledger) if ledger is not None else (folder / rules.file if rules.file else None)
    if file is not None and after:
        raise ParameterError("A ledger in a file has all earlier releases in it. Leave --after out.")
    earlier = Ledger(file) if file else ledger_of(after)
    if earlier is not None:
        earlier.check()
    return earlier, new_secret() if earlier is None else earlier.secret, file is None


@dataclass(frozen=True, slots=True)
class _Joined(Ledger):
    """The ledgers of several releases as one, in a folder of its own; in another process it is joined again."""

    folders: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return ledger_of, (self.folders,)


def ledger_of(after: Sequence[str | Path]) -> Ledger | None:
    """The ledger in the private folder of a release; of several releases, a new one of all that theirs have."""
    ledgers = [Ledger(Path(folder) / IN_PRIVATE) for folder in after]
    if lacking := [folder for folder, own in zip(after, ledgers) if not own.path.exists()]:
        raise ParameterError(f"The release '{lacking[0]}' has no ledger in its private folder. Name one that has.")
    if len(ledgers) < 2:
        return ledgers[0] if ledgers else None
    folder = mkdtemp(prefix="shoal-")
    joined = _Joined(path=Path(folder) / IN_PRIVATE.name, folders=tuple(map(str, after)))
    finalize(joined, rmtree, folder, ignore_errors=True)
    ledgers[0].copy_to(joined.path)
    for other in ledgers[1:]:
        other.check()
        joined.take_over(other)
    return joined


def _at_levels(step: Step, plan: Plan, levels: Mapping[str, int]) -> Step:
    """The step at levels that an earlier release had, if the plan allows them: k persons share each sequence anyway."""
    others = step.method.method_name != "generalise" or levels.keys() != {*step.changes(plan.schema)}
    if others or step.method.requirements:
        return step
    ranges = step.method.levels or {}
    if not all(ranges[n][0] <= level <= ranges[n][1] for n, level in levels.items() if n in ranges):
        return step
    fixed = {name: (level, level) for name, level in levels.items()}
    return replace(step, method=replace(step.method, k=1, levels=fixed))


def _some_take_part(records: int) -> None:
    """Refuse a release in which everybody waits for others."""
    if not records:
        raise Refused(
            "Nothing was released. ledger: hold_back withholds every record: too few are alike. Release coarser "
            "columns, or later."
        )


def _places(rows: Any, wanted: Any) -> Any:
    """Places of some rows among all."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, wanted, sorter=order)]


def _cells(original: Microdata, name: str) -> list[str | None]:
    """The cells of a column as text, by row of the original."""
    return labels_of(original.frame[name].to_polars()).to_list()
