"""Rules over several records of a person, in one table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.constraints.of_rows import RECORDS, DependentRows, names_of
from shoal.constraints.over_rows import RulesOverRows
from shoal.constraints.verdicts import unjudged
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Longs
from shoal.table.records import Records
from shoal.table.schema import Policy
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import DataError
from shoal.vocabulary.facts import Facts

NOBODYS = "which records are one person's is not known. Release the column of persons, or give the private folder"


@dataclass(frozen=True, kw_only=True, eq=False)
class PersonRules:
    """Rules over several records of a person. Records come with the number of each one's person, -1 for a missing one.

    Without rules nothing is asked of a table.
    """

    rules: RulesOverRows

    @classmethod
    def parse(cls, rules: Sequence[str], original: Records | None) -> "PersonRules":
        """Read rules and tie them to the original, where it is at hand.

        Raises
        ------
        ConstraintError
            If a rule cannot be read, names an unknown column or level, or clashes with others.
        DataError
            If the original has no column with the role person.
        """
        if not rules or original is None:
            return cls(rules=RulesOverRows(rules=tuple(rules), numbers={}))
        persons = original.unit_numbers("person")
        if persons is None:
            raise DataError(f"The rule {rules[0]!r} is of several records of a person, and no column numbers persons.")
        return cls(rules=RulesOverRows.parse(rules, DependentRows.of_persons(original, persons)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that some rule mentions."""
        return tuple(dict.fromkeys(name for sentence in self.rules.sentences for name in names_of(sentence)))

    def admit(self, original: Records, policy: Policy) -> Facts:
        """What the original breaks. Raises DataError if it breaks a rule and the policy is to refuse it."""
        persons = original.unit_numbers("person")
        if not self.rules.rules or persons is None:
            return {}
        return self.rules.admit(DependentRows.of_persons(original, persons), policy)

    def check(self, records: Records, persons: Longs | None) -> list[Verdict]:
        """One verdict for each rule."""
        if persons is None:
            return [unjudged(text, f"The rule {text!r} cannot be judged: {NOBODYS}.") for text in self.rules.rules]
        return self.rules.check(DependentRows.of_persons(records, persons)) if self.rules.rules else []

    def deduced(self, records: Records, persons: Longs | None) -> Records:
        """The records, with every missing cell filled in that the rules determine; the same object if there is none."""
        if persons is None or not self.rules.rules or records.complete_in(records.names()):
            return records
        return self.rules.deduced(DependentRows.of_persons(records, persons)).tables[RECORDS]

    def repaired(self, records: Records, persons: Longs | None) -> StepResult:
        """The records moved to the nearest that obey the rules, where that is possible; see `RulesOverRows`."""
        if persons is None or not self.rules.rules:
            return StepResult(records=records)
        rows = DependentRows.of_persons(records, persons)
        after, facts = self.rules.repaired(rows)
        movable = self.rules.columns_moved(rows).get(RECORDS, ())
        return StepResult(records=after.tables[RECORDS], masked=movable, facts=facts.get(RECORDS, {}))


def persons_of(original: Records, records: Records) -> Longs | None:
    """Shape (n,); numbers of the persons of some records, -1 for a missing one; None if there are none.

    They are those of the original's rows; of rows that it has not, which are made up, those in the records themselves.
    """
    persons, last = original.unit_numbers("person"), int(original.rows.max(initial=0))
    if persons is None or records.rows.max(initial=0) > last:
        return records.unit_numbers("person")
    place = np.zeros(last + 1, dtype=np.int64)
    place[original.rows] = np.arange(len(original))
    return np.asarray(persons[place[records.rows]])
