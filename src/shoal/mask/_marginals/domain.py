"""The categories of a column, stated from outside the table: what its cells become, and what is made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shoal.mask._marginals.generation import uniform
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Floats, Longs, Variable
from shoal.vocabulary.errors import DataError, ParameterError, plural

Cell = str | int | float | bool | None

Values = tuple[Variable, Longs]
"""A column of values, and the category of each."""

MOST_VALUES = 1 << 20
"""Whole numbers of a column that are listed, at most."""

Stated = Mapping[str, tuple[Cell, ...]]
"""By column, its categories, or the ends of the intervals of a number; null where cells may be missing.

An end that stands twice is a value by itself: 0, 0, 10 are the value 0 and all between it and 10.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """What a column may hold.

    Parameters
    ----------
    like
        A column without cells.
    edges
        Shape (m + 1,), ascending, for a number in m intervals, which hold their lower end, and the last one both. One
        between equal ends holds their value alone, and the one above it no longer does. Empty for categories.
    categories
        The categories, for a column that has them.
    gaps
        Cells may be missing, which is a category of its own, the last.
    """

    like: Variable
    edges: Floats
    categories: tuple[Cell, ...]
    gaps: bool

    @classmethod
    def of(cls, variable: Variable, stated: Stated) -> Self:
        """The domain of a column. Raises ParameterError if it is not stated, or not for such a column."""
        name = variable.name
        if name not in stated:
            raise ParameterError(
                f"private-marginals: domain must name every column of the step; '{name}' is not there. State its "
                f"categories, or the ends of the intervals of a number, from a codebook and not from the table."
            )
        values = tuple(cell for cell in stated[name] if cell is not None)
        gaps = len(values) < len(stated[name])
        several = variable.continuous or len(set(map(str, values))) == len(values)
        if not values or not several or len(stated[name]) - len(values) > 1:
            raise ParameterError(f"private-marginals: domain must list different values; those of '{name}' are not.")
        like = replace(variable.take(np.zeros(0, dtype=np.int64)), hierarchy=None, whole=None, spelling=None)
        if variable.continuous:
            return cls(like=like, edges=_edges(variable, values), categories=(), gaps=gaps)
        kinds = {type(category) for category in variable.categories if category is not None}  # with missing: category
        if not kinds <= {str, int, float, bool}:
            raise DataError(
                f"Column '{name}' holds days or other cells that a domain cannot list; private-marginals needs text, "
                f"numbers or truth values. Turn it into one of these first."
            )
        return cls(like=like, edges=np.zeros(0), categories=_spelt(values, kinds), gaps=gaps)

    @property
    def size(self) -> int:
        """Number of categories."""
        return (len(self.edges) - 1 if len(self.edges) else len(self.categories)) + self.gaps

    @property
    def whole(self) -> bool:
        """True if the column's numbers are whole ones."""
        return bool((self.edges == np.rint(self.edges)).all())

    def codes(self, variable: Variable) -> Longs:
        """Shape (n,); the category of each cell; a number outside counts as the nearest one.

        Raises DataError for cells that the domain does not have.
        """
        lacking = variable.missing
        if None in variable.categories:
            lacking = lacking | (variable.values == variable.categories.index(None))
        if lacking.any() and not self.gaps:
            raise DataError(
                f"Column '{variable.name}' has {plural(int(lacking.sum()), 'missing cell')}, and its domain "
                f"has no null. Add null to the list, or set missing: drop for the column."
            )
        codes = np.full(len(variable), self.size - 1, dtype=np.int64)
        present = ~lacking
        if len(self.edges):
            cells = variable.values[present]
            inside = np.searchsorted(self.edges[1:-1], cells, side="right")
            below = np.maximum(inside - 1, 0)
            alone = self._alone[below] & (self.edges[below] == cells)
            codes[present] = np.where(alone, below, inside)
            return codes
        places = {category: place for place, category in enumerate(self.categories)}
        of_category = np.array([places.get(category, -1) for category in variable.categories], dtype=np.int64)
        codes[present] = of_category[variable.values[present]]
        if strange := int((codes < 0).sum()):
            raise DataError(
                f"Column '{variable.name}' has {plural(strange, 'cell')} with a value that its domain does not list. "
                f"Complete the list from the codebook, or recode the column first."
            )
        return codes

    def variable(self, codes: Longs, stream: SecretStream) -> Variable:
        """A column of these categories; numbers are drawn evenly from their intervals."""
        lacking = codes == self.size - 1 if self.gaps else np.zeros(len(codes), dtype=bool)
        if not len(self.edges):
            cells = np.where(lacking, -1, codes).astype(np.int32)
            return replace(self.like, values=cells, categories=self.categories)
        values = np.full(len(codes), np.nan)
        present = codes[~lacking]
        if self.whole:
            low, high = (ends[present] for ends in self._ends())
            values[~lacking] = low + np.floor(uniform(len(present), stream) * (high + 1 - low))
        else:
            low, high = self.edges[present], self.edges[present + 1]
            values[~lacking] = low + uniform(len(present), stream) * (high - low)
        return replace(self.like, values=values)

    @property
    def _alone(self) -> Bools:
        """Shape (m,); whether an interval is a value by itself."""
        return np.asarray(np.diff(self.edges) == 0)

    def _ends(self) -> tuple[Floats, Floats]:
        """Each of shape (m,); the first and last number of each interval; of no whole ones, those that they end at."""
        first, last = self.edges[:-1].copy(), self.edges[1:].copy()
        if self.whole:
            first[1:] += self._alone[:-1]
            last[:-1] -= ~self._alone[:-1]
        return first, last

    def every(self) -> Values | None:
        """The column with every value that it may have; None for numbers of which there are too many to list."""
        if not len(self.edges):
            return self.corners()
        if not self.whole or self.edges[-1] - self.edges[0] >= MOST_VALUES:
            return None
        listed = replace(self.like, values=np.arange(self.edges[0], self.edges[-1] + 1))
        return listed, self.codes(listed)

    def corners(self) -> Values:
        """The column with the first and last value of each category."""
        if not len(self.edges):
            codes = np.arange(self.size)
            cells = np.where((codes == self.size - 1) & self.gaps, -1, codes).astype(np.int32)
            return replace(self.like, values=cells, categories=self.categories), codes
        values = np.concatenate([*self._ends(), np.full(int(self.gaps), np.nan)])
        intervals = np.arange(len(self.edges) - 1)
        return replace(self.like, values=values), np.concatenate(
            [intervals, intervals, np.arange(self.size)[len(intervals) :]]
        )


