"""Base of partitions whose groups must satisfy a requirement on the confidential columns.

The requirement compares a group with the whole table, so it is stated once for the table and then carried
into its strata. Whatever a method does, its groups are checked at the end; where some fail, groups are merged
(which cannot make the worst one worse) until all hold. Only where even a whole stratum, as one group, fails is
there no solution: a stratum's distribution is the average of its groups', so no way to divide it could be
better than leaving it whole. The refusal then names what can be reached.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.requirement import RequirementCheck, emd, merge_groups
from shoal.kernels.search.neighbours import candidates
from shoal.partition.base import Partitioner, in_turn
from shoal.table.confidential_bins import Bins
from shoal.table.equal_rows import patterns
from shoal.table.packed import Coding, Packed
from shoal.table.prelude import Floats, Generator, Ints, Longs, Partition, Progress, Records, ints
from shoal.vocabulary.prelude import ByLabel, Count, DataError, Facts, Nested, OfPlan, Refused, of_original

NEAR = 30
"""Neighbours of a record that a search looks at (as many as refinement without requirement gains from)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupRequirement:
    """Requirement on every group, stated for a whole table and applied to some of its records."""

    columns: tuple[Bins, ...]  # The confidential columns of the whole table
    requirements: tuple[emd.Requirement, ...]  # One a column
    bins: Ints  # Shape (columns, n); bins of the records at hand
    # Shape (n,); number of the person of each record at hand, of whom every group holds `fewest`; None where k counts
    # records
    persons: Ints | None = None
    fewest: int = 1

    @classmethod
    def of(cls, columns: list[Bins], requirements: list[emd.Requirement]) -> "GroupRequirement":
        return cls(
            columns=tuple(columns),
            requirements=tuple(requirements),
            bins=np.ascontiguousarray(np.vstack([column.bins for column in columns])),
        )

    @property
    def check(self) -> RequirementCheck:
        if self.persons is None:
            return RequirementCheck(self.bins, self.requirements)
        return RequirementCheck(ints(np.vstack([self.bins, self.persons])), (*self.requirements, self._of_persons))

    @property
    def _of_persons(self) -> emd.Requirement:
        return emd.Diverse("distinct", self.fewest, 1.0)

    def take(self, rows: NDArray[Any]) -> "GroupRequirement":
        persons = None if self.persons is None else ints(self.persons[rows])
        return replace(self, bins=np.ascontiguousarray(self.bins[:, rows]), persons=persons)

    def unmet(self, labels: Ints | Longs) -> bool:
        """True if a group exceeds what is required, or holds too few persons."""
        if not len(labels):
            return False
        if self.persons is not None:
            width, groups = int(self.persons.max()) + 1, int(labels.max()) + 1
            short = emd.excesses(self._of_persons, self.persons, labels.astype(np.int64), width, groups)
            if short.max() > 0:
                return True
        return bool(self.excess(labels).max() > 0)

    def excess(self, labels: Ints | Longs) -> Floats:
        """Shape (G,); by how much each group exceeds what is required, at most 0 where it satisfies it."""
        return self._largest(emd.excesses, self.requirements, labels)

    def distances(self, labels: Ints | Longs) -> Floats:
        """Shape (G,); the largest distance of each group from the table over the columns."""
        return self._largest(emd.distances, [column.table() for column in self.columns], labels)

    def _largest(self, figure: Callable[..., Floats], against: Sequence[Any], labels: Ints | Longs) -> Floats:
        """Shape (G,); the largest figure of each group over the columns, each set against something of its own."""
        count = int(labels.max()) + 1 if len(labels) else 0
        by_column = [
            figure(standard, bins, labels.astype(np.int64), column.m, count)
            for standard, bins, column in zip(against, self.bins, self.columns)
        ]
        return np.max(by_column, axis=0) if count else np.empty(0)

    def ranks(self) -> Ints:
        """Shape (columns, n); the records' values in the order of each column, equal values with equal ranks.

        Categories between which all distances are equal have no order of their own: they stand by marginality
        (Domingo-Ferrer, Sánchez & Rufian-Torrell 2013), a category's sum of distances from all records, which
        here is the number of records that have another one; so the most frequent comes first, ties as the
        categories are given. With a hierarchy they stand as its leaves do.
        """
        return ints(np.vstack([_by_marginality(column)[bins] for column, bins in zip(self.columns, self.bins)]))


