"""Models of linked tables: how many rows hang on a row, and the columns of these, one after the other.

Rows that hang on the same one are drawn in order. A row is predicted by the rows above it, by the number of rows beside
it and its place among them, and by the row before it; so first rows have models of their own. A column that a rule
bounds by rows below is drawn after these, and predicted by their number and by the last of them. Every leaf of every
tree holds records of `min_leaf` different persons; what fewer of them have in a column with gaps is not drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.replace._persons.columns import MadeUpColumn, largest_of_several
from shoal.replace._trees.columns import ColumnPart
from shoal.table.links import Links, below
from shoal.table.order_rules import OrderRules, TableColumn, succession
from shoal.table.prelude import Generator, Records, Variable
from shoal.vocabulary.errors import DataError, plural


class FittedPart(Protocol):
    """A fitted model of a part."""

    def drawn(self, x: Floats, rng: Generator) -> tuple[Floats, int]:
        """Shape (m,); values for new records whose earlier parts are (d, m); and how many break a rule."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Modelling:
    """How models are fitted.

    Parameters
    ----------
    fit
        Makes the model of a part given those before it, of some records, and of whose each of all records is.
    fewest
        Fewest persons whose rows a model may be fitted to.
    """

    fit: Callable[[ColumnPart, list[ColumnPart], Longs, Longs], FittedPart]
    fewest: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Anchored:
    """The models of a column that is drawn by its distance from other cells."""

    kind: FittedPart | None  # Whether it is missing; None if it never is
    distance: FittedPart | None  # Its distance from its anchor; None where too few persons have one
    number: FittedPart  # Its number, for rows without an anchor
    # How far it lies above each of its bounds at most, and above the largest of them at least, but for a few persons
    reach: tuple[float, ...]
    least: float


