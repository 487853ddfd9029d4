"""Linked tables joined, as an intruder joins them who looks for a person.

A record is known with the rows that it hangs on: a drug with its stay and its patient. So each table is joined with all
tables above it, and records are alike if they agree on all quasi-identifiers of the join. A *branch* is a row with all
that hangs on it: two are alike if their records are, and if below them, table by table, there are as many branches of
each kind; where the order of rows is known, in the same order. The branch of a person's own row is the whole profile.

Cells that a release gives away are filled in before anything is compared: by the laws of each table, and by those of
the joins, where a column of one table gives back a blank of another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.judges.closure import Closure, closure
from shoal.judges.joint_codes import joint_codes
from shoal.judges.known import ordered_tokens, profiles
from shoal.kernels.arrays import Longs, ints
from shoal.kernels.classes import classes
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.links import Links, below, chain, root_of
from shoal.table.records import Records
from shoal.table.schema import Role
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure

JOINED = ("quasi-identifier", "confidential", "other")
"""Roles of the columns that are joined."""

PERSON, HOUSEHOLD, BRANCH = "person", "household", "profile"
"""Names of the columns that number persons, households, and branches that are alike."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Joined:
    """Linked tables, each joined with all above it.

    Parameters
    ----------
    links
        Of the released rows.
    joins
        By table; names of columns have the table's name before them, as in `stays.ward`.
    households
        Shape (n,) of the table of persons; household of each person, -1 if it is missing; None without such a column.
    """

    links: Links
    joins: Mapping[str, Records]
    households: Longs | None = None

    @classmethod
    def of(cls, tables: Mapping[str, Records], links: Links) -> "Joined":
        """The joins of some tables."""
        joins = {name: joined(tables, links, name) for name in links.keys}
        return cls(links=links, joins=joins, households=tables[root_of(links.keys)].households)

    @property
    def people(self) -> int:
        """Number of persons."""
        return self.links.sizes[root_of(self.links.keys)]

    @property
    def records(self) -> int:
        """Number of rows of all tables."""
        return sum(self.links.sizes.values())

    def laws(self, released: "Joined") -> dict[str, Laws]:
        """Laws of the joins of the original that give back cells which a release lacks."""
        return {name: Laws.for_release(records, released.joins[name]) for name, records in self.joins.items()}

    def stages(self, laws: Mapping[str, Laws]) -> "Iterator[Joined]":
        """The joins as written, and filled in: by certain laws, by all, and by those of the original.

        `laws`: of the original, by table; none where it is not at hand.
        """
        yield self
        closures = {name: _closed(records, laws.get(name, NO_LAWS)) for name, records in self.joins.items()}
        informed = {name: closed.informed or closed for name, closed in closures.items()}
        for stage in (_certain(closures), _all(closures), _certain(informed), _all(informed)):
            if any(stage[name] is not self.joins[name] for name in stage):
                yield replace(self, joins=stage)

    def of_records(self, name: str) -> Records:
        """The records of a table with all above it, and whose each is."""
        return self._whose(self.joins[name], self.links.persons[name])

    def of_profiles(self, name: str, order: str | None) -> Records:
        """The confidential columns of a table, with the profile of each record's person."""
        own = self.joins[name]
        known = own.select(n for n in own.confidential if n.startswith(f"{name}."))
        return self._labelled(known, self._profiles(order)[self.links.persons[name]], self.links.persons[name])

    def of_all(self, order: str | None) -> Records:
        """A record for each row of every table, with the profile of its person."""
        persons = np.concatenate(list(self.links.persons.values()))
        return self._labelled(_nothing(len(persons)), self._profiles(order)[persons], persons)

    def of_branches(self) -> Records:
        """A record for each person, and for each row right below a person with all that hangs on it."""
        root = root_of(self.links.keys)
        tables = [root, *below(self.links.keys, root)]
        kinds = {**self.branches(None), root: self.joins[root].alike(self.joins[root].quasi_identifiers)}
        table = np.concatenate([np.full(self.links.sizes[name], number) for number, name in enumerate(tables)])
        kind = np.concatenate([kinds[name] for name in tables])
        persons = np.concatenate([self.links.persons[name] for name in tables])
        return self._labelled(_nothing(len(kind)), classes([table, kind], len(kind))[0], persons)

    def branches(self, order: str | None) -> dict[str, Longs]:
        """Shape (n,) by table; equal numbers for rows that are alike with all that hangs on them.

        `order`: column by which rows below the same row are ordered, in the tables that have it, or in the one that
        stands before it, as in `stays.admission`.
        """
        numbers: dict[str, Longs] = {}
        ordered = False
        for name in reversed(list(self.links.keys)):
            join, n = self.joins[name], self.links.sizes[name]
            own = join.alike(join.quasi_identifiers)
            column = None if order is None else _ordering(join, name, order)
            if column is not None and name in self.links.above:
                own, ordered = ordered_tokens(own, self.links.above[name], _ranks(column)), True
            lower = [_bags(numbers[other], self.links.above[other], n) for other in below(self.links.keys, name)]
            numbers[name] = classes([own, *lower], n)[0]
        if order is not None and not ordered:
            raise NoFigure(f"No table below the persons has a column '{order}', so the order of rows is not known.")
        return numbers

    def _profiles(self, order: str | None) -> Longs:
        return self.branches(order)[root_of(self.links.keys)]

    def _labelled(self, records: Records, numbers: Longs, persons: Longs) -> Records:
        return self._whose(records.with_variables(_numbers(BRANCH, "quasi-identifier", numbers)), persons)

    def _whose(self, records: Records, persons: Longs) -> Records:
        """Some records with numbers of their persons, and households."""
        whose = [_numbers(PERSON, "person", persons)]
        if self.households is not None:
            whose.append(_numbers(HOUSEHOLD, "household", self.households[persons]))
        return records.with_variables(*whose)


