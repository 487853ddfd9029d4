"""One column of a table in numbers, and the points that define the distances of its cells.

- continuous: values standardised (mean and n-1 standard deviation unless the column says otherwise);
- ordinal: rank over range, so that lowest and highest are 1 apart;
- nominal: indicators over sqrt(2), so that different categories are 1 apart;
- nominal with a hierarchy: a coordinate for each node, so that the squared distance is the loss at the common ancestor.

Squared distances of columns add up, each times its weight (`Records.matrix`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.kernels.arrays import Bools, Floats, Ints, Longs, floats, ints
from shoal.kernels.classes import classes
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Level, Role, Scale
from shoal.table.standardisation import check_positive, standardiser
from shoal.table.whole_column import WholeColumn
from shoal.vocabulary.errors import WidthError, plural

Unit = Literal["date", "datetime", "duration"]

ONE_NAN = np.float64(np.nan).view(np.int64)
"""The bit pattern that stands for every not-a-number; no number has it."""

MOST_COORDINATES = 2**27
"""Most coordinates of all records together in a space of distances: 1 GiB of them."""


class _Values:
    """The values of a variable; integers of a continuous one are turned into float64 on first access."""

    def __get__(self, variable: "Variable | None", owner: type) -> NDArray[Any]:
        if variable is None:
            raise AttributeError("A variable has no values by default.")
        fields = variable.__dict__
        if "values" not in fields:
            fields["values"] = variable.once()
        values: NDArray[Any] = fields["values"]
        return values

    def __set__(self, variable: "Variable", values: NDArray[Any]) -> None:
        variable.__dict__["given"] = values


@dataclass(frozen=True, kw_only=True, eq=False)
class Variable:
    """One column in numbers."""

    name: str
    role: Role
    level: Level
    # Shape (n,). Continuous: float64, NaN for missing; integers become float64 on first access. Ordinal and nominal:
    # int32 codes into `categories`, -1 for missing
    values: _Values = _Values()
    categories: tuple[Any, ...] = ()  # The categories as they stand in the table; ordinal ones from lowest to highest
    hierarchy: Hierarchy | None = None
    scale: Scale = "sd"
    weight: float = 1.0
    # Unit of continuous values that stand for time: days since 1970 for a `date`, microseconds since 1970 for a
    # `datetime`, microseconds for a `duration`; None for plain numbers
    unit: Unit | None = None
    inexact: str = ""  # Reason why different cells may have one value, so that they cannot be compared as written
    # Shape (n,), for a column of a judged file: number of the cell's spelling among those of its value, from 0; None if
    # every value, and missing, has one spelling
    spelling: Ints | None = None
    # Facts about the whole table's column, if this is a part of it; None if it is whole
    whole: WholeColumn | None = None
    # Labels of the codes of a column, from the file that it was read from
    labels: Mapping[Any, str] = field(default_factory=dict)

    def __repr__(self) -> str:  # shows no cell, for it may stand in a traceback
        return f"Variable '{self.name}' ({self.role}, {self.level}) of {plural(len(self), 'record')}"

    def __len__(self) -> int:
        return len(self.given)

    @property
    def given(self) -> NDArray[Any]:
        """Shape (n,); the original values: integers stay integers."""
        given: NDArray[Any] = self.__dict__["given"]
        return given

    def once(self) -> NDArray[Any]:
        """Shape (n,); the values, which are not kept where they are made of integers: for one look at all columns."""
        return floats(self.given) if self.continuous else self.given

    @property
    def of_days(self) -> bool:
        """True if the cells are days or times of days, whether the column is continuous or not."""
        return self.unit in ("date", "datetime") or (
            bool(self.categories) and all(isinstance(day, date) for day in self.categories)
        )

    @property
    def continuous(self) -> bool:
        return self.level == "continuous"

    @cached_property
    def missing(self) -> Bools:
        """Shape (n,); True for missing cells."""
        if not self.continuous:
            return np.asarray(self.given < 0)
        return np.isnan(self.given) if self.given.dtype.kind == "f" else np.zeros(len(self), dtype=bool)

    @property
    def complete(self) -> bool:
        """True if no cell is missing."""
        if not self.continuous:
            return not len(self) or int(self.given.min()) >= 0
        return self.given.dtype.kind != "f" or not np.isnan(self.given).any()

    def take(self, rows: Longs | Bools) -> "Variable":
        """Some of the cells, by position or mask; the column itself where these are all of them in their order."""
        if len(rows) == len(self) and (
            rows.all() if rows.dtype == bool else np.array_equal(rows, np.arange(len(rows)))
        ):
            return self
        spelling = None if self.spelling is None else self.spelling[rows]
        return replace(self, values=self.given[rows], spelling=spelling)

    def like(self, other: "Variable") -> bool:
        """True if numbers or codes mean the same in both columns."""
        return (self.level, self.unit, self.categories) == (other.level, other.unit, other.categories)

    def same_cells(self, other: "Variable") -> bool:
        """True if the columns are alike and have the same numbers or codes, 0 and -0 being the same."""
        cells, others = self.given, other.given
        floating = cells.dtype.kind == "f" == others.dtype.kind
        same = np.array_equal(cells, others) or (floating and np.array_equal(cells, others, equal_nan=True))
        return same and self.like(other)

    def with_values(self, values: ArrayLike) -> "Variable":
        """The column with new values (or new codes into the same categories), each with one spelling."""
        return replace(self, values=floats(values) if self.continuous else ints(values), spelling=None, whole=None)

    def filled_in(self, values: NDArray[Any], cells: Bools | Longs) -> "Variable":
        """The column with missing cells filled in by an intruder; the other cells keep their spelling."""
        spelling = None if self.spelling is None else self.spelling.copy()
        if spelling is not None:
            spelling[cells] = 0
        return replace(self, values=values, spelling=spelling, whole=None)

    def identity(self) -> Longs:
        """Shape (n,); equal numbers exactly for cells that are written alike; missing equals missing.

        Continuous values are compared by their bits, so that 0 and -0, which are written differently, differ.
        """
        if not self.continuous:
            return self.values.astype(np.int64)
        bits = floats(self.values).view(np.int64).copy()
        bits[self.missing] = ONE_NAN
        return bits

    def codes(self) -> Ints:
        """Shape (n,); equal codes from 0 exactly for cells that are written alike, -1 for missing ones."""
        if not self.continuous:
            return ints(self.given)
        codes = np.full(len(self), -1, dtype=np.int32)
        present = ~self.missing
        codes[present] = classes([self.given[present]], int(present.sum()))[0]
        return codes

    @property
    def width(self) -> int:
        """Number of coordinates of the column: one for each category, in each level of a hierarchy."""
        if self.level != "nominal":
            return 1
        return len(self.categories) if self.hierarchy is None else self.hierarchy.width

    def embedded(self) -> Floats:
        """Shape (n, m); points whose squared distances are the column's part of the records' distances."""
        return self.embedding()(self)

    def embedded_like(self, other: "Variable") -> Floats:
        """Shape (n', m); points of a released version of this column, in this column's embedding."""
        return self.embedding()(other)

    def embedding(self) -> Callable[["Variable"], Floats]:
        """The embedding that this column defines, as a function of the column or a released version of it."""
        check_memory(self, max(len(self), len(self.categories)), self.width)
        if self.continuous:
            root = np.sqrt(self.weight)
            if self.scale == "log":
                check_positive(self.values, self.name, "scale: log")
            to_scale = standardiser(self.values, self.scale) if self.whole is None else self.whole.standardised
            # a missing cell has no place, though it has one among ranks, and in a column with one value
            return lambda other: root * np.where(other.missing, np.nan, to_scale(other.values))[:, None]

        def place_codes(other: Variable) -> Floats:
            places = self.places(other)
            nowhere = np.full((1, places.shape[1]), np.nan)  # code -1: missing has no place
            return np.asarray(np.vstack([places, nowhere])[other.values])

        return place_codes

    def places(self, other: "Variable") -> Floats:
        """Shape (v, m); points of the categories of a released version of this column, or of its own."""
        check_memory(self, len(self.categories), self.width)
        points, place = self._category_points()
        places = np.array([place(category) for category in other.categories], dtype=np.float64)
        return np.asarray(np.sqrt(self.weight) * places.reshape(len(other.categories), points.shape[1]))

    def _node_points(self, hierarchy: Hierarchy) -> Floats:
        """Shape (m, width); points of the categories.

        A node, which an earlier step may have left as a cell, has the mean of its leaves' points.
        """
        leaves, nodes, labels = hierarchy.embedding(), hierarchy.nodes(), [str(c) for c in self.categories]
        hierarchy.codes([label for label in labels if label not in nodes])  # refuses labels that it lacks
        rows = [sorted(nodes[label]) for label in labels]
        return np.array([leaves[under].mean(axis=0) for under in rows]).reshape(len(labels), leaves.shape[1])

    def _category_points(self) -> tuple[Floats, Callable[[Any], Floats]]:
        """Points of the categories, and a function for any other label that a release may hold."""
        m = len(self.categories)
        if self.level == "ordinal":
            points = np.arange(m, dtype=np.float64)[:, None] / max(m - 1, 1)
        elif self.hierarchy is None:
            points = np.eye(m) / np.sqrt(2)
        else:
            points = self._node_points(self.hierarchy)
        rows = {category: i for i, category in enumerate(self.categories)}
        middle = points.mean(axis=0) if m else np.zeros(points.shape[1])

        nodes = {} if self.hierarchy is None else self.hierarchy.nodes()

        def place(category: Any) -> Floats:
            if category in rows:
                return np.asarray(points[rows[category]])
            under = nodes.get(str(category), frozenset())
            below = [i for i, c in enumerate(self.categories) if nodes[str(c)] <= under] if under else []
            return np.asarray(points[below].mean(axis=0) if below else middle)

        return points, place


def check_memory(widest: Variable, n: int, width: int) -> None:
    """Refuse a space of distances that would not fit into memory, before any is allocated."""
    if n * width > MOST_COORDINATES:
        raise WidthError(
            f"Column '{widest.name}' has {plural(len(widest.categories), 'category')}, and a distance takes one "
            f"coordinate a category: {n * width:,} numbers for the table, where at most {MOST_COORDINATES:,} are "
            f"allowed. Recode the column to fewer categories, form groups without it (by: ...), or give it another "
            f"role."
        )
