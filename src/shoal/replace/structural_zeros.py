"""Combinations that never occur, though chance would have them: a synthetic record must not have them.

No man is pregnant, no child is married. A model that draws one column after the other, or categories independently of
each other in a class, knows this only as far as it is fine enough. So two rules are read off the original:

- two categories that never occur together, where their frequencies would bring them together `CHANCE` times or more if
  they were independent, exclude each other: with 3 expected, none comes by chance once in twenty times (e^-3 = .05);
- a number is not below the smallest that the original has beside a category (or above the largest), where that category
  has `MANY` records or more, so that one more of them would be beyond it once in a hundred times only, and `CHANCE` or
  more of them would be beyond it if the number did not depend on the category.

Nothing is said of rarer combinations. A rule tells that nobody in the table is such, which holds for any one left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs

CHANCE = 3.0
"""Times that two categories would be expected together by chance, from which on it is a rule that they never are."""

MANY = 100
"""Records of a category from which on the range of a number beside it can be a rule."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feature:
    """A column's values, in numbers."""

    values: Floats  # Shape (n,); numbers, NaN where there is none, or categories as whole numbers from 0
    levels: int  # Number of categories; 0 for numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Exclusions:
    """Values of a new column that may not stand beside those of earlier columns."""

    # By the place of an earlier column of categories: shape (its categories, own categories), true where excluded
    pairs: dict[int, Bools]
    # By the place of an earlier column: shape (categories, 2), smallest and largest number. The categories are the
    # earlier column's where this one holds numbers, and this one's where the earlier one does
    ranges: dict[int, Floats]
    levels: int  # Categories of the new column, 0 for numbers

    @classmethod
    def of(cls, new: Feature, before: Sequence[Feature]) -> "Exclusions":
        """The rules that a table keeps between a column and the ones before it."""
        pairs, ranges = {}, {}
        for number, other in enumerate(before):
            if new.levels and other.levels:
                excluded = _never_together(other, new)
                if excluded.any():
                    pairs[number] = excluded
            elif new.levels or other.levels:
                categories, numbers = (new, other) if new.levels else (other, new)
                ranges[number] = _ranges(categories, numbers.values)
        return cls(pairs=pairs, ranges=ranges, levels=new.levels)

    def __bool__(self) -> bool:
        return bool(self.pairs or self.ranges)

    def broken(self, before: list[Floats], drawn: Floats) -> Bools:
        """Shape (m,); which new records break a rule, for the values (m,) of every column before."""
        wrong = np.zeros(len(drawn), dtype=bool)
        for number, excluded in self.pairs.items():
            wrong |= excluded[_codes(before[number]), _codes(drawn)]
        for number, ranges in self.ranges.items():
            categories, numbers = (drawn, before[number]) if self.levels else (before[number], drawn)
            low, high = ranges[_codes(categories)].T
            wrong |= (numbers < low) | (numbers > high)
        return wrong

    def allowed(self, before: list[Floats], rows: Longs) -> Bools:
        """Shape (rows, categories); the categories that break no rule in some of the new records."""
        free = np.ones((len(rows), self.levels), dtype=bool)
        for number, excluded in self.pairs.items():
            free &= ~excluded[_codes(before[number][rows])]
        for number, ranges in self.ranges.items():
            numbers = before[number][rows, None]
            free &= ~((numbers < ranges[:, 0]) | (numbers > ranges[:, 1]))
        return free

    def bounds(self, before: list[Floats], rows: Longs) -> tuple[Floats, Floats]:
        """Shape (rows,) each; the smallest and the largest number that break no rule in some of the new records."""
        low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        for number, ranges in self.ranges.items():
            least, most = ranges[_codes(before[number][rows])].T
            low, high = np.maximum(low, least), np.minimum(high, most)
        return low, high


def _never_together(first: Feature, second: Feature) -> Bools:
    """Shape (categories of one, categories of the other)."""
    counts = np.zeros((first.levels, second.levels))
    np.add.at(counts, (_codes(first.values), _codes(second.values)), 1.0)
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0)[None, :] / max(len(first.values), 1)
    return np.asarray((counts == 0) & (expected >= CHANCE))


def _ranges(categories: Feature, numbers: Floats) -> Floats:
    """Shape (categories, 2); without bounds where the original's may be chance."""
    present = ~np.isnan(numbers)
    codes, values = _codes(categories.values[present]), numbers[present]
    low, high = np.full(categories.levels, np.inf), np.full(categories.levels, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    sizes, ordered = np.bincount(codes, minlength=categories.levels), np.sort(values)
    below = np.searchsorted(ordered, low, "left") / max(len(values), 1)
    above = 1 - np.searchsorted(ordered, high, "right") / max(len(values), 1)
    rule = sizes >= MANY
    return np.column_stack(
        [
            np.where(rule & (sizes * below >= CHANCE), low, -np.inf),
            np.where(rule & (sizes * above >= CHANCE), high, np.inf),
        ]
    )


def _codes(values: Floats) -> Longs:
    return values.astype(np.int64)
