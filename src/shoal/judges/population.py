"""Released records compared with the people of a population: candidates for each record, and presence of each person.

A person is a candidate for a released record if each of the person's values is among those that the record's label
stands for: itself, the leaves under a node of a hierarchy, the numbers of an interval, the values of a set. A missing
cell stands for every value, for missing cells alone, or for none, by its reading. If nothing explains a label, nobody
can be counted; a released number that nobody in the population has matches nobody.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.judges.further_tables import codes_of, like, numbers_of
from shoal.judges.joint_codes import joint_codes
from shoal.judges.labels import Labels
from shoal.judges.recoded import as_labels
from shoal.judges.table_pair import TablePair
from shoal.judges.units import units_of_classes
from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.table.records import Classes, MissingCells, Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure, plural, quoted

MOST_PAIRS = 400_000_000
"""Kinds of people times classes of records that are compared, some seconds' worth."""

BLOCK = 4_000_000
"""Pairs compared at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InPopulation:
    """Classes of released records in a population."""

    candidates: "Candidates"  # Candidates for each class
    people: Floats  # Shape (C,); number of candidates for the records of each class
    # Shape (P,); probability that a person of each kind is in the table, for whoever knows the population: the sum,
    # over the classes for which the person is a candidate, of records over candidates
    presence: Floats
    exposure: Floats  # Shape (C,); the largest such probability among the candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Kinds of people against classes of released records: candidates, and the columns that rule others out."""

    names: tuple[str, ...]  # The columns, as numbered by `misses`
    weights: Floats  # Shape (P,); people of each kind
    sizes: Longs  # Shape (C,); released records of each class
    of_record: Longs  # Shape (n,); class of each released record
    # columns, person, record: the columns of both tables, and a row of each kind of people, shape (P,), and of each
    # class, shape (C,)
    columns: "list[_Column]"
    person: Longs
    record: Longs

    @classmethod
    def of(
        cls,
        pair: TablePair,
        table: Any,
        count: str | None = None,
        missing: MissingCells = "equal",
        unit: str | None = "record",
    ) -> "Candidates":
        """The candidates in a population; parameters and errors as for `in_population`."""
        released, population = pair.released, like(pair.released, table)
        names = released.quasi_identifiers
        if lacking := [name for name in names if name not in population]:
            raise NoFigure(f"The table of the population has no column {quoted(lacking)}.")
        counts = None if count is None else numbers_of(table, count)
        units = None if unit == "record" else pair.units_by("person")
        if units is not None and (persons := codes_of(table, pair.name_of("person"))) is not None:
            counts = (1.0 if counts is None else counts) / records_of_each(persons)
        hierarchies = {n: pair.original[n] if pair.original is not None and n in pair.original else None for n in names}
        columns = [_Column.of(hierarchies[n], population[n], released[n], missing) for n in names]
        candidates = cls._of(names, columns, len(population), len(released), counts)
        if units is None:
            return candidates
        classes_of_records = Classes(ids=candidates.of_record, sizes=candidates.sizes)
        return replace(candidates, sizes=units_of_classes(classes_of_records, units))

    @classmethod
    def of_sample(cls, released: Records, weights: Floats) -> "Candidates":
        """The records of a sample as kinds of people, with their weights; a missing cell matches every value."""
        names = released.quasi_identifiers
        columns = [_Column.of_sample(released.codes_as_written(name)) for name in names]
        return cls._of(names, columns, len(released), len(released), weights)

    @classmethod
    def _of(
        cls, names: tuple[str, ...], columns: "list[_Column]", people: int, records: int, counts: Floats | None
    ) -> "Candidates":
        persons, _ = classes([c.people for c in columns], people)
        of_record, sizes = classes([c.records for c in columns], records)
        person, record = (first_rows(ids, int(ids.max(initial=-1)) + 1) for ids in (persons, of_record))
        return cls(
            names=names,
            weights=np.bincount(persons, weights=counts, minlength=len(person)).astype(np.float64),
            sizes=sizes,
            of_record=of_record,
            columns=columns,
            person=person,
            record=record,
        )

    def misses(self, chosen: Longs) -> Longs:
        """Shape (c, P); for each of some classes and each kind of people, the columns that rule it out, as bits."""
        bits = np.zeros((len(chosen), len(self.person)), dtype=np.int64)
        for number, column in enumerate(self.columns):
            bits |= (~column.matches(self.person, self.record[chosen]).T).astype(np.int64) << number
        return bits

    def blocks(self) -> Iterator[tuple[slice, Bools]]:
        """Blocks of kinds of people, with the classes for which they are candidates."""
        if len(self.person) * len(self.record) > MOST_PAIRS:
            raise NoFigure(
                f"{len(self.person):,} kinds of people and {len(self.record):,} classes are too many to compare each "
                f"with each."
            )
        step = max(BLOCK // max(len(self.record), 1), 1)
        for start in range(0, len(self.person), step):
            part = slice(start, start + step)
            inside = np.ones((len(self.person[part]), len(self.record)), dtype=bool)
            for column in self.columns:
                inside &= column.matches(self.person[part], self.record)
            yield part, inside


def records_of_each(units: Longs) -> Floats:
    """Shape (n,); number of records that the unit of each record has; 1 where the unit is missing."""
    alone = np.arange(len(units)) + int(units.max(initial=-1)) + 1
    own = np.unique(np.where(units < 0, alone, units), return_inverse=True)[1]
    return np.bincount(own)[own].astype(np.float64)


def in_population(
    pair: TablePair, table: Any, count: str | None = None, missing: MissingCells = "equal", unit: str | None = "record"
) -> InPopulation:
    """The classes of a release on its quasi-identifiers, compared with a population.

    `table`: the population, with the quasi-identifiers of the release. `count`: its column with the number of people
    that a row stands for; one each by default. `missing`: what a missing cell matches. `unit`: other than `record`,
    persons count where the release numbers them. Raises NoFigure if the population lacks a column, nothing explains a
    released label, or there are too many kinds of people and classes to compare each with each.
    """
    candidates = Candidates.of(pair, table, count, missing, unit)
    matching = np.zeros(len(candidates.record))
    for part, inside in candidates.blocks():
        matching += np.where(inside, candidates.weights[part, None], 0.0).sum(axis=0)
    share = candidates.sizes / np.where(matching > 0, matching, np.inf)
    presence, exposure = np.zeros(len(candidates.person)), np.zeros(len(candidates.record))
    for part, inside in candidates.blocks():
        presence[part] = np.where(inside, share, 0.0).sum(axis=1)
        exposure = np.maximum(exposure, np.where(inside, presence[part, None], 0.0).max(axis=0, initial=0.0))
    return InPopulation(candidates=candidates, people=matching, presence=presence, exposure=exposure)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """One column of both tables: codes, and the released codes that stand for each code of the population."""

    # people, records: shapes (N,) and (n,); codes
    people: Longs
    records: Longs
    covers: Bools | None  # Shape (labels, values); None where equal codes match, and no others
    wildcard: bool = False  # True if -1 matches every code, where equal codes match

    @classmethod
    def of(cls, before: Variable | None, person: Variable, record: Variable, missing: MissingCells) -> "_Column":
        if person.continuous and record.continuous and (missing == "equal" or record.complete):
            codes = joint_codes(person, record)
            return cls(people=codes[0], records=codes[1], covers=None)
        hierarchy = None if before is None else before.hierarchy
        labels = Labels.of(replace(as_labels(person), hierarchy=hierarchy), as_labels(record))
        covers = labels.covers.copy()
        unread = labels.unexplained & (np.bincount(labels.after, minlength=len(covers)) > 0)
        if unread.any() and not record.continuous:
            raise NoFigure(
                f"Column '{record.name}' has {plural(int(unread.sum()), 'label')} that nothing explains: no value of "
                f"the population, no node of the hierarchy, no interval of numbers, no set. Give the column a "
                f"hierarchy over all values of the population (nested, or a file), and recode to one of its levels."
            )
        covers[labels.unexplained] = False
        if missing == "equal":
            covers[-1] = False
            covers[-1, -1] = True
        elif missing == "nothing":
            covers[-1] = False
        return cls(people=labels.before.astype(np.int64), records=labels.after.astype(np.int64), covers=covers)

    @classmethod
    def of_sample(cls, codes: Ints) -> "_Column":
        """A column of a sample compared with itself."""
        return cls(people=codes.astype(np.int64), records=codes.astype(np.int64), covers=None, wildcard=True)

    def matches(self, person: Longs, record: Longs) -> Bools:
        """Shape (p, c); True where a kind of people is a candidate for a class."""
        if self.covers is None:
            people, records = self.people[person][:, None], self.records[record]
            return np.asarray((people == records) | (self.wildcard & ((people < 0) | (records < 0))))
        return np.asarray(self.covers[self.records[record]][:, self.people[person]].T)