def joined(tables: Mapping[str, Records], links: Links, name: str) -> Records:
    """A table joined with all above it."""
    variables = []
    for upper in chain(links.keys, name):
        rows = links.rows_of(upper, name)
        records = tables[upper]
        variables += [replace(v.take(rows), name=f"{upper}.{v.name}") for v in records.variables if v.role in JOINED]
    return Records(variables=tuple(variables), rows=np.arange(links.sizes[name]))


def common_profiles(before: Joined, after: Joined, roles: Sequence[str]) -> tuple[Longs, Longs]:
    """Shape (persons,) each; equal numbers for persons with the same cells in all of their rows, before and after.

    `roles`: of the columns that are compared; columns that only one of both has are left out.
    """
    numbers: dict[str, Longs] = {}
    keys, root = before.links.keys, root_of(before.links.keys)
    links = before.links.beside(after.links)
    for name in reversed(list(keys)):
        x, y = before.joins[name], after.joins[name]
        compared = [c for c in x.names(*roles) if c.startswith(f"{name}.") and c in y]
        n = links.sizes[name]
        own = [np.concatenate(joint_codes(x[column], y[column])) for column in compared]
        lower = [_bags(numbers[other], links.above[other], n) for other in below(keys, name)]
        numbers[name] = classes([np.zeros(n, dtype=np.int64), *own, *lower], n)[0]
    people = before.links.sizes[root]
    return numbers[root][:people], numbers[root][people:]


def _closed(records: Records, laws: Laws) -> Closure:
    if records.complete_in(records.names()):
        return Closure(records=records, filled={})
    return closure(records, laws=laws)


def _certain(closures: Mapping[str, Closure]) -> dict[str, Records]:
    return {name: closed.records if closed.certain is None else closed.certain for name, closed in closures.items()}


def _all(closures: Mapping[str, Closure]) -> dict[str, Records]:
    return {name: closed.records for name, closed in closures.items()}


def _nothing(n: int) -> Records:
    """Records without columns."""
    return Records(variables=(), rows=np.arange(n))


def _numbers(name: str, role: Role, numbers: Longs) -> Variable:
    """A column of numbers that only tell what is alike; -1 is a missing one."""
    categories = tuple(range(int(numbers.max(initial=-1)) + 1))
    return Variable(name=name, role=role, level="nominal", values=ints(numbers), categories=categories)


def _bags(kinds: Longs, above: Longs, n: int) -> Longs:
    """Shape (n,); equal numbers for rows with as many rows of each kind below them, 0 for those with none."""
    numbers = np.zeros(n, dtype=np.int64)
    present, units = np.unique(above, return_inverse=True)
    if len(present):
        numbers[present] = profiles(kinds, units) + 1
    return numbers


def _ordering(join: Records, name: str, order: str) -> Variable | None:
    """The column of a table that orders its rows."""
    names: Sequence[str] = (f"{name}.{order}", order if order.startswith(f"{name}.") else "")
    return next((join[column] for column in names if column in join), None)


def _ranks(column: Variable) -> Longs:
    """Shape (n,); numbers by which cells are in order, -1 for missing ones."""
    ranks = np.unique(column.values, return_inverse=True)[1].astype(np.int64)
    return np.where(column.missing, -1, ranks)