class RequirementPartitioner(Partitioner):
    """A partition method whose groups satisfy a requirement; subclasses say which, and how they go about it."""

    compares_confidential = True
    by_known_columns = True
    by_household = False  # a household has no single confidential value

    @abstractmethod
    def required(self, records: Records) -> GroupRequirement:
        """The requirement, stated for the confidential columns of the whole table."""

    @abstractmethod
    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        """Groups of some records of the table, and facts; what does not satisfy the required will be merged."""

    @abstractmethod
    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> ByLabel:
        """Levels that the worst group reaches, by name."""

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        required = self._required_of(records)
        self._check_reachable(required, np.zeros(len(records), dtype=np.int64))
        return self.settled(records, columns, required, rng, progress)

    def _by_stratum(
        self, records: Records, columns: Sequence[str], strata: Longs, rng: Generator, progress: Progress
    ) -> Partition:
        if records.unit == "household" and records.households is not None:
            return super()._by_stratum(records, columns, strata, rng, progress)  # which says that it cannot
        for number, size in enumerate(np.bincount(strata)):
            self._check_size(int(size), f"stratum {number + 1}", "record")
        part = self._in_pieces("stratum", records, columns, strata, rng, progress)
        return replace(part, facts={"strata": Nested(part.facts), **of_original(self._reached(records, part))})

    def _kinds(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        if records.complete_in(columns):
            return super()._kinds(records, columns, rng, progress, where)
        one = np.zeros(len(records), dtype=np.int64)
        part = self._in_pieces("columns missing together,", records, columns, one, rng, progress)
        return replace(part, facts={**part.facts, **of_original(self._reached(records, part))})

    def _in_pieces(
        self, title: str, records: Records, columns: Sequence[str], strata: Longs, rng: Generator, progress: Progress
    ) -> Partition:
        """Groups inside each stratum and, in it, of records that lack the same columns, held to the whole table."""
        kinds = patterns(np.column_stack([strata, *(records[name].missing for name in columns)]))
        pieces = sorted(kinds, key=lambda kind: kind[0].tolist())
        for (number, *lacking), rows in pieces:
            if len(rows) < self.smallest:
                short = [name for name, lacked in zip(columns, lacking) if lacked]
                raise self._too_few(len(rows), short, f"stratum {number + 1}" if strata.any() else "the table")
        required = self._required_of(records)
        self._check_reachable(required, strata)
        apart = np.empty(len(records), dtype=np.int64)
        for number, (_, rows) in enumerate(pieces):
            apart[rows] = number
        if not records.complete_in(columns) and required.unmet(apart):
            raise self._too_unlike(required, apart)

        def piece(number: int, rows: Longs, share: Progress) -> Partition:
            present = [name for name, lacked in zip(columns, pieces[number][0][1:]) if not lacked]
            if not present:
                return Partition(labels=np.zeros(len(rows), dtype=np.int32))
            return self.settled(records.take(rows), present, required.take(rows), rng, share)

        return in_turn(title, [rows for _, rows in pieces], piece, progress)

    def _reached(self, records: Records, part: Partition) -> ByLabel:
        return self.achieved(self._required_of(records), part.labels)

    def _too_unlike(self, required: GroupRequirement, apart: Longs) -> Refused:
        reached = " and ".join(f"{name} {value:.10g}" for name, value in self.achieved(required, apart).items())
        return Refused(
            f"{self.method_name} groups records by themselves that lack the same columns, and some of these do not "
            f"satisfy the requirement even as one group ({reached}). Set missing: drop or impute for columns with "
            f"missing values (category for nominal ones), form groups without them (by: ...), or relax the requirement."
        )

    def _required_of(self, records: Records) -> GroupRequirement:
        if not records.confidential:
            raise DataError(f"{self.method_name} needs a confidential column; give one the role confidential.")
        required, persons = self.required(records), records.households
        if persons is None:
            return required
        return replace(required, persons=ints(persons), fewest=self.smallest)

    def _units(
        self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress, where: str
    ) -> Partition:
        """Groups that hold k persons each, whose records may be of several groups."""
        persons = records.households
        if persons is None or records.unit == "household":
            return super()._units(records, columns, rng, progress, where)
        self._check_size(len(np.unique(persons)), where, records.unit)
        part = self.assign(records, columns, rng, progress)
        return replace(part, facts={**part.facts, "unit": OfPlan(records.unit)})

    def _check_reachable(self, required: GroupRequirement, strata: Longs) -> None:
        if required.unmet(strata):
            where = "the table" if strata.max() == 0 else "a whole stratum"
            reached = " and ".join(f"{name} {value:.10g}" for name, value in self.achieved(required, strata).items())
            raise Refused(
                f"{self.method_name}: no partition satisfies the requirement, since not even {where} as one "
                f"group does. The best that can be reached: {reached}. Relax the requirement."
            )

    def settled(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> Partition:
        """Groups that hold: those of `divide`, merged where they fail, checked."""
        if not len(records):
            return Partition(labels=np.empty(0, dtype=np.int32))
        labels, facts = self.divide(records, columns, required, rng, progress)
        merges = 0
        part = Partition.of(labels)
        if part.k < self.smallest or required.unmet(part.labels):
            points = Packed.of(records, columns)
            labels, merges = merge_groups(points.x, required.check, part.labels, self.smallest, coding=points.coding)
            part = Partition.of(labels)
        if part.k < self.smallest or required.unmet(part.labels):
            raise Refused(f"{self.method_name} found no groups that satisfy the requirement; nothing is released.")
        reached = of_original(self.achieved(required, part.labels))
        return Partition(labels=part.labels, facts={**facts, "merges": Count(n=merges, unit="merges"), **reached})


def _by_marginality(column: Bins) -> Longs:
    """Shape (m + 1,); the rank of each bin, the last one that of missing values."""
    ranks = np.append(np.arange(column.m), -1)
    if len(column.nodes) == 1:
        ranks[np.lexsort((np.arange(column.m), -column.counts))] = np.arange(column.m)
    return ranks


def near_lists(x: Floats, coding: Coding | None = None) -> Ints:
    """Shape (n, m); near others of each record for a search; a table of one record is its own neighbour."""
    return candidates(x, NEAR, coding=coding) if len(x) > 1 else np.zeros((len(x), 1), dtype=np.int32)
