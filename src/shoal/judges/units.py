"""Units: the persons, or households, of whom a table may hold several records.

A class of k records hides nobody if all of them belong to one person. The values of an identifier, or the number of a
household, tell which records belong to one person.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Ints, Longs
from shoal.report.evidence import OfRecords
from shoal.table.records import Classes
from shoal.table.schema import UNITS
from shoal.vocabulary.errors import plural
from shoal.vocabulary.facts import Band, Figure

ORDER = "the order of the records"
"""What tells whose records are whose where a table is released in an order in which those of a unit are neighbours."""

TELLING = 0.9
"""Share of the records of a repeated value from which on the value tells whose they are: exceptions do not hide it."""


def units_of_classes(classes: Classes, units: Longs) -> Longs:
    """Shape (C,); distinct units of each class, at least 1: a missing unit may be one that the class already has.

    `units`, shape (n,): number of the unit of each record, -1 if it is missing.
    """
    present = units >= 0
    width = int(units.max(initial=0)) + 1
    pairs = np.unique(classes.ids[present] * width + units[present])
    return np.maximum(np.bincount(pairs // width, minlength=len(classes.sizes)), 1)


def telling_column(pair: TablePair, unit: str) -> str | None:
    """A released column that tells which records are one unit's: its own, or one that gives several of them away.

    Of the records that share a value of such a column, nine in ten or more share it with the same unit's alone. `ORDER`
    where no column does, but nine in ten or more records of units that have several lie beside another one of theirs.
    """
    if (own := pair.column_of(unit)) is not None:
        return own
    units = pair.units_by(unit)
    if units is None:
        return None
    for variable in pair.released.variables:
        cells = pair.released.codes_as_written(variable.name).astype(np.int64)
        present = (cells >= 0) & (units >= 0)
        records, width = np.bincount(cells[present]), int(units.max(initial=0)) + 1
        owners = np.bincount(np.unique(cells[present] * width + units[present]) // width, minlength=len(records))
        shared = int(records[records > 1].sum())
        if shared and records[(records > 1) & (owners == 1)].sum() >= TELLING * shared:
            return variable.name
    return ORDER if _order_tells(units) else None


def _order_tells(units: Longs) -> bool:
    """True if nearly all records of units that have several lie beside another record of the same unit."""
    several = (units >= 0) & (np.bincount(np.maximum(units, 0), weights=units >= 0)[np.maximum(units, 0)] > 1)
    same = np.concatenate([[False], units[1:] == units[:-1], [False]])
    beside = (same[1:] | same[:-1]) & several
    return bool(several.any() and beside.sum() >= TELLING * several.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedIdentifier:
    """An identifier that repeats in the release, so that figures which count records do not count persons."""

    identifier: str  # The column
    # records, values: records that have a value of it, and how many values they have: of the release, or of the
    # original where the release is counted part by part. Private
    records: int
    values: int
    # smallest, groups, few: fewest values in a class of released records, the classes, and those with fewer than k
    # values; None where that was not counted. Private
    smallest: int | None = None
    groups: int | None = None
    few: int | None = None
    k: int = 2  # Fewest values that classes are required to hold; 2 if nothing is required
    # Records whose value an earlier record has: of the original, where one record more or less changes it by 1 at most,
    # or, for persons, of the release; None where that is not at hand
    further: int | None = None
    persons: bool = False  # True if the column has the role person, so that requirements can count its values

    def sentence(self, promises: Sequence[str]) -> str:
        """All figures in words; private. `promises`: names of the requirements that count records."""
        if self.persons and not promises:
            there = f"{plural(self.values, 'person')} in {plural(self.records, 'record')}"
            return f"{there}: requirements count persons, measured risks count records."
        promised = _promised(promises)
        persons = f"{plural(self.values, 'value')} in {plural(self.records, 'record')}"
        if self.smallest is None or self.groups is None or self.few is None:
            return f"{promised} of records, not of values of '{self.identifier}': there are {persons}.{self._remedy}"
        return (
            f"{promised} of records; counted in values of '{self.identifier}' the smallest group is "
            f"{self.smallest:,} ({persons}; {self.few:,} of {plural(self.groups, 'group')} "
            f"{'has' if self.few == 1 else 'have'} fewer than {self.k:,}).{self._remedy}"
        )

    @property
    def _remedy(self) -> str:
        return "" if self.persons else " Give it the role person if it numbers persons: promises then count them."

    def public_sentence(self, promises: Sequence[str]) -> str:
        """Publishable sentence; empty if there is none.

        It has a bound that no single record of the original moves. A person may have many, so for persons it has the
        number of the release.
        """
        if not self.further:
            return ""
        if self.persons:
            repeat = f"{plural(self.further, 'record')} {'repeats' if self.further == 1 else 'repeat'} a person"
        else:
            bound = Figure(value=float(self.further), unit="records", influence=1, better="higher").public()
            if not isinstance(bound, Band):
                return ""
            repeat = f"{bound} of the original repeat one"
        if self.persons and not promises:
            return f"Requirements count persons, measured risks count records: {repeat}."
        return f"{_promised(promises)} of records, not of values of '{self.identifier}': {repeat}."

    def private_form(self, promises: Sequence[str]) -> OfRecords:
        """All figures, JSON-able."""
        return {
            "sentence": self.sentence(promises),
            "promises": list(promises),
            "identifier": self.identifier,
            "records": self.records,
            "values": self.values,
            "smallest": self.smallest,
            "groups": self.groups,
            "few": self.few,
            "k": self.k,
        }


def _promised(promises: Sequence[str]) -> str:
    return ", ".join(promises) or "Every figure is"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLess:
    """Requirements by which an intruder knows less of a person, or household, than the released table lets one know."""

    identifier: str  # The released column that tells which records are one person's, or one household's
    asked: tuple[str, ...]  # The requirements, with what they take to be known
    own: bool  # True if it is the released column of persons or households, as everybody sees
    unit: str = "person"

    def sentence(self, promises: Sequence[str]) -> str:
        """The caution; it says nothing of any one record."""
        remedy = "" if self.unit == "person" else f"unit: {self.unit} with "
        telling = f"{ORDER} tells" if self.identifier == ORDER else f"'{self.identifier}' is released and tells"
        return (
            f"{'; '.join(self.asked)}: but {telling} which records are one {self.unit}'s, so who knows more of a "
            f"{self.unit} may find them all. Say {remedy}knowing: all records, or {self._way_out}."
        )

    @property
    def _way_out(self) -> str:
        if self.identifier == ORDER:
            return "shuffle: true"
        return "release_key: false" if self.own and self.unit in UNITS else f"leave '{self.identifier}' out"

    def public_sentence(self, promises: Sequence[str]) -> str:
        """The same for the public, unless it would name a column that nobody knows to tell persons apart."""
        return self.sentence(promises) if self.own else ""

    def private_form(self, promises: Sequence[str]) -> OfRecords:
        """The same, JSON-able."""
        return {"sentence": self.sentence(promises), "promises": list(self.asked), "identifier": self.identifier}


def repeated(
    pair: TablePair, identifiers: Iterable[str], k: int, *, persons: bool = False
) -> Iterator[RepeatedIdentifier]:
    """The identifiers that repeat in the original, or else in the release.

    `identifiers`: of the original, released or not; `k`: values that a class should hold; `persons`: True if the
    columns have the role person.
    """
    released, original = pair.released, pair.original
    keys = released.quasi_identifiers
    known = released if original is None else original
    if keys and set(keys) <= set(pair.made_anew):
        return  # no record stands for anyone
    countable = pair.missing == "equal" or pair.closure.records.complete_in(keys)
    for name in identifiers:
        units = pair.values_by(name)
        if units is None or (name in known and known[name].of_days):
            continue  # a day is shared by persons, and tells none from another
        further = None if original is None or name not in original else _further(original[name].codes())
        if not (_further(units) if further is None else further):
            continue  # of the original, where it is at hand: no more is told than what one record hardly changes
        counts = units_of_classes(pair.classes, units) if countable else None
        if persons:
            further = _further(units) if name in released else None
        yield RepeatedIdentifier(
            identifier=name,
            records=int((units >= 0).sum()),
            values=int((units >= 0).sum()) - _further(units),
            smallest=None if counts is None else int(counts.min()),
            groups=None if counts is None else len(counts),
            few=None if counts is None else int((counts < k).sum()),
            k=k,
            further=further,
            persons=persons,
        )


def _further(units: Longs | Ints) -> int:
    """Number of records whose unit an earlier record has."""
    present = units[units >= 0]
    return len(present) - len(np.unique(present))
