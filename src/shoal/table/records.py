"""Tables as numbers: the form that methods and judges compute with.

A table becomes `Records`: one `Variable` a column, continuous values as float64 in the column's own units, ordinal and
nominal ones as integer codes into their categories. `Records.matrix` embeds records so that the Euclidean distance of
two rows is the distance of the records at all levels of measurement: the points of `Variable.embedded` side by side. No
other module defines the distance of records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.classes import class_sizes, classes, first_rows, lone_cells, lone_without
from shoal.kernels.suppression import wildcard_counts, wildcard_weights
from shoal.table.equal_rows import rows_by_number
from shoal.table.schema import Scale, default_unit
from shoal.table.variable import Variable, check_memory
from shoal.vocabulary.errors import DataError, plural, quoted

MissingCells = Literal["equal", "wildcard", "nothing"]
"""Cells that match a missing cell: missing ones, all, or none (see `Records.matching`)."""

EXACT_INTEGERS = 2**53
"""Largest integer up to which every integer is exact in float64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """Equivalence classes: records that agree on a set of columns."""

    ids: Longs  # Shape (n,); class number of each record, 0 to C - 1
    sizes: Longs  # Shape (C,)
    times: Longs | None = None  # Shape (n,); number of equal records that each entry stands for; None if all are one

    def by_record(self, bins: Ints) -> tuple[Ints, Longs]:
        """Bins and class numbers of records, from the bins of entries."""
        if self.times is None:
            return bins, self.ids
        return np.repeat(bins, self.times), np.repeat(self.ids, self.times)

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
        Shape (n,); each record's row number in the original table.
    unit
        Name of the unit that the column with the role household numbers: a household, or that of an identifier.
    """

    variables: tuple[Variable, ...]
    rows: Longs
    unit: str = "household"

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
        columns = map(np.ascontiguousarray, values.T)
        return cls.of(
            Variable(name=name, role="quasi-identifier", level="continuous", values=column, scale=scale)
            for name, column in zip(labels, columns, strict=True)
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Records: {plural(len(self), 'record')} with the columns {quoted(self.names())}"

    def __getitem__(self, name: str) -> Variable:
        if name in self._by_name:
            return self._by_name[name]
        raise DataError(f"There is no column '{name}'; there are {quoted(v.name for v in self.variables)}.")

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

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
    def by_stratum(self) -> list[Longs]:
        """Row positions of each stratum; all rows in one if the table has no stratum column."""
        numbers = self.strata
        return [np.arange(len(self), dtype=np.int64)] if numbers is None else rows_by_number(numbers)

    @property
    def households(self) -> Longs | None:
        """Shape (n,); household number of each record, None if the table has none.

        Spellings of a household's number do not count: they are the same household.
        """
        return self._units("household")

    def unit_numbers(self, role: str) -> Longs | None:
        """Shape (n,); number of each record's person or household, -1 if it is missing; None without such a column."""
        numbers = self._units(role)
        if numbers is None:
            return None
        return np.where(np.logical_or.reduce([self[n].missing for n in self.names(role)]), -1, numbers)

    @property
    def largest_units(self) -> Longs | None:
        """Shape (n,); number of each record's household, or else person; None where the table numbers neither."""
        return self._units(default_unit(self.names))

    def _units(self, role: str) -> Longs | None:
        names = self.names(role)
        spelt = [replace(self[name], spelling=None) for name in names if self[name].spelling is not None]
        return (self.with_variables(*spelt) if spelt else self).classes(names).ids if names else None

    def select(self, names: Iterable[str]) -> "Records":
        """Some of the columns, in the order given."""
        return replace(self, variables=tuple(self[name] for name in names))

    def take(self, rows: Longs | Bools) -> "Records":
        """Some of the records, by position or mask."""
        return replace(self, variables=tuple(v.take(rows) for v in self.variables), rows=self.rows[rows])

    def with_variables(self, *changed: Variable) -> "Records":
        """The records with new versions of some columns, matched by name; new columns come last."""
        new = {variable.name: variable for variable in changed}
        kept = tuple(new.pop(v.name, v) for v in self.variables)
        return replace(self, variables=(*kept, *new.values()))

    def without(self, names: Iterable[str]) -> "Records":
        dropped = set(names)
        return replace(self, variables=tuple(v for v in self.variables if v.name not in dropped))

    def complete(self, names: Iterable[str], method: str) -> None:
        """Refuse columns with missing values, on behalf of a method that needs complete ones."""
        for name in names:
            if count := int(self[name].missing.sum()):
                raise DataError(
                    f"Column '{name}' has {plural(count, 'missing value')}; {method} needs complete columns. "
                    f"Set missing: drop or impute for it."
                )

    def matrix(self, names: Iterable[str] | None = None) -> Floats:
        """Shape (n, m); the standardised embedding of the named columns, by default the quasi-identifiers."""
        chosen = [self[name] for name in (self.quasi_identifiers if names is None else names)]
        if chosen:
            check_memory(max(chosen, key=lambda v: v.width), len(self), sum(v.width for v in chosen))
        columns = [variable.embedded() for variable in chosen]
        return np.ascontiguousarray(np.hstack(columns)) if columns else np.empty((len(self), 0))

    def matrix_like(self, original: "Records", names: Iterable[str]) -> Floats:
        """As `matrix`, in the embedding of another version of the same table."""
        columns = [original[name].embedded_like(self[name]) for name in names]
        return np.ascontiguousarray(np.hstack(columns)) if columns else np.empty((len(self), 0))

    def raw(self, names: Iterable[str] | None = None) -> Floats:
        """Shape (n, d); values of continuous columns in their own units, by default of the quasi-identifiers."""
        chosen = tuple(self.quasi_identifiers if names is None else names)
        if wrong := [name for name in chosen if not self[name].continuous]:
            raise DataError(
                f"This method needs continuous columns; {quoted(wrong)} {'is' if len(wrong) == 1 else 'are'} not. "
                f"Leave out what is not, or choose a method for categories."
            )
        return np.column_stack([self[n].values for n in chosen]) if chosen else np.empty((len(self), 0))

    def with_raw(self, names: Sequence[str], x: Floats) -> "Records":
        """The records with an array of shape (n, d) as the values of continuous columns."""
        return self.with_variables(*(self[name].with_values(x[:, j]) for j, name in enumerate(names)))

    def classes(self, names: Iterable[str]) -> Classes:
        """Equivalence classes over columns; no columns make one class of all records."""
        chosen = tuple(names)
        if chosen not in self._classes:
            ids, sizes = classes(self._as_written(chosen), len(self))
            self._classes[chosen] = Classes(ids=ids, sizes=sizes)
        return self._classes[chosen]

    def class_sizes(self, names: Iterable[str]) -> Longs:
        """Shape (C,); sizes of the equivalence classes over columns, in the order of their numbers."""
        chosen = tuple(names)
        if chosen in self._classes:
            return self._classes[chosen].sizes
        return class_sizes(self._as_written(chosen), len(self))

    def uniques(self, names: Iterable[str]) -> tuple[int, int]:
        """Numbers of records that are unique on some columns, and of their classes; cached."""
        chosen = tuple(names)
        if chosen not in self._uniques:
            inexact = any(self[name].inexact for name in chosen)
            sizes = np.bincount(self.alike(chosen)) if inexact else self.class_sizes(chosen)
            self._uniques[chosen] = int((sizes == 1).sum()), len(sizes)
        return self._uniques[chosen]

    def alone_without(self, names: Sequence[str]) -> tuple[Longs, list[int]]:
        """Class sizes, and for each of several columns the number of records that are unique on all others."""
        written = [self._as_written([name]) for name in names]
        columns = [arrays[0] if len(arrays) == 1 else self.classes([name]).ids for name, arrays in zip(names, written)]
        return lone_without(columns, len(self))

    def alone(self, names: Iterable[str], within: Iterable[str]) -> int:
        """Number of records that are unique on some columns together with some further ones, `within`.

        The classes of `within` are cached.
        """
        written = self._as_written(names)
        common = self.classes(within)
        if len(written) == 1 and len(common.sizes) > 1:
            return lone_cells(common.ids, common.sizes, written[0])
        return int((class_sizes([common.ids, *written], len(self)) == 1).sum())

    def alike(self, names: Iterable[str]) -> Longs:
        """Shape (n,); numbers from 0, shared only by records whose values agree in some columns.

        They are the class numbers if cells can be compared as written.
        """
        chosen = tuple(names)
        if any(self[name].inexact for name in chosen):
            return classes([self[name].given for name in chosen], len(self))[0]
        return self.classes(chosen).ids

    def _as_written(self, names: Iterable[str]) -> list[NDArray[Any]]:
        """Values and spellings of columns to compare. Raises DataError if different cells may have one value."""
        chosen = [self[name] for name in names]
        for variable in chosen:
            if variable.inexact:
                raise DataError(variable.inexact)
        return [array for v in chosen for array in (v.given, v.spelling) if array is not None]

    def codes_as_written(self, name: str) -> Ints:
        """Shape (n,); equal codes from 0 exactly for cells written alike, -1 for missing ones."""
        variable = self[name]
        if variable.spelling is None:
            return variable.codes()
        return np.where(variable.missing & (variable.spelling == 0), -1, self.classes([name]).ids).astype(np.int32)

    @cached_property
    def _classes(self) -> dict[tuple[str, ...], Classes]:
        """Cache of classes: most judges ask for those of the quasi-identifiers."""
        return {}

    @cached_property
    def _uniques(self) -> dict[tuple[str, ...], tuple[int, int]]:
        return {}

    def matching(self, names: Iterable[str], missing: MissingCells = "equal", times: Longs | None = None) -> Longs:
        """Shape (n,); for each record, the number of records that match it on some columns, itself included.

        Parameters
        ----------
        missing
            Cells that a missing cell matches. `equal`: missing cells only, so that the figure is the size of the
            equivalence class. `wildcard`: all cells, in either record. `nothing`: none; a record with a missing cell
            matches no other record, but its own visible cells are compared with the complete records.
        times
            Shape (n,); number of records of a table that each record stands for; 1 by default.
        """
        chosen = tuple(names)
        classes = self.classes(chosen)
        if times is None:
            return np.asarray(self.matching_classes(chosen, missing)[classes.ids])
        sizes = np.bincount(classes.ids, weights=times, minlength=len(classes.sizes)).astype(np.int64)
        return np.asarray(self._matching(chosen, missing, sizes)[classes.ids])

    def matching_classes(self, names: Iterable[str], missing: MissingCells) -> Longs:
        """Shape (C,); as `matching`, for the records of each class over some columns."""
        asked = (tuple(names), missing)
        if asked not in self._matches:
            self._matches[asked] = self._matching(*asked, self.classes(asked[0]).sizes)
        return self._matches[asked]

    @cached_property
    def _matches(self) -> dict[tuple[tuple[str, ...], MissingCells], Longs]:
        """Cache of numbers of matching records: several judges ask for those of the quasi-identifiers."""
        return {}

    def _matching(self, names: tuple[str, ...], missing: MissingCells, sizes: Longs) -> Longs:
        if missing == "equal" or self.complete_in(names):
            return sizes
        return wildcard_counts(self._different(names)[0], sizes, missing_counts=missing == "wildcard")

    def matching_weight(self, names: Iterable[str], weights: Floats, missing: MissingCells = "equal") -> Floats:
        """Shape (n,); as `matching`, the sum of the matching records' weights, shape (n,)."""
        chosen = list(names)
        classes = self.classes(chosen)
        sums: Floats = np.bincount(classes.ids, weights=weights, minlength=len(classes.sizes)).astype(np.float64)
        if missing == "equal" or self.complete_in(chosen):
            return np.asarray(sums[classes.ids])
        codes, lacking = self._different(chosen)
        sums = wildcard_weights(codes, sums, missing_counts=missing == "wildcard")[classes.ids]
        return sums + weights * lacking[classes.ids] if missing == "nothing" else sums

    def complete_in(self, names: Iterable[str]) -> bool:
        """True if no cell of some columns is missing."""
        return all(self[name].complete for name in names)

    def _different(self, names: Sequence[str]) -> tuple[Ints, Bools]:
        """Shapes (C, d) and (C,); codes of each class over some columns, and True if a cell is missing."""
        classes = self.classes(names)
        first = first_rows(classes.ids, len(classes.sizes))
        codes = np.column_stack([self.codes_as_written(name)[first] for name in names])
        return codes, np.asarray((codes < 0).any(axis=1))


def unchanged(records: Records, changed: Iterable[Variable]) -> Bools:
    """Shape (n,); True for records whose cells are written as before in new versions of some columns."""
    same = np.ones(len(records), dtype=bool)
    for variable in changed:
        same &= variable.identity() == records[variable.name].identity()
    return same


def _as_numbers(x: ArrayLike) -> Floats:
    """An array of numbers as float64. Raises DataError if two different numbers would become one."""
    array = np.asarray(x)
    if array.dtype.kind == "O" and all(isinstance(cell, Real) for cell in array.flat):
        values = array.astype(np.float64)
    elif array.dtype.kind in "biuf" or not array.size:
        values = np.asarray(array, dtype=np.float64)
    else:
        raise DataError(
            f"An array of records must hold numbers; it holds {array.dtype.name}. Give a data frame for text and dates."
        )
    ends: list[Any] = list(array.flat) if array.dtype.kind == "O" else []
    if array.dtype.kind in "iu" and array.size:
        ends = [array.min(), array.max()]
    if any(isinstance(end, Integral) and abs(int(end)) > EXACT_INTEGERS for end in ends):
        raise DataError("The array has integers beyond 2^53, which are not exact as numbers. Rescale them.")
    return values