Models = dict[str, tuple[FittedPart, ...] | Anchored]
"""Models of columns: those of its parts, in the order in which they are drawn, or of its distance from other cells."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableModels:
    """The models of one table."""

    early: tuple[MadeUpColumn, ...]  # Columns that are drawn before the rows below
    late: tuple[MadeUpColumn, ...]  # Columns that are drawn after them
    levels: tuple[int, ...]  # Categories of each feature that the early ones show; 0 for numbers
    counts: dict[str, FittedPart]  # For each table right below, of the number of rows that hang on one
    # Models of the columns, early and late ones, of rows that are the first, and of others; None where too few persons
    # have more than one
    first: Models
    later: Models | None


def fitted(
    tables: Mapping[str, Records], links: Links, order: OrderRules, modelling: Modelling
) -> dict[str, TableModels]:
    """The models of linked tables, of the columns that are to be drawn alone.

    Raises
    ------
    DataError
        If rows break a rule, or too few persons have any, or a cell of a column.
    """
    fitting = _Fitting(tables=tables, links=links, order=order, modelling=modelling)
    return {name: fitting.models(name) for name in links.keys}


class _Fitting:
    """The features of all tables, by which models are fitted."""

    def __init__(self, tables: Mapping[str, Records], links: Links, order: OrderRules, modelling: Modelling) -> None:
        self.links, self.order, self.modelling = links, order, modelling
        # By table: the place of each row and the row before it, what is known of a row when those below are drawn, and
        # what it shows to the row after it
        self.succession: dict[str, tuple[Longs, Longs]] = {}
        self.anchors: dict[TableColumn, Floats] = {}
        self.base: dict[str, list[ColumnPart]] = {}
        self.early: dict[str, list[ColumnPart]] = {}
        for name, records in tables.items():
            ordering = [records[column].values for column in order.order.get(name, ())]
            above = links.above.get(name, np.arange(links.sizes[name]))
            self.succession[name] = succession(ordering, above)
        self.columns = {
            name: {
                column: MadeUpColumn.of(
                    self._of_several(records[column], name), TableColumn(name, column), order, links.persons[name]
                )
                for column in order.in_turn(name, records.names())
            }
            for name, records in tables.items()
        }
        self._check()
        for name in links.keys:
            self.base[name] = self._base(name)
            self.early[name] = [part for drawn in self._early(name) for part in self._shown(drawn)]

    def _check(self) -> None:
        named = [cell for rule in self.order.rules for cell in rule]
        named += [TableColumn(name, column) for name, columns in self.order.order.items() for column in columns]
        for cell in dict.fromkeys(named):
            if not self.columns[cell.table][cell.column].column.variable.continuous:
                raise DataError(
                    f"synthesis: '{cell}' is neither a number nor a day, so it cannot be in order. Read it as one "
                    f"(level: continuous), or leave it out of order and rules."
                )
        for name, columns in self.order.order.items():
            if lacking := int(np.isnan(self.columns[name][columns[0]].values).sum()):
                raise DataError(
                    f"synthesis: {plural(lacking, 'row')} of '{name}' lack '{columns[0]}', by which they are in order. "
                    f"Fill it in, drop them (missing: drop), or leave it out of order."
                )
        values = {cell: self.columns[cell.table][cell.column].values for cell in dict.fromkeys(named)}
        for text, wrong in self.order.broken(values, self.links):
            if wrong.any():
                raise DataError(
                    f"synthesis: {plural(int(wrong.sum()), 'row')} of the original "
                    f"{'breaks' if wrong.sum() == 1 else 'break'} '{text}'. Repair them, or leave the rule out."
                )
        for name, persons in self.links.persons.items():
            if (people := len(np.unique(persons))) < self.modelling.fewest:
                raise DataError(
                    f"synthesis: only {plural(people, 'person')} {'has' if people == 1 else 'have'} rows in '{name}', "
                    f"and at least {self.modelling.fewest} must, so that nobody's come back. Leave the table out."
                )

    def _of_several(self, variable: Variable, name: str) -> Variable:
        """A column without the cells that too few persons have in first rows, or in later ones, to draw from them."""
        cells, place = ~variable.missing, self.succession[name][0]
        if cells.all():
            return variable
        people = len(np.unique(self.links.persons[name][cells]))
        if 0 < people < self.modelling.fewest:
            raise DataError(
                f"synthesis: only {plural(people, 'person')} {'has' if people == 1 else 'have'} a cell in "
                f"'{name}.{variable.name}', and at least {self.modelling.fewest} must, so that nobody's comes back. "
                f"Give the column the role identifier, which leaves it out."
            )
        few = [cells & rows for rows in (place == 0, place > 0) if not self._enough(np.flatnonzero(cells & rows), name)]
        blank = np.nan if variable.continuous else -1
        return variable.with_values(np.where(np.logical_or.reduce([~cells, *few]), blank, variable.values))

    def _early(self, name: str) -> list[MadeUpColumn]:
        return [drawn for drawn in self.columns[name].values() if drawn.cell not in self.order.late]

    def _late(self, name: str) -> list[MadeUpColumn]:
        return [drawn for drawn in self.columns[name].values() if drawn.cell in self.order.late]

    def _base(self, name: str) -> list[ColumnPart]:
        """What is known of a row before it is drawn: the rows above, the number of rows beside it, and its place."""
        parent = self.links.keys[name].parent
        if parent is None:
            return []
        above = self.links.above[name]
        counts = np.bincount(above, minlength=self.links.sizes[parent])
        known = [_taken(part, above) for part in [*self.base[parent], *self.early[parent]]]
        place = self.succession[name][0]
        return [*known, _numbers(counts[above].astype(np.float64)), _numbers(place.astype(np.float64))]

    def _anchor(self, drawn: MadeUpColumn) -> Floats:
        """Shape (n,); the largest cell that bounds each one of a column from below, NaN where there is none."""
        if drawn.cell not in self.anchors:
            name = drawn.cell.table
            bounds = [np.full(self.links.sizes[name], np.nan), *(self._values(low, name) for low in drawn.lows)]
            if drawn.starts:
                place, previous = self.succession[name]
                ends = [drawn, *([] if drawn.ends is None else [self.columns[name][drawn.ends.column]])]
                bounds += [np.where(place > 0, end.values[previous], np.nan) for end in ends]
            self.anchors[drawn.cell] = np.fmax.reduce(bounds)
        return self.anchors[drawn.cell]

    def _values(self, cell: TableColumn, name: str) -> Floats:
        """Shape (n,); a cell of each row of a table, of its row above, or the largest one of its rows below."""
        values = self.columns[cell.table][cell.column].values
        if not self.order.is_below(cell.table, name):
            return np.asarray(values[self.links.rows_of(cell.table, name)])
        largest = np.full(self.links.sizes[name], np.nan)
        np.fmax.at(largest, self.links.rows_of(name, cell.table), values)
        return largest

    def _shown(self, drawn: MadeUpColumn) -> list[ColumnPart]:
        """What a column shows to those drawn after it."""
        if not drawn.anchored:
            return list(drawn.column.parts)
        return list(map(_part, drawn.shown(drawn.values, self._anchor(drawn)), drawn.shown_levels))

    def models(self, name: str) -> TableModels:
        """The models of a table."""
        place = self.succession[name][0]
        again = np.flatnonzero(place > 0)
        several = self._enough(again, name)
        return TableModels(
            early=tuple(self._early(name)),
            late=tuple(self._late(name)),
            levels=tuple(part.levels for part in self.early[name]),
            counts={lower: self._count(name, lower) for lower in below(self.links.keys, name)},
            first=self._columns(name, np.flatnonzero(place == 0), []),
            later=self._columns(name, again, self._previous(name)) if several else None,
        )

    def _count(self, name: str, lower: str) -> FittedPart:
        n = self.links.sizes[name]
        counts = np.bincount(self.links.above[lower], minlength=n).astype(np.float64)
        part = ColumnPart(values=counts, levels=0, continuous=True)
        return self._model(part, [*self.base[name], *self.early[name]], np.arange(n), name)

    def _model(self, part: ColumnPart, before: Sequence[ColumnPart], at: Longs, name: str) -> FittedPart:
        return self.modelling.fit(part, list(before), at, self.links.persons[name])

    def _previous(self, name: str) -> list[ColumnPart]:
        """What the row before shows of itself."""
        previous = self.succession[name][1]
        shown = [*self.early[name], *(part for drawn in self._late(name) for part in self._shown(drawn))]
        return [_taken(part, previous) for part in shown]

    def _columns(self, name: str, at: Longs, previous: list[ColumnPart]) -> Models:
        """The models of a table's columns, fitted to some of its rows."""
        before, models = [*self.base[name], *previous], {}
        for drawn in self._early(name):
            models[drawn.cell.column] = self._column(drawn, before, at)
            before += self._shown(drawn)
        if late := self._late(name):
            before += self._of_rows_below(name)
        for drawn in late:
            models[drawn.cell.column] = self._column(drawn, before, at)
            before += self._shown(drawn)
        return models

    def _column(
        self, drawn: MadeUpColumn, before: Sequence[ColumnPart], at: Longs
    ) -> tuple[FittedPart, ...] | Anchored:
        name, parts = drawn.cell.table, drawn.column.parts
        if not drawn.anchored:
            return tuple(self._model(part, [*before, *parts[:number]], at, name) for number, part in enumerate(parts))
        anchor = self._anchor(drawn)
        lows = [self._values(low, name) for low in drawn.lows]
        before = [*before, *map(_numbers, drawn.about(anchor, lows))]
        kind = ColumnPart(values=np.isnan(drawn.values).astype(np.float64), levels=2)
        known = at[~np.isnan(drawn.values[at])]
        before = [*before, *([kind] if drawn.gaps else [])]
        near, alone = (known[np.isnan(anchor[known]) == lacks] for lacks in (False, True))
        distance = ColumnPart(values=drawn.values - anchor, levels=0, continuous=True)
        number = ColumnPart(values=drawn.values, levels=0, continuous=True)
        return Anchored(
            reach=tuple(largest_of_several(drawn.values - low, self.links.persons[name]) for low in lows),
            least=max(0.0, -largest_of_several(anchor - drawn.values, self.links.persons[name])),
            kind=self._model(kind, before[:-1], at, name) if drawn.gaps else None,
            distance=self._model(distance, before, near, name) if self._enough(near, name) else None,
            number=self._model(number, before, alone if self._enough(alone, name) else known, name),
        )

    def _enough(self, at: Longs, name: str) -> bool:
        """True if some rows are those of as many persons as a leaf must have."""
        return len(np.unique(self.links.persons[name][at])) >= self.modelling.fewest

    def _of_rows_below(self, name: str) -> list[ColumnPart]:
        """For each table right below: the number of rows that hang on a row, and what the last of them shows."""
        parts = []
        for lower in below(self.links.keys, name):
            above = self.links.above[lower]
            counts = np.bincount(above, minlength=self.links.sizes[name])
            place = self.succession[lower][0]
            last = np.full(self.links.sizes[name], -1)
            ending = np.flatnonzero(place == counts[above] - 1)
            last[above[ending]] = ending
            parts += [_numbers(counts.astype(np.float64)), *(_or_none(part, last) for part in self.early[lower])]
        return parts


def _part(values: Floats, levels: int) -> ColumnPart:
    return ColumnPart(values=values, levels=levels)


def _numbers(values: Floats) -> ColumnPart:
    return ColumnPart(values=values, levels=0)


def _taken(part: ColumnPart, rows: Longs) -> ColumnPart:
    return ColumnPart(values=part.values[rows], levels=part.levels)


def _or_none(part: ColumnPart, rows: Longs) -> ColumnPart:
    """A part at some rows; no row, -1, is a category of its own."""
    levels = part.levels + 1 if part.levels else 0
    return ColumnPart(values=np.append(part.values, float(part.levels) if levels else np.nan)[rows], levels=levels)
