"""Persons with all their records, and what a pair of rows loses that are made alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.table.links import Links, below, root_of
from shoal.table.prelude import Bools, Floats, Longs, Records, Variable

MOST_DISTANCES = 2**22
"""Most distances of two categories of a column that are kept; beyond, different ones are all as far apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Linked tables and the columns of each that shall become alike.

    Parameters
    ----------
    order
        By table, a column by which rows that hang on the same row are in order; only of tables that have such a column.
    """

    tables: Mapping[str, Records]
    links: Links
    columns: Mapping[str, tuple[str, ...]]
    order: Mapping[str, Longs]

    @property
    def root(self) -> str:
        """The table of persons."""
        return root_of(self.links.keys)

    def variables(self, name: str) -> tuple[Variable, ...]:
        return tuple(self.tables[name][column] for column in self.columns[name])

    @cached_property
    def rows_below(self) -> dict[str, tuple[Longs, Longs]]:
        """By table, its rows in the order of the rows that they hang on, and where those of each begin and end."""
        solutions = {}
        for name, above in self.links.above.items():
            upper = self.links.sizes[str(self.links.keys[name].parent)]
            ranks = self.order.get(name, np.zeros(len(above), dtype=np.int64))
            by = np.lexsort((np.arange(len(above)), ranks, above))
            ends = np.cumsum(np.bincount(above, minlength=upper))
            solutions[name] = by, np.concatenate([[0], ends])
        return solutions

    def below(self, name: str, row: int) -> Longs:
        """The rows of a table that hang on one row."""
        by, ends = self.rows_below[name]
        return by[ends[row] : ends[row + 1]]

    def lost_with(self, name: str) -> float:
        """Loss of a row of a table that is left out."""
        return max(sum(variable.weight for variable in self.variables(name)), 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDistance:
    """What two rows of a table lose if they are made alike, before any of their cells is looked up.

    Parameters
    ----------
    numbers
        Shape (n, c); places of the cells of numbers and ordinal columns, 0 where they are missing.
    codes, apart
        By nominal column, its codes, and the squared distances of its categories; None where all are as far apart.
    missing, weights
        Shapes (n, q) and (q,); missing cells of all columns, and what a cell loses beside one.
    counts
        By table right below, how many rows hang on each row, and the loss of one of these.
    """

    numbers: Floats
    codes: tuple[tuple[Longs, Floats | None, float], ...]
    missing: Bools
    weights: Floats
    counts: tuple[tuple[Longs, float], ...]

    @classmethod
    def of(cls, people: People, name: str) -> "RowDistance":
        variables, n = people.variables(name), people.links.sizes[name]
        numbers = [_in_range(v) for v in variables if v.level != "nominal"]
        lower = below(people.links.keys, name)
        counts = [np.bincount(people.links.above[other], minlength=n) for other in lower]
        return cls(
            numbers=np.column_stack(numbers) if numbers else np.zeros((n, 0)),
            codes=tuple((v.values.astype(np.int64), _apart(v), v.weight) for v in variables if v.level == "nominal"),
            missing=np.column_stack([v.missing for v in variables]) if variables else np.zeros((n, 0), dtype=bool),
            weights=np.array([v.weight for v in variables]),
            counts=tuple((count, people.lost_with(other)) for count, other in zip(counts, lower)),
        )

    def between(self, a: Longs, b: Longs) -> Floats:
        """Shape (len(a), len(b)); the loss of each pair."""
        loss = np.zeros((len(a), len(b)))
        for column in self.numbers.T:
            loss += np.abs(column[a][:, None] - column[b])
        for codes, apart, weight in self.codes:
            x, y = codes[a][:, None], codes[b]
            loss += np.where((x < 0) | (y < 0), 0.0, weight * (x != y) if apart is None else apart[x, y])
        for missing, weight in zip(self.missing.T, self.weights):
            loss += (missing[a][:, None] != missing[b]) * weight
        for count, weight in self.counts:
            loss += weight * np.abs(count[a][:, None] - count[b])
        return np.asarray(loss)


def _in_range(variable: Variable) -> Floats:
    """Shape (n,); numbers as shares of their range, times the weight, and 0 where they are missing."""
    cells = np.where(variable.missing, np.nan, variable.values)
    if not (~variable.missing).any():
        return np.zeros(len(cells))
    low, high = np.nanmin(cells), np.nanmax(cells)
    return np.asarray(np.nan_to_num(variable.weight * (cells - low) / max(high - low, 1e-300)))


def _apart(variable: Variable) -> Floats | None:
    """Shape (v, v); squared distances of the categories of a column with a hierarchy."""
    if variable.hierarchy is None or len(variable.categories) ** 2 > MOST_DISTANCES:
        return None
    places = np.nan_to_num(variable.places(variable))
    return np.array([((places - place) ** 2).sum(axis=1) for place in places]).reshape(len(places), len(places))
