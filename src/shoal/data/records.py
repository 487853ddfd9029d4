"""The numeric face of a table: what methods and judges compute with, and the way back.

A table becomes `Records`: one `Variable` a column, continuous values as float64 in the column's own units,
ordinal and nominal ones as integer codes into their categories. `Records.matrix` embeds records so that the
Euclidean distance of two rows is the distance of the records, whatever the levels of measurement:

- continuous: values standardised (mean and n-1 standard deviation unless the column says otherwise);
- ordinal: rank over range, so that lowest and highest are 1 apart;
- nominal: indicators over sqrt(2), so that different categories are 1 apart;
- nominal with a hierarchy: an indicator block a level, so that the distance is the path distance.

Squared distances of columns add up, each times its weight. This is the only place where a distance or a
standardisation is defined.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.data.hierarchy import Hierarchy
from shoal.data.schema import Level, Role, Scale
from shoal.errors import DataError, WidthError, plural, quoted
from shoal.kernels.arrays import Bools, Floats, Ints, Longs, floats, ints
from shoal.kernels.classes import class_sizes, classes, first_rows
from shoal.kernels.suppression import wildcard_counts

MAD_TO_SD = 1.482602218505602
"""1 / Phi^-1(3/4): makes the median absolute deviation estimate a normal standard deviation."""

Unit = Literal["date", "datetime", "duration"]
MissingCells = Literal["equal", "wildcard", "nothing"]
"""What a missing cell matches: a missing cell, everything, or nothing (see `Records.matching`)."""

ONE_NAN = np.float64(np.nan).view(np.int64)
"""The bits of one not-a-number, for all there are; no number has them."""

LARGEST, SMALLEST = 1e75, 1e-60
"""Between these the largest number of a table's column must lie: measures take fourth powers of numbers, which beyond
would not be finite, or would vanish for differences in the last place."""

MOST_COORDINATES = 2**27
"""Coordinates of all records together, in a space where their distance is taken: 1 GiB of them."""

EXACT_INTEGERS = 2**53
"""Integers beyond this have no exact float64."""

HUGE = 2.0**1020
"""Above this the difference of two values may overflow."""


class _Values:
    """The values of a variable: whole numbers of a continuous one are turned into float64 when first asked for."""

    def __get__(self, variable: "Variable | None", owner: type) -> NDArray[Any]:
        if variable is None:
            raise AttributeError("A variable has no values by default.")
        held = variable.__dict__
        if "values" not in held:
            held["values"] = floats(held["given"]) if variable.continuous else held["given"]
        values: NDArray[Any] = held["values"]
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """Equivalence classes: records that agree on a set of columns.

    Parameters
    ----------
    ids
        Shape (n,); class number of each record, 0 to C - 1.
    sizes
        Shape (C,).
    """

    ids: Longs
    sizes: Longs

    @property
    def of_record(self) -> Longs:
        """Shape (n,); size of each record's class."""
        return self.sizes[self.ids]


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """A table in numbers.

    Parameters
    ----------
    variables
        The columns, all of the same length.
    rows
        Shape (n,); each record's row number in the table that came in.
    """

    variables: tuple[Variable, ...]
    rows: Longs

    def __post_init__(self) -> None:
        if any(len(v) != len(self.rows) for v in self.variables):
            raise DataError("All columns must have the same number of records.")

    @classmethod
    def of(cls, variables: Iterable[Variable]) -> "Records":
        columns = tuple(variables)
        n = len(columns[0]) if columns else 0
        return cls(variables=columns, rows=np.arange(n, dtype=np.int64))

    @classmethod
    def from_array(cls, x: ArrayLike, scale: Scale = "sd", names: Sequence[str] | None = None) -> "Records":
        """Continuous quasi-identifiers from an array of shape (n,) or (n, d); finite values only."""
        values = _as_numbers(x)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise DataError(f"An array of records must have one or two dimensions; got {values.ndim}.")
        if not np.isfinite(values).all():
            count = int((~np.isfinite(values)).sum())
            raise DataError(
                f"The array has {plural(count, 'value')} that {'is' if count == 1 else 'are'} missing or "
                f"infinite; numbers must be finite. Remove or impute them first."
            )
        labels = names or [f"x{j}" for j in range(values.shape[1])]
        return cls.of(
            (
                Variable(
                    name=name,
                    role="quasi-identifier",
                    level="continuous",
                    values=np.ascontiguousarray(values[:, j]),
                    scale=scale,
                )
                for j, name in enumerate(labels)
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Records: {plural(len(self), 'record')} with the columns {quoted(self.names())}"

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise DataError(f"There is no column '{name}'; there are {quoted(v.name for v in self.variables)}.")

    def __contains__(self, name: str) -> bool:
        return any(variable.name == name for variable in self.variables)

    def names(self, *roles: str) -> tuple[str, ...]:
        """Names of all columns, or of those with one of the roles."""
        return tuple(v.name for v in self.variables if not roles or v.role in roles)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.names("quasi-identifier")

    @property
    def confidential(self) -> tuple[str, ...]:
        return self.names("confidential")

    @property
    def weights(self) -> Floats | None:
        """Shape (n,); sampling weights, None where the table has none."""
        for variable in self.variables:
            if variable.role == "weight":
                if not variable.continuous:
                    raise DataError(f"The weight column '{variable.name}' must be continuous.")
                return variable.values.astype(np.float64)
        return None

    @property
    def strata(self) -> Longs | None:
        """Shape (n,); stratum number of each record, None where the table has none."""
        names = self.names("stratum")
        return self.classes(names).ids if names else None

    @property
    def households(self) -> Longs | None:
        """Shape (n,); household number of each record, None where the table has none."""
        names = self.names("household")
        return self.classes(names).ids if names else None

    def select(self, names: Iterable[str]) -> "Records":
        """Some of the columns, in the order given."""
        return replace(self, variables=tuple(self[name] for name in names))

    def take(self, rows: Longs | Bools) -> "Records":
        """Some of the records, by position or mask."""
        return replace(self, variables=tuple(v.take(rows) for v in self.variables), rows=self.rows[rows])

    def with_variables(self, *changed: Variable) -> "Records":
        """New versions of some columns, found by name; columns that are new come last."""
        new = {variable.name: variable for variable in changed}
        kept = tuple(new.pop(v.name, v) for v in self.variables)
        return replace(self, variables=(*kept, *new.values()))

    def without(self, names: Iterable[str]) -> "Records":
        gone = set(names)
        return replace(self, variables=tuple(v for v in self.variables if v.name not in gone))

    def complete(self, names: Iterable[str], method: str) -> None:
        """Refuse columns with missing values on behalf of a method that needs complete ones."""
        for name in names:
            if count := int(self[name].missing.sum()):
                raise DataError(
                    f"Column '{name}' has {plural(count, 'missing value')}; {method} needs complete columns. "
                    f"Set missing: drop or impute for it."
                )

    def matrix(self, names: Iterable[str] | None = None) -> Floats:
        """Shape (n, m); the standardised embedding of the quasi-identifiers, or of the columns named."""
        chosen = [self[name] for name in (self.quasi_identifiers if names is None else names)]
        if chosen:
            check_room(max(chosen, key=lambda v: v.width), len(self), sum(v.width for v in chosen))
        columns = [variable.embedded() for variable in chosen]
        return np.ascontiguousarray(np.hstack(columns)) if columns else np.empty((len(self), 0))

    def matrix_like(self, original: "Records", names: Iterable[str]) -> Floats:
        """As `matrix`, in the embedding that another version of the same table fixes."""
        columns = [original[name].embedded_like(self[name]) for name in names]
        return np.ascontiguousarray(np.hstack(columns)) if columns else np.empty((len(self), 0))

    def raw(self, names: Iterable[str] | None = None) -> Floats:
        """Shape (n, d); values of continuous columns in their own units, of the quasi-identifiers by default."""
        chosen = tuple(self.quasi_identifiers if names is None else names)
        if wrong := [name for name in chosen if not self[name].continuous]:
            raise DataError(
                f"This method needs continuous columns; {quoted(wrong)} {'is' if len(wrong) == 1 else 'are'} not. "
                f"Leave out what is not, or choose a method for categories."
            )
        return np.column_stack([self[n].values for n in chosen]) if chosen else np.empty((len(self), 0))

    def with_raw(self, names: Sequence[str], x: Floats) -> "Records":
        """Put an array of shape (n, d) back as the values of continuous columns."""
        return self.with_variables(*(self[name].with_values(x[:, j]) for j, name in enumerate(names)))

    def classes(self, names: Iterable[str]) -> Classes:
        """Equivalence classes over columns; no columns make one class of all records."""
        chosen = tuple(names)
        if chosen not in self._classes:
            ids, sizes = classes(self._as_written(chosen), len(self))
            self._classes[chosen] = Classes(ids=ids, sizes=sizes)
        return self._classes[chosen]

    def class_sizes(self, names: Iterable[str]) -> Longs:
        """Shape (C,); sizes of the equivalence classes over columns, where it does not matter who is in which."""
        chosen = tuple(names)
        if chosen in self._classes:
            return self._classes[chosen].sizes
        return class_sizes(self._as_written(chosen), len(self))

    def _as_written(self, names: Iterable[str]) -> list[NDArray[Any]]:
        """Columns whose cells are compared: each value must stand for one way of writing it."""
        chosen = [self[name] for name in names]
        for variable in chosen:
            if variable.inexact:
                raise DataError(variable.inexact)
        return [variable.given for variable in chosen]

    @cached_property
    def _classes(self) -> dict[tuple[str, ...], Classes]:
        """Classes found so far: most judges ask for those of the quasi-identifiers."""
        return {}

    def matching(self, names: Iterable[str], missing: MissingCells = "equal") -> Longs:
        """Shape (n,); for each record the number of records it may stand for on some columns, itself included.

        Parameters
        ----------
        missing
            What a missing cell matches. `equal`: a missing cell only, so that the figure is the size of the
            equivalence class. `wildcard`: everything, on either side. `nothing`: a record with a missing cell
            counts for no other record; its own visible cells are compared with the complete records.
        """
        chosen = list(names)
        classes = self.classes(chosen)
        if missing == "equal" or not chosen:
            return classes.of_record
        first = first_rows(classes.ids, len(classes.sizes))
        codes = np.column_stack([self[name].codes()[first] for name in chosen])
        counts = wildcard_counts(codes, classes.sizes, missing_counts=missing == "wildcard")
        return np.asarray(counts[classes.ids])


def check_room(widest: Variable, n: int, width: int) -> None:
    """Refuse a space of distances that would not fit into memory, before any of it is taken."""
    if n * width > MOST_COORDINATES:
        raise WidthError(
            f"Column '{widest.name}' has {plural(len(widest.categories), 'category')}, and a distance takes one "
            f"coordinate a category: {n * width:,} numbers for the table, where at most {MOST_COORDINATES:,} are "
            f"allowed. Recode the column to fewer categories, form groups without it (by: ...), or give it another "
            f"role."
        )


def check_magnitude(values: Floats, name: str) -> None:
    """Refuse numbers so large or so small that powers of them leave the range of float64."""
    largest = max(float(np.fmax.reduce(values, initial=0.0)), -float(np.fmin.reduce(values, initial=0.0)))
    if largest > LARGEST:
        count = plural(int((np.abs(values) > LARGEST).sum()), "number")
        raise DataError(
            f"Column '{name}' has {count} beyond {LARGEST:g}, too large to compute with. "
            f"Count in a larger unit, or set level: nominal."
        )
    if 0 < largest < SMALLEST:
        raise DataError(
            f"Column '{name}' has no number as large as {SMALLEST:g}, and smaller ones are too small to "
            f"compute with. Count in a smaller unit, or set level: nominal."
        )


def _as_numbers(x: ArrayLike) -> Floats:
    """An array of any numbers as float64, refused where two that differ would become one."""
    given = np.asarray(x)
    if given.dtype.kind == "O" and all(isinstance(cell, Real) for cell in given.flat):
        values = given.astype(np.float64)
    elif given.dtype.kind in "biuf" or not given.size:
        values = np.asarray(given, dtype=np.float64)
    else:
        raise DataError(
            f"An array of records must hold numbers; it holds {given.dtype.name}. Give a data frame for text and dates."
        )
    ends: list[Any] = list(given.flat) if given.dtype.kind == "O" else []
    if given.dtype.kind in "iu" and given.size:
        ends = [given.min(), given.max()]
    if any(isinstance(end, Integral) and abs(int(end)) > EXACT_INTEGERS for end in ends):
        raise DataError("The array has integers beyond 2^53, which are not exact as numbers. Rescale them.")
    return values


def standardiser(values: Floats, scale: Scale) -> Callable[[Floats], Floats]:
    """The map that takes a continuous column to its standardised scale; constant columns go to 0.

    Values are first moved to the column's median and scaled by a power of two, so that neither a huge offset
    nor a subnormal unit costs digits.
    """
    known = values[~np.isnan(values)]
    if scale == "none" or not len(known):
        return lambda x: x.astype(np.float64)
    if scale == "rank":
        ordered = np.sort(known)
        return lambda x: (
            (np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right") - 1)
            / (2.0 * max(len(ordered) - 1, 1))
        )
    room = -2 if np.abs(known).max() > HUGE else 0  # so that the difference of two values is finite
    middle = float(np.median(np.ldexp(known, room)))
    largest = float(np.abs(np.ldexp(known, room) - middle).max())
    if largest == 0.0:
        return lambda x: np.zeros(len(x))
    exponent = -int(np.frexp(largest)[1])

    def near_one(x: Floats) -> Floats:
        return np.asarray(np.ldexp(np.ldexp(x, room) - middle, exponent))

    centred = near_one(known)
    centre, spread = float(centred.mean()), _spread(centred, scale)
    return lambda x: (near_one(x) - centre) / spread


def _spread(centred: Floats, scale: Scale) -> float:
    if scale == "range":
        return float(np.ptp(centred))
    if scale == "mad" and (mad := float(np.median(np.abs(centred - np.median(centred))))) > 0:
        return MAD_TO_SD * mad
    return float(centred.std(ddof=1))