def _edges(variable: Variable, values: Sequence[Cell]) -> Floats:
    if variable.unit is not None:
        raise DataError(
            f"Column '{variable.name}' holds days or times, which private-marginals cannot draw. Turn it into numbers "
            f"or categories first."
        )
    if any(isinstance(value, (str, bool)) for value in values) or len(values) < 2:
        raise ParameterError(
            f"private-marginals: '{variable.name}' holds numbers, and its domain must be the ends of their intervals: "
            f"two numbers or more, ascending. Give it the level nominal to list categories."
        )
    edges = np.array(values, dtype=np.float64)
    widths = np.diff(edges)
    twice = widths == 0
    if not np.isfinite(edges).all() or (widths < 0).any() or (twice[1:] & twice[:-1]).any():
        raise ParameterError(
            f"private-marginals: the ends of the intervals of '{variable.name}' must be ascending numbers; one that "
            f"stands twice is a value by itself."
        )
    if (edges == np.rint(edges)).all() and (twice[:-2] & (widths[1:-1] == 1)).any():
        raise ParameterError(
            f"private-marginals: after an end of '{variable.name}' that stands twice, the next is only 1 above it, and "
            f"no whole number is between them. Let the first stand once: it is alone in its interval anyway."
        )
    return edges


def _spelt(values: Sequence[Cell], kinds: set[type]) -> tuple[Cell, ...]:
    """The categories as the column's type writes them: text where the table has text."""
    return tuple(map(str, values)) if kinds == {str} else tuple(values)
