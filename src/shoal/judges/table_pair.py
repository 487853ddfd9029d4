"""Two versions of one table side by side: what measures of risk and utility need to compare them.

A released table may hold fewer records or columns than the original, in another order. A `TablePair` knows the
original record that each released one came from, where that is known at all, and how the records were grouped. What
several judges need first is made once for all of them: the columns that both tables hold, the classes of the
quasi-identifiers, and both tables in the one space in which distances are taken. What intruders work with is the
*closure* of the release: the table with everything filled in that it gives away itself (`shoal.judges.closure`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.data.partition import Partition
from shoal.data.records import Classes, Records
from shoal.data.variable import Variable
from shoal.errors import DataError, NoFigure, plural, quoted
from shoal.judges.closure import Closure, closure
from shoal.kernels.arrays import Floats, Longs

ROUNDING = 1e-9
"""Relative differences up to this come from arithmetic, not from a change."""

NOTHING_CONTINUOUS = "The two tables have no continuous quasi-identifier or confidential column in common."
NOTHING_COMMON = "The two tables have no quasi-identifier or confidential column in common."
NOTHING_KNOWN = "The released table has no quasi-identifier, so there is nothing to link by."
NOBODY = "The released table has no records, so there is no one to find."
NO_HOLDOUT = "There is no holdout: records of the same population that the release does not use."
UNPAIRED = (
    "The released table does not say which original record each of its records came from "
    "(the tables differ in length), so records cannot be compared one by one."
)
NO_ORIGINAL = "The original table is not at hand, and the figure compares with it."
"""Why measures have no figure; the same words for all of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TablePair:
    """An original table and what was released of it.

    Parameters
    ----------
    original
        None where it is not at hand.
    released
        The table as released, rounding and formatting done.
    place
        Shape (n',); position in the original of the record that each released one came from; None where that is not
        known.
    groups
        How the records were grouped, where they were and it is known: of the released records, or of all original ones.
    dealt
        For each column that was dealt out anew inside groups (see `shoal.step_result.Grouping`), or changed by a mask,
        the groups of the released records; None where nobody knows what was done.
    closure
        The released table with everything filled in that it gives away itself.
    """

    original: Records | None
    released: Records
    closure: Closure
    place: Longs | None = None
    groups: Partition | None = None
    dealt: Mapping[str, Partition] | None = None
    _spaces: dict[tuple[Any, ...], tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        original: Records | None,
        released: Records,
        groups: Partition | None = None,
        known: Closure | None = None,
        dealt: Mapping[str, Partition] | None = None,
    ) -> "TablePair":
        """The pair, paired by row numbers; the closure is found where it is not known."""
        place = None if original is None else counterparts(original, released)
        filled = closure(released) if known is None else known
        return cls(original=original, released=released, place=place, groups=groups, closure=filled, dealt=dealt)

    @property
    def closed(self) -> "TablePair":
        """The pair of the original and the release's closure."""
        return replace(self, released=self.closure.records)

    @property
    def before(self) -> Records:
        """The original.

        Raises
        ------
        NoFigure
            If it is not at hand.
        """
        if self.original is None:
            raise NoFigure(NO_ORIGINAL)
        return self.original

    @property
    def pairing(self) -> Longs:
        """The original record of each released one.

        Raises
        ------
        NoFigure
            If it is not known.
        """
        if self.place is None:
            raise NoFigure(UNPAIRED)
        return self.place

    @property
    def released_groups(self) -> Partition | None:
        """The groups of the released records, where they are known."""
        return self.groups if self.groups is not None and len(self.groups) == len(self.released) else None

    @property
    def released_labels(self) -> Longs | None:
        """Shape (n',); the group of each released record, whether records were grouped before or after some left."""
        if self.groups is None:
            return None
        if self.original is not None and len(self.groups) == len(self.original):
            return None if self.place is None else self.groups.labels[self.place].astype(np.int64)
        known = self.released_groups
        return None if known is None else known.labels.astype(np.int64)

    @property
    def original_groups(self) -> Partition | None:
        """The groups of the original records, where they are known and all of them are still there."""
        known = self.groups is not None and self.original is not None and len(self.groups) == len(self.original)
        return self.groups if known else None

    @property
    def classes(self) -> Classes:
        """Released records that agree on all quasi-identifiers, once filled in as far as the release allows."""
        return self.closure.records.classes(self.released.quasi_identifiers)

    def common(self, names: Iterable[str] | None, *roles: str, continuous: bool | None = None) -> tuple[str, ...]:
        """Columns of both tables; as the function `common`."""
        return common(self.before, self.released, names, *roles, continuous=continuous)

    def embedded(self, names: Iterable[str], *, recoded: bool = True) -> tuple[Floats, Floats]:
        """Both tables in the original's standardised embedding, made once for a set of columns.

        Parameters
        ----------
        recoded
            Whether labels that only the release has are put at the mean of the records that carry them.
        """
        key = (tuple(names), recoded)
        if key not in self._spaces:
            place = self.place if recoded else None
            self._spaces[key] = embedded(self.before, self.released, key[0], place)
        return self._spaces[key]


