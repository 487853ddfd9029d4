"""One column of a table in numbers, and the points between which the distance of its cells is taken.

- continuous: values standardised (mean and n-1 standard deviation unless the column says otherwise);
- ordinal: rank over range, so that lowest and highest are 1 apart;
- nominal: indicators over sqrt(2), so that different categories are 1 apart;
- nominal with a hierarchy: an indicator block a level, so that the distance is the path distance.

Squared distances of columns add up, each times its weight (`Records.matrix`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.data.hierarchy import Hierarchy
from shoal.data.schema import Level, Role, Scale
from shoal.data.standardisation import standardiser
from shoal.errors import WidthError, plural
from shoal.kernels.arrays import Bools, Floats, Ints, Longs, floats, ints
from shoal.kernels.classes import classes

Unit = Literal["date", "datetime", "duration"]

ONE_NAN = np.float64(np.nan).view(np.int64)
"""The bits of one not-a-number, for all there are; no number has them."""

MOST_COORDINATES = 2**27
"""Coordinates of all records together, in a space where their distance is taken: 1 GiB of them."""


class _Values:
    """The values of a variable: whole numbers of a continuous one are turned into float64 when first asked for."""

    def __get__(self, variable: "Variable | None", owner: type) -> NDArray[Any]:
        if variable is None:
            raise AttributeError("A variable has no values by default.")
        fields = variable.__dict__
        if "values" not in fields:
            fields["values"] = floats(fields["given"]) if variable.continuous else fields["given"]
        values: NDArray[Any] = fields["values"]
        return values

    def __set__(self, variable: "Variable", values: NDArray[Any]) -> None:
        variable.__dict__["given"] = values


@dataclass(frozen=True, kw_only=True, eq=False)
class Variable:
    """One column in numbers.

    Parameters
    ----------
    values
        Shape (n,). Continuous: float64, NaN for missing; whole numbers given as such become float64 when they are
        first asked for. Ordinal and nominal: int32 codes into `categories`, -1 for missing.
    categories
        The categories as they stand in the table; ordinal ones from lowest to highest.
    unit
        What continuous values count where they stand for time: days since 1970 for a `date`, microseconds
        since 1970 for a `datetime`, microseconds for a `duration`; None for plain numbers.
    inexact
        Why cells that differ may have the same value here; then they cannot be compared as written.
    """

    name: str
    role: Role
    level: Level
    values: _Values = _Values()
    categories: tuple[Any, ...] = ()
    hierarchy: Hierarchy | None = None
    scale: Scale = "sd"
    weight: float = 1.0
    unit: Unit | None = None
    inexact: str = ""

    def __repr__(self) -> str:  # shows no cell, for it may stand in a traceback
        return f"Variable '{self.name}' ({self.role}, {self.level}) of {plural(len(self), 'record')}"

    def __len__(self) -> int:
        return len(self.given)

    @property
    def given(self) -> NDArray[Any]:
        """Shape (n,); the values as they came: whole numbers stay whole."""
        given: NDArray[Any] = self.__dict__["given"]
        return given

    @property
    def continuous(self) -> bool:
        return self.level == "continuous"

    @cached_property
    def missing(self) -> Bools:
        """Shape (n,)."""
        if not self.continuous:
            return np.asarray(self.given < 0)
        return np.isnan(self.given) if self.given.dtype.kind == "f" else np.zeros(len(self), dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        if not self.continuous:
            return not len(self) or int(self.given.min()) >= 0
        return self.given.dtype.kind != "f" or not np.isnan(self.given).any()

    def take(self, rows: Longs | Bools) -> "Variable":
        return replace(self, values=self.values[rows])

    def with_values(self, values: ArrayLike) -> "Variable":
        """The same column with new values (or new codes into the same categories)."""
        return replace(self, values=floats(values) if self.continuous else ints(values))

    def identity(self) -> Longs:
        """Shape (n,); equal numbers exactly where cells are equal as written; missing equals missing.

        Continuous values are told apart by their bits, so that 0 and -0, which are written differently,
        differ.
        """
        if not self.continuous:
            return self.values.astype(np.int64)
        bits = floats(self.values).view(np.int64).copy()
        bits[self.missing] = ONE_NAN
        return bits

    def codes(self) -> Ints:
        """Shape (n,); equal codes from 0 exactly where cells are equal as written, -1 for missing cells."""
        if not self.continuous:
            return ints(self.given)
        codes = np.full(len(self), -1, dtype=np.int32)
        known = ~self.missing
        codes[known] = classes([self.given[known]], int(known.sum()))[0]
        return codes

    @property
    def width(self) -> int:
        """Coordinates of the column in the space of distances: one a category, in each level of a hierarchy."""
        if self.level != "nominal":
            return 1
        return len(self.categories) if self.hierarchy is None else self.hierarchy.width

    def embedded(self) -> Floats:
        """Shape (n, m); points whose squared distances are the column's part of a record's distance."""
        return self._embedder()(self)

    def embedded_like(self, other: "Variable") -> Floats:
        """Shape (n', m); a released version of this column in the embedding that this one fixes."""
        return self._embedder()(other)

    def _embedder(self) -> Callable[["Variable"], Floats]:
        """The embedding fixed by this column, to be applied to it or to a released version of it."""
        check_room(self, max(len(self), len(self.categories)), self.width)
        root = np.sqrt(self.weight)
        if self.continuous:
            to_scale = standardiser(self.values, self.scale)
            return lambda other: root * to_scale(other.values)[:, None]
        points, place = self._category_points()

        def place_codes(other: Variable) -> Floats:
            known = np.array([place(category) for category in other.categories], dtype=np.float64)
            known = known.reshape(len(other.categories), points.shape[1])
            known = root * np.vstack([known, np.full((1, points.shape[1]), np.nan)])  # code -1: missing has no place
            return np.asarray(known[other.values])

        return place_codes

    def _category_points(self) -> tuple[Floats, Callable[[Any], Floats]]:
        """Points of the categories, and of any other label that a release may hold instead."""
        m = len(self.categories)
        if self.level == "ordinal":
            points = np.arange(m, dtype=np.float64)[:, None] / max(m - 1, 1)
        elif self.hierarchy is None:
            points = np.eye(m) / np.sqrt(2)
        else:
            points = self.hierarchy.embedding()[self.hierarchy.codes([str(c) for c in self.categories])]
        rows = {category: i for i, category in enumerate(self.categories)}
        middle = points.mean(axis=0) if m else np.zeros(points.shape[1])

        def place(category: Any) -> Floats:
            if category in rows:
                return np.asarray(points[rows[category]])
            if self.hierarchy is not None:
                below = [
                    i
                    for i, c in enumerate(self.categories)
                    if str(category) in self.hierarchy.paths[self.hierarchy.codes([str(c)])[0]]
                ]
                if below:
                    return np.asarray(points[below].mean(axis=0))
            return np.asarray(middle)

        return points, place


def check_room(widest: Variable, n: int, width: int) -> None:
    """Refuse a space of distances that would not fit into memory, before any of it is taken."""
    if n * width > MOST_COORDINATES:
        raise WidthError(
            f"Column '{widest.name}' has {plural(len(widest.categories), 'category')}, and a distance takes one "
            f"coordinate a category: {n * width:,} numbers for the table, where at most {MOST_COORDINATES:,} are "
            f"allowed. Recode the column to fewer categories, form groups without it (by: ...), or give it another "
            f"role."
        )
