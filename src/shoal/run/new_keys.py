"""New keys of the released rows of linked tables."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shoal.kernels.arrays import Longs, ints
from shoal.kernels.draws import keyed_generator
from shoal.plan.linked import LinkedPlan
from shoal.run.carry_out import Outcome, Stepped
from shoal.run.course import Course
from shoal.table.links import Links, key_columns
from shoal.table.records import Records
from shoal.table.variable import Variable

KEYS = 1 << 27
"""Key of the random numbers of released keys, beyond the number of any step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewKeys:
    """New keys of the released rows.

    Parameters
    ----------
    numbers
        Shape (n,) by table; the new key of each row that came in, of those that are released: numbers from 1 to these,
        dealt by chance.
    """

    plan: LinkedPlan
    links: Links
    numbers: Mapping[str, Longs]

    @classmethod
    def of(cls, plan: LinkedPlan, links: Links, stepped: Mapping[str, Stepped], entropy: int) -> "NewKeys":
        numbers = {}
        for place, (name, done) in enumerate(stepped.items()):
            rows = done.course.records.rows
            numbers[name] = np.zeros(links.sizes[name], dtype=np.int64)
            numbers[name][np.sort(rows)] = keyed_generator(entropy, KEYS, place).permutation(len(rows)) + 1
        return cls(plan=plan, links=links, numbers=numbers)

    def released(
        self, name: str, done: Stepped, columns: list[str], course: Course, fractional: Collection[str]
    ) -> Outcome:
        """The finished table, with its new keys in the order of its columns; `fractional`: as for `carry_out`."""
        outcome = done.outcome(fractional, partial(self._with_keys, name, columns), course)
        order = [column for column in columns if column in outcome.released]
        return replace(
            outcome,
            finished=replace(outcome.finished, frame=outcome.finished.frame.select(order)),
            released=outcome.released.select(order),
        )

    def _with_keys(self, name: str, columns: list[str], records: Records) -> Records:
        """The records with new keys in place of the number of the person."""
        person = self.plan.person_column(name)
        if not self.plan.release_keys:
            return records
        records = records if person in columns else records.without([person])
        keys = key_columns(self.plan.keys, name, columns)
        return records.with_variables(*(self._key(column, other, name, records) for column, other in keys.items()))

    def _key(self, column: str, other: str, name: str, records: Records) -> Variable:
        """The new keys of the rows of a table, in a column of it or of one below."""
        numbers = self.numbers[other][self.links.rows_of(other, name)[records.rows]]
        present, codes = np.unique(numbers, return_inverse=True)
        return Variable(
            name=column,
            role="person" if other == self.plan.root else "identifier",
            level="nominal",
            values=ints(codes),
            categories=tuple(present.tolist()),
        )