def counterparts(original: Records, released: Records) -> Longs | None:
    """Shape (n',); position in `original` of the record each released one came from.

    None where that is not known: the tables differ in length and the released one does not say which of the
    records it holds.
    """
    rows = released.rows
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    if len(released) != len(original) and np.array_equal(rows, np.arange(len(rows))):
        return None
    order = np.argsort(original.rows, kind="stable")
    if not len(order):
        return None
    place = order[np.minimum(np.searchsorted(original.rows[order], rows), len(order) - 1)]
    return place if np.array_equal(original.rows[place], rows) else None


def common(
    original: Records, released: Records, names: Iterable[str] | None, *roles: str, continuous: bool | None = None
) -> tuple[str, ...]:
    """Columns named, or those with one of the roles, that both tables hold; of one level if asked.

    Raises
    ------
    DataError
        If a column that was named is not in both tables or not of the level asked for.
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
    """Whether a column of one single number has other values in the release: a change without a scale.

    A billionth of the number is rounding (the mean of equal values need not be that value to the last bit).
    """
    known = before.values[~before.missing]
    if not before.continuous or (len(known) and np.ptp(known) > 0):
        return False
    left = after.values[~after.missing]
    if not after.continuous or not len(known):
        return bool(len(left))
    return bool((np.abs(left - known[0]) > ROUNDING * abs(known[0])).any())


def embedded(
    original: Records, released: Records, names: Iterable[str], place: Longs | None = None
) -> tuple[Floats, Floats]:
    """Both tables in the original's standardised embedding, shapes (n, m) and (n', m).

    A missing value is put at the original column's mean: the best guess, in squared distance, of whoever
    does not know it. A label that the original does not have (a recoded category, an interval instead of a number)
    is put at the mean of the original records that carry it, which `place` (`counterparts`) tells; without it a new
    category is put in the middle of the original ones.
    """
    chosen = tuple(names)
    pairs = [_embedded_column(original[name], released[name], place) for name in chosen]
    if not pairs:
        return np.empty((len(original), 0)), np.empty((len(released), 0))
    return (
        np.ascontiguousarray(np.hstack([x for x, _ in pairs])),
        np.ascontiguousarray(np.hstack([y for _, y in pairs])),
    )


def _embedded_column(before: Variable, after: Variable, place: Longs | None) -> tuple[Floats, Floats]:
    x = before.embedded()
    known = ~np.isnan(x)
    centre = np.where(known, x, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    x = np.where(known, x, centre)
    if before.continuous == after.continuous and (before.continuous or place is None or not _new_labels(before, after)):
        y = before.embedded_like(after)
    elif place is not None and not after.continuous:
        y = _at_means(after, x[place])
    else:
        raise DataError(
            f"Column '{before.name}' holds {'numbers' if after.continuous else 'labels'} in the released table that "
            f"cannot be compared with the original's. Leave it out."
        )
    return x, np.where(np.isnan(y), centre, y)


def _new_labels(before: Variable, after: Variable) -> bool:
    """Whether the release has labels that neither the original nor its hierarchy knows."""
    new = set(after.categories) - set(before.categories)
    if new and before.hierarchy is not None:
        new -= {label for path in before.hierarchy.paths for label in path}
    return bool(new)


def _at_means(after: Variable, x: Floats) -> Floats:
    """Shape (n', m); the mean of `x` over all records with the same label; not a number where it is missing."""
    count = len(after.categories)
    sizes = np.bincount(after.values + 1, minlength=count + 1)[:, None]
    sums = np.column_stack([np.bincount(after.values + 1, weights=column, minlength=count + 1) for column in x.T])
    means = sums / np.maximum(sizes, 1)
    means[0] = np.nan
    return np.asarray(means[after.values + 1])
