"""Groups of persons whom an intruder cannot tell apart, by what the intruder knows of a person's records.

Records are compared by their class on some columns. Who knows *one record* of a person looks for all persons with a
record of its class. Who knows *all records* looks for the persons with the same profile: as many records of each class.
Who knows *m records* looks for the persons who have these m among theirs, as many of each class: with one column this
is k^m-anonymity (Terrovitis, Mamoulis & Kalnis 2008). Where the order of a person's records is known too, records also
differ by their place in it.

A profile is a sorted row of class numbers, so persons are compared by sorting all records once. Sets of m records are
built one record at a time: the sets of a person are the ascending choices of records in which a record that is equal to
the one before it is only taken together with that one, so that each set is met once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from shoal.judges.class_figures import MASS, ClassFigures
from shoal.judges.class_table import Binning, ClassTable, Entries
from shoal.judges.person_distances import person_distances
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.table.records import Classes, MissingCells, Records
from shoal.vocabulary.errors import NoFigure

Knowing = Literal["one record", "all records"] | int
"""Knowledge of an intruder about a person: one record, all of them, or any so many."""

MOST_SETS = 30_000_000
"""Sets of records of persons that are compared, a gigabyte's worth."""

WHOLE = 1 << 40
"""Largest common denominator of the parts into which a person's mass of one is divided exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Groups of persons who cannot be told apart.

    Members of groups are persons, several persons with the same profile, or the records of a person in one class.

    Parameters
    ----------
    groups, members
        Shape (p,); a group and a member of it, both counted from 0, every such pair once.
    member_of
        Shape (n,); the member that each record is of.
    units
        Shape (n,); the person of each record, counted from 0.
    people
        Shape (M,); number of persons that each member stands for.
    shares
        Shape (M,); part of these persons' mass that is in each group of the member, if what is known of a person is
        drawn at random.
    parts
        Shape (n,); number of records among which a person's mass of one is divided inside a group.
    """

    groups: Longs
    members: Longs
    member_of: Longs
    units: Longs
    people: Longs
    shares: Floats
    parts: Longs

    @cached_property
    def persons(self) -> Longs:
        """Shape (G,); number of persons of each group."""
        return np.bincount(self.groups, weights=self.people[self.members]).astype(np.int64)

    @property
    def mass(self) -> Floats:
        """Shape (G,); expected number of persons of whom this is known, if it is drawn at random for each."""
        return np.bincount(self.groups, weights=self.shares[self.members]).astype(np.float64)

    def fewest_of(self) -> Longs:
        """Shape (u,); for each person, the fewest persons who share what may be known."""
        fewest = np.full(len(self.people), np.iinfo(np.int64).max)
        np.minimum.at(fewest, self.members, self.persons[self.groups])
        of_person = np.full(int(self.units.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(of_person, self.units, fewest[self.member_of])
        return of_person

    def records_of(self, chosen: Bools) -> Bools:
        """Shape (n,); True for the records of members of some groups."""
        some = np.zeros(len(self.people), dtype=bool)
        some[self.members[chosen[self.groups]]] = True
        return np.asarray(some[self.member_of])

    def pairs(self) -> tuple[Longs, Longs]:
        """Shape (q,) each; every group with every record of its persons that belongs to it.

        Raises
        ------
        NoFigure
            If there are too many.
        """
        records = np.bincount(self.member_of, minlength=len(self.people))
        each = records[self.members]
        if each.sum() > MOST_SETS:
            raise NoFigure(f"More than {MOST_SETS:,} records would have to be compared in sets.")
        by = np.argsort(self.member_of, kind="stable")
        starts = np.cumsum(records) - records
        of = np.repeat(np.arange(len(each)), each)
        step = np.arange(len(of)) - np.repeat(np.cumsum(each) - each, each)
        return self.groups[of], by[starts[self.members[of]] + step]


def known(tokens: Longs, units: Longs, knowing: Knowing) -> Known:
    """Groups of persons by what is known of them.

    Parameters
    ----------
    tokens
        Shape (n,); equal numbers from 0 for records that cannot be told apart.
    units
        Shape (n,); the person of each record.

    Raises
    ------
    NoFigure
        If there are too many sets of m records to compare.
    """
    units = np.unique(units, return_inverse=True)[1]
    records = np.bincount(units)[units]
    if knowing in ("one record", 1):
        pairs, sizes = classes([tokens, units], len(units))
        first = first_rows(pairs, len(sizes))
        return Known(
            groups=tokens[first],
            members=np.arange(len(sizes)),
            member_of=pairs,
            units=units,
            people=np.ones_like(sizes),
            shares=sizes / records[first],
            parts=sizes[pairs],
        )
    numbers = profiles(tokens, units)
    if knowing == "all records":
        alone = np.ones(len(numbers), dtype=np.int64)
        members = np.arange(len(numbers))
        return Known(
            groups=numbers,
            members=members,
            member_of=units,
            units=units,
            people=alone,
            shares=alone.astype(np.float64),
            parts=records,
        )
    sets, members = _sets(tokens, units, numbers, int(knowing))
    people = np.bincount(numbers)
    shares = people / np.maximum(np.bincount(members, minlength=len(people)), 1)
    return Known(
        groups=sets, members=members, member_of=numbers[units], units=units, people=people, shares=shares, parts=records
    )


def profiles(tokens: Longs, units: Longs) -> Longs:
    """Shape (u,); equal numbers from 0 for persons with as many records of each token.

    `units`, shape (n,): the person of each record, every number from 0 to u - 1 at least once.
    """
    ordered = tokens[np.lexsort((tokens, units))]
    lengths = np.bincount(units)
    starts = np.cumsum(lengths) - lengths
    numbers, count = np.empty(len(lengths), dtype=np.int64), 0
    for length in np.unique(lengths):
        alike = np.flatnonzero(lengths == length)
        ids, sizes = classes([ordered[starts[alike] + place] for place in range(length)], len(alike))
        numbers[alike] = ids + count
        count += len(sizes)
    return numbers


def tokens_of_members(tokens: Longs, units: Longs, members: Longs) -> Longs:
    """Shape (n,); tokens that also differ by all tokens of a member of its unit, as of a person of a household.

    `members`, shape (n,): number of the member whose each record is.
    """
    inner = classes([units, members], len(tokens))[0]
    return classes([tokens, profiles(tokens, inner)[inner]], len(tokens))[0]


def ordered_tokens(tokens: Longs, units: Longs, order: Longs) -> Longs:
    """Shape (n,); tokens that also differ by the place of the record among those of its person.

    `order`, shape (n,): numbers by which a person's records are ordered; equal ones have the same place.
    """
    by = np.lexsort((order, units))
    first = np.diff(units[by], prepend=-1) != 0
    steps = np.cumsum(first | (np.diff(order[by], prepend=-1) != 0))
    place = np.empty(len(tokens), dtype=np.int64)
    place[by] = steps - np.maximum.accumulate(np.where(first, steps, 0))
    return classes([tokens, place], len(tokens))[0]


def _sets(tokens: Longs, units: Longs, numbers: Longs, m: int) -> tuple[Longs, Longs]:
    """Shape (p,) each; sets of 1 to m records by number, and the profiles that hold them.

    `numbers`, shape (u,): profile of each person; the sets of a profile are built from one of its persons.
    """
    first = np.zeros(len(numbers), dtype=bool)
    first[first_rows(numbers, int(numbers.max(initial=-1)) + 1)] = True
    mine = first[units]
    profile, token = numbers[units[mine]], tokens[mine]
    order = np.lexsort((token, profile))
    profile, token = profile[order], token[order]
    again = (np.diff(profile, prepend=-1) == 0) & (np.diff(token, prepend=-1) == 0)
    ends = np.cumsum(np.bincount(profile))[profile]  # beyond the last record of the profile
    last = np.flatnonzero(~again)
    keys, solutions, count = [token[last]], [], 0
    while len(last):
        sets, sizes = classes(keys, len(last))
        solutions.append((sets + count, profile[last]))
        count += len(sizes)
        if len(solutions) == m:
            break
        last, before = _longer(last, sets, ends, again)
        keys = [before, token[last]]
    every = [np.concatenate(part) for part in zip(*solutions)]
    return every[0], every[1]


def _longer(last: Longs, sets: Longs, ends: Longs, again: Longs) -> tuple[Longs, Longs]:
    """Sets with one record more: the place of their last record, and the sets that they were made of."""
    more = ends[last] - last - 1
    if more.sum() > MOST_SETS:
        raise NoFigure(f"There are more than {MOST_SETS:,} sets of so many records, too many to compare.")
    before = np.repeat(np.arange(len(last)), more)
    step = np.arange(len(before)) - np.repeat(np.cumsum(more) - more, more)
    place = last[before] + 1 + step
    kept = ~again[place] | (step == 0)  # an equal one only together with the one before it
    return place[kept], sets[before[kept]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PersonsInMemory(ClassTable):
    """Groups of persons of a released table; each person counts as one, however many records are of the group."""

    pair: TablePair
    known: Known
    knowing: Knowing
    unit: str  # Name of one of the persons

    @property
    def sizes(self) -> Longs:
        return self.known.persons

    @property
    def keys(self) -> Records:
        records = first_rows(self.known.member_of, len(self.known.people))
        return self.pair.released.take(records[self.known.members[first_rows(self.known.groups, len(self.sizes))]])

    def units(self, unit: str) -> Longs | None:
        return self.sizes

    def matching(self, missing: MissingCells) -> ClassFigures:
        return ClassFigures(sizes=self.sizes, figures={MASS: self.known.mass}, noun=self.unit)

    def seen(self, columns: Iterable[Entries], figures: Iterable[Floats]) -> ClassFigures:
        return replace(super().seen(columns, figures), noun=self.unit)

    def confidential(self, binning: Binning) -> Iterable[Entries]:
        groups, rows = self.known.pairs()
        parts = self.known.parts
        whole = min(int(np.lcm.reduce(np.unique(parts).astype(object), initial=1)), WHOLE)
        entries = Classes(ids=groups, sizes=self.sizes, times=(whole // parts)[rows])
        for name in self.pair.released.confidential:
            variable = self.pair.released[name]
            bins = binning(variable)
            yield variable, replace(bins, bins=bins.take(rows)), entries

    def closeness(self, binning: Binning) -> ClassFigures:
        """Distance of each group's persons from all persons of the table, by confidential column."""
        groups, rows = self.known.pairs()
        of_table = 1 / np.bincount(self.known.units)[self.known.units]
        in_groups = (1 / self.known.parts)[rows]
        columns = list(self.confidential(binning))
        whole = [binning(variable) for variable, _, _ in columns]
        count = len(self.sizes)
        return self.seen(columns, [person_distances(b, of_table, groups, rows, in_groups, count) for b in whole])

    def represented(self, binning: Binning) -> ClassFigures:
        """The most values that different persons of each group stand for, one each, by confidential column."""
        groups, rows = self.known.pairs()
        people, _ = classes([groups, self.known.units[rows]], len(groups))
        columns = list(self.confidential(binning))
        return self.seen(columns, [self._matched(bins.bins, groups, people) for _, bins, _ in columns])

    def _matched(self, bins: Ints, groups: Longs, people: Longs) -> Floats:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        there = bins >= 0
        values, sizes = classes([groups[there], bins[there]], int(there.sum()))
        links = csr_array((np.ones(len(values)), (people[there], values)), (int(people.max()) + 1, len(sizes)))
        matched = np.flatnonzero(maximum_bipartite_matching(links, perm_type="row") >= 0)
        group_of = groups[there][first_rows(values, len(sizes))]
        return np.bincount(group_of[matched], minlength=len(self.sizes)).astype(np.float64)
