"""Two versions of one table side by side, as measures of risk and utility compare them.

A released table may hold fewer records or columns than the original, in another order. A `TablePair` has the original
record that each released one came from, if that is known, and the groups of records. Values that several judges need
are computed once: the columns of both tables, the classes of the quasi-identifiers, and both tables in the space in
which distances are taken. Intruders work with the *closure* of the release: the table with every cell filled in that it
lets one deduce (`shoal.judges.closure`).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from shoal.judges.closure import Closure, closure
from shoal.judges.privacy_bought import PrivacyBought
from shoal.judges.space import Line, Points, Space, column_of
from shoal.kernels.arrays import Longs
from shoal.table.partition import Partition
from shoal.table.records import Classes, MissingCells, Records
from shoal.table.schema import UNITS
from shoal.table.step_result import StepTrace
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, NoFigure, plural, quoted

T = TypeVar("T")

ROUNDING = 1e-9
"""Relative differences up to this come from arithmetic, not from a change."""

NOTHING_CONTINUOUS = "The two tables have no continuous quasi-identifier or confidential column in common."
NOTHING_COMMON = "The two tables have no quasi-identifier or confidential column in common."
NOTHING_CATEGORICAL = "The two tables have no categorical quasi-identifier in common."
NOTHING_KNOWN = "The released table has no quasi-identifier, so there is nothing to link by."
NOBODY = "The released table has no records, so there is no one to find."
NO_PEOPLE = (
    "Every quasi-identifier was made anew for the table as a whole, so no released record stands for a person who "
    "could be matched to it."
)
NO_VERSIONS = (
    "Every column that is compared was made anew for the table as a whole, so no released value is a version of one "
    "original value; measures of distributions compare such tables."
)
NO_PLAN = (
    "The plan is not at hand: it is carried out again on other records, as protect can where the table is held whole."
)
NO_HOLDOUT = "There is no holdout: records of the same population that the release does not use."
UNPAIRED = (
    "The released table does not say which original record each of its records came from "
    "(the tables differ in length), so records cannot be compared one by one."
)
NO_ORIGINAL = "The original table is not at hand, and the figure compares with it."
"""Reasons for having no figure, in the same words for all measures."""


class Again(Protocol):
    """A plan that can be carried out on other records."""

    def __call__(self, others: Any, mine: Longs, theirs: Longs, seed: int, course: tuple[int, int]) -> Records:
        """The table released from some rows of the original and some of a further table, `others`.

        `course`: which run this is, from 0, and of how many. Raises NoFigure if there is none.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class TablePair:
    """An original table and the table released from it."""

    original: Records | None  # None where it is not at hand
    released: Records  # The table as released, rounding and formatting done
    closure: Closure  # The released table with everything filled in that it gives away itself
    # Shape (n',); position in the original of the record that each released one came from; None where that is not known
    place: Longs | None = None
    # Groups of the released records, or of all original ones; None if there are none, or they are not known
    groups: Partition | None = None
    # For each column that was redistributed inside groups (see `shoal.table.step_result.Grouping`), or changed by a
    # mask, the groups of the released records; None where nobody knows what was done
    dealt: Mapping[str, Partition] | None = None
    # What a missing cell matches where records are counted, unless a measure says otherwise: what is required of the
    # release reads them so
    missing: MissingCells = "equal"
    # Columns whose cells were made for the table as a whole, so that a record's say nothing of one person
    made_anew: tuple[str, ...] = ()
    traces: tuple[StepTrace, ...] = ()  # What each step depended on, in order
    # By identifier, shape (n',): number of its value for each released record, if known and in neither table
    units: Mapping[str, Longs] = field(default_factory=dict)
    bought: PrivacyBought | None = None  # What differential privacy bounds; None where no account of the run is at hand
    again: Again | None = None  # The plan on other records; None where it is not at hand
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        original: Records | None,
        released: Records,
        groups: Partition | None = None,
        known: Closure | None = None,
        dealt: Mapping[str, Partition] | None = None,
        *,
        missing: MissingCells = "equal",
        made_anew: tuple[str, ...] = (),
        traces: tuple[StepTrace, ...] = (),
        units: Mapping[str, Longs] | None = None,
        traced: bool = False,
    ) -> "TablePair":
        """The pair, paired by row numbers; the closure is found where it is not known.

        `traced`: the release is known to say which records it holds, were they the first of the original.
        """
        return cls(
            original=original,
            released=released,
            place=None if original is None else counterparts(original, released, traced=traced),
            groups=groups,
            closure=closure(released) if known is None else known,
            dealt=dealt,
            missing=missing,
            made_anew=made_anew,
            traces=traces,
            units=units or {},
        )

    @property
    def stages(self) -> "tuple[TablePair, ...]":
        """Pairs of the original and the release filled in, by certain laws and then by all; none if unchanged."""
        return tuple(replace(self, released=records) for records in self.closure.stages)

    @property
    def informed(self) -> "tuple[TablePair, ...]":
        """As `stages`, filled in with the laws of the original as well; none if that changes nothing."""
        return () if self.closure.informed is None else replace(self, closure=self.closure.informed).stages

    @property
    def before(self) -> Records:
        """The original. Raises NoFigure if it is not at hand."""
        if self.original is None:
            raise NoFigure(NO_ORIGINAL)
        return self.original

    @property
    def pairing(self) -> Longs:
        """The original record of each released one. Raises NoFigure if it is not known."""
        if self.place is None:
            raise NoFigure(UNPAIRED)
        return self.place

    @property
    def one_to_one(self) -> bool:
        """True if every original record is known to be a released one, once."""
        place, original = self.place, self.original
        if place is None or original is None or len(place) != len(original):
            return False
        return self.once("one to one", lambda: bool((np.bincount(place) == 1).all()))

    @property
    def released_labels(self) -> Longs | None:
        """Shape (n',); the group of each released record, whether records were grouped before or after some left."""
        if self.groups is None:
            return None
        if self.original is not None and len(self.groups) == len(self.original):
            return None if self.place is None else self.groups.labels[self.place].astype(np.int64)
        return self.groups.labels.astype(np.int64) if len(self.groups) == len(self.released) else None

    @property
    def classes(self) -> Classes:
        """Released records that agree on all quasi-identifiers, once filled in as far as the release allows."""
        return self.closure.records.classes(self.released.quasi_identifiers)

    def units_by(self, unit: str) -> Longs | None:
        """Shape (n',); number of the unit of each released record, -1 if it is missing; None if units are not known.

        `unit`: `person` or `household`, by the column with that role; or the name of an identifier. A column that is
        not released is that of the original.
        """
        return self._numbers_of(unit) if unit in UNITS else self.values_by(unit)

    def values_by(self, name: str) -> Longs | None:
        """Shape (n',); number of each released record's value of a column, as `units_by`, whatever its name."""
        if name in self.units:
            return self.units[name]
        if name in self.released:
            return self.released.codes_as_written(name).astype(np.int64)
        if self.original is None or self.place is None or name not in self.original:
            return None
        return self.original.codes_as_written(name).astype(np.int64)[self.place]

    def column_of(self, unit: str) -> str | None:
        """The released column with the numbers of a unit; None if it is not released."""
        names = self.released.names(unit) if unit in UNITS else (unit,) if unit in self.released else ()
        return names[0] if names else None

    def name_of(self, unit: str) -> str:
        """The column with the numbers of a unit, released or not; empty if the tables have none."""
        tables = (self.released, *(() if self.original is None else (self.original,)))
        return next((name for records in tables for name in records.names(unit)), "")

    def _numbers_of(self, role: str) -> Longs | None:
        """Shape (n',); as `units_by`, for persons or households."""
        if (numbers := self.released.unit_numbers(role)) is not None or role in self.units:
            return self.units[role] if numbers is None else numbers
        numbers = None if self.original is None or self.place is None else self.original.unit_numbers(role)
        return None if numbers is None or self.place is None else numbers[self.place]

    def common(self, names: Iterable[str] | None, *roles: str, continuous: bool | None = None) -> tuple[str, ...]:
        """Columns of both tables; as the function `common`."""
        return common(self.before, self.released, names, *roles, continuous=continuous)

    def space(self, names: Iterable[str]) -> Space:
        """Columns of both tables in the space of distances; labels that only the release has lie at the mean of the
        original records that carry them."""
        columns = tuple(self.once(("column", name), partial(self._column, name)) for name in names)
        return Space.of(columns, self.before, self.released)

    def _column(self, name: str) -> Line | Points:
        return column_of(self.before[name], self.released[name], self.place)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value that several judges need, computed when the first of them asks for it."""
        if key not in self._made:
            self._made[key] = make()
        return cast(T, self._made[key])


def counterparts(original: Records, released: Records, *, traced: bool = False) -> Longs | None:
    """Shape (n',); position in `original` of the record that each released one came from.

    None if that is not known: the tables differ in length and the released one does not tell which records it holds.
    Row numbers from 0 tell so only if they are `traced`: otherwise they may be a mere count.
    """
    rows = released.rows
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    if not traced and len(released) != len(original) and np.array_equal(rows, np.arange(len(rows))):
        return None
    if not len(original):
        return None
    if np.array_equal(original.rows, np.arange(len(original))):
        return rows if rows.min() >= 0 and rows.max() < len(original) else None
    order = np.argsort(original.rows, kind="stable")
    place = order[np.minimum(np.searchsorted(original.rows[order], rows), len(order) - 1)]
    return place if np.array_equal(original.rows[place], rows) else None


def common(
    original: Records, released: Records, names: Iterable[str] | None, *roles: str, continuous: bool | None = None
) -> tuple[str, ...]:
    """Columns named, or those with one of the roles, that both tables hold; of one level if asked.

    Raises DataError if a column that was named is not in both tables or not of the level asked for.
    """
    chosen = original.names(*roles) if names is None else tuple(names)
    if names is not None and (absent := [n for n in chosen if n not in original or n not in released]):
        raise DataError(f"Columns must be in both tables; {quoted(absent)} {'is' if len(absent) == 1 else 'are'} not.")
    kept = tuple(n for n in chosen if n in released)
    if continuous is not None:
        right = tuple(n for n in kept if original[n].continuous == continuous == released[n].continuous)
        if names is not None and len(right) < len(kept):
            wrong = [n for n in kept if n not in right]
            raise DataError(
                f"{plural(len(wrong), 'column')} not {'continuous' if continuous else 'categorical'} in both tables: "
                f"{quoted(wrong)}. Leave out what is not."
            )
        kept = right
    return kept


def comparable(original: Records, released: Records, names: Iterable[str]) -> tuple[str, ...]:
    """The columns that are numbers in both tables or categories in both."""
    return tuple(n for n in names if original[n].continuous == released[n].continuous)


def codes_like(before: Variable, after: Variable) -> Longs:
    """Shape (n',); a released column in the original's codes, -1 for missing and for labels the original lacks.

    Labels are compared as text, since a file may give numbers back as text.
    """
    places = {str(category): i for i, category in enumerate(before.categories)}
    codes = np.array([*(places.get(str(category), -1) for category in after.categories), -1], dtype=np.int64)
    return np.asarray(codes[after.values])


def moved_constant(before: Variable, after: Variable) -> bool:
    """True if a column of one single number has other values in the release: a change without a scale.

    A billionth of the number is rounding (the mean of equal values need not be that value to the last bit).
    """
    present = before.values[~before.missing]
    if not before.continuous or (len(present) and np.ptp(present) > 0):
        return False
    left = after.values[~after.missing]
    if not after.continuous or not len(present):
        return bool(len(left))
    return bool((np.abs(left - present[0]) > ROUNDING * abs(present[0])).any())
