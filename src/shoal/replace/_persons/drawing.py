"""Draws of persons with their rows, from models of linked tables: depth first, row after row.

All persons are drawn side by side: first their own columns, then the number of rows in each table below, then the first
rows of all who have one, each with all that hangs on it, then the second rows, and so on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Floats, Longs
from shoal.replace._persons.columns import AGAIN, MadeUpColumn
from shoal.replace._persons.fitted import Anchored, FittedPart, TableModels
from shoal.table.links import Keys, Links, root_of
from shoal.table.order_rules import OrderRules, TableColumn
from shoal.table.prelude import Variable

Known = dict[TableColumn, Floats]
"""Shape (m,) by cell; numbers that rules compare, of the rows that are being drawn or of those above them."""


@dataclass(slots=True, eq=False)
class _Rows:
    """The rows of a table that were drawn so far."""

    above: list[Longs] = field(default_factory=list)  # The row above each
    cells: dict[TableColumn, list[list[Floats]]] = field(default_factory=dict)  # The parts of a column, or its numbers
    count: int = 0

    def begun(self, above: Longs) -> Longs:
        """Shape (m,); numbers of new rows, each with the row above it."""
        self.above.append(above)
        self.count += len(above)
        return np.arange(self.count - len(above), self.count)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Before:
    """The row before each of some rows."""

    shown: list[Floats]  # What it shows
    ended: Floats  # Shape (m,); where it ended, NaN where rows are in no order


@dataclass(slots=True, eq=False)
class _One:
    """A row below each of some rows, drawn with all that hangs on it."""

    early: list[Floats]  # What its columns show that were drawn before the rows below it
    late: list[Floats]  # What the others show
    ended: Floats  # Shape (m,); where it ends
    largest: Known  # Its numbers, or the largest of the rows below


class PersonDrawing:
    """Draws persons with their rows.

    Parameters
    ----------
    broken
        Number of values so far that never stand together in the original.
    """

    def __init__(self, models: Mapping[str, TableModels], order: OrderRules, keys: Keys, rng: Generator) -> None:
        self.models, self.order, self.keys, self.rng = models, order, keys, rng
        self.rows = {name: _Rows() for name in models}
        self.compared = {rule.low for rule in order.rules}
        self.broken = 0

    def persons(self, n: int) -> None:
        """Draw so many persons."""
        self._one(root_of(self.keys), np.full(n, -1), [], None, {})

    def links(self) -> Links:
        """The links between the rows that were drawn."""
        root = root_of(self.keys)
        above = {name: _joined(rows.above) for name, rows in self.rows.items() if name != root}
        return Links(keys=self.keys, sizes={name: rows.count for name, rows in self.rows.items()}, above=above)

    def variables(self, name: str) -> list[Variable]:
        """The columns of a table that were drawn."""
        written = []
        for drawn in (*self.models[name].early, *self.models[name].late):
            parts = [np.concatenate(blocks) for blocks in zip(*self.rows[name].cells[drawn.cell])]
            variable = drawn.column.variable
            written.append(variable.with_values(parts[0]) if drawn.anchored else drawn.column.written(parts))
        return written

    def _one(self, name: str, above: Longs, base: list[Floats], previous: _Before | None, known: Known) -> _One:
        """Draw a row below each of some rows, with all that hangs on it.

        Parameters
        ----------
        above
            Shape (m,); number of the row above each.
        base
            What predicts it but for the row before.
        known
            Numbers of the rows above.
        """
        of, known = self.models[name], dict(known)
        models = of.first if previous is None or of.later is None else of.later
        numbers = self.rows[name].begun(above)
        before = [*base, *([] if previous is None else previous.shown)]
        early: list[Floats] = []
        late: list[Floats] = []
        ended = np.full(len(above), np.nan) if previous is None else previous.ended
        for drawn in of.early:
            early += self._column(drawn, models[drawn.cell.column], [*before, *early], ended, known)
        before += early
        for lower, count in of.counts.items():
            counts = self._drawn(count, [*base, *early], len(above))
            before += self._below(lower, numbers, counts, [*base, *early], known)
        for drawn in of.late:
            late += self._column(drawn, models[drawn.cell.column], [*before, *late], ended, known)
        own = {cell: known[cell] for cell in self.compared if self._inside(cell, name)}
        ends = [known[TableColumn(name, column)] for column in self.order.order.get(name, ())]
        return _One(early=early, late=late, ended=np.fmax.reduce(ends) if ends else ended, largest=own)

    def _inside(self, cell: TableColumn, name: str) -> bool:
        """True if a cell is of a table or of one below it."""
        return cell.table == name or self.order.is_below(cell.table, name)

    def _below(self, name: str, numbers: Longs, counts: Floats, base: list[Floats], known: Known) -> list[Floats]:
        """Draw so many rows of a table below some rows, and note the largest of their numbers.

        Returns how many there are, and what the last of them shows.
        """
        of, m = self.models[name], len(numbers)
        counts = np.minimum(counts, np.inf if of.later is not None else 1)
        last = [np.full(m, float(levels) if levels else np.nan) for levels in of.levels]
        late: list[Floats] = []
        ended = np.full(m, np.nan)
        for cell in self.compared:
            if self._inside(cell, name):
                known[cell] = np.full(m, np.nan)
        for place in range(int(counts.max(initial=0))):
            here = np.flatnonzero(counts > place)
            shown = [feature[here] for feature in (*last, *late)]
            one = self._one(
                name,
                numbers[here],
                [*(feature[here] for feature in base), counts[here], np.full(len(here), float(place))],
                _Before(shown=shown, ended=ended[here]) if place else None,
                {cell: values[here] for cell, values in known.items()},
            )
            late = late or [np.full(m, np.nan) for _ in one.late]
            for whole, part in zip((*last, *late, ended), (*one.early, *one.late, one.ended)):
                whole[here] = part
            for cell, values in one.largest.items():
                known[cell][here] = np.fmax(known[cell][here], values)
        return [counts, *last]

    def _column(
        self,
        drawn: MadeUpColumn,
        models: tuple[FittedPart, ...] | Anchored,
        before: list[Floats],
        ended: Floats,
        known: Known,
    ) -> list[Floats]:
        """Draw a column; returns what it shows to those drawn after it.

        `ended`: shape (m,); where the row before each ended.
        """
        m = len(ended)
        cells = self.rows[drawn.cell.table].cells.setdefault(drawn.cell, [])
        if not isinstance(models, Anchored):
            shown: list[Floats] = []
            for model in models:
                shown.append(self._drawn(model, [*before, *shown], m))
            cells.append(shown)
            known[drawn.cell] = shown[-1]
            return shown
        lows = [known[low] for low in drawn.lows]
        anchor = np.fmax.reduce([np.full(m, np.nan), *lows, *([ended] * drawn.starts)])
        limit = np.fmin.reduce([np.full(m, drawn.top), *(low + reach for low, reach in zip(lows, models.reach))])
        values = self._numbers(drawn, models, [*before, *drawn.about(anchor, lows)], anchor, limit)
        cells.append([values])
        known[drawn.cell] = values
        return drawn.shown(values, anchor)

    def _numbers(
        self, drawn: MadeUpColumn, models: Anchored, before: list[Floats], anchor: Floats, limit: Floats
    ) -> Floats:
        """Shape (m,); numbers by their distance from an anchor, where there is one, drawn again beyond a limit."""
        m = len(anchor)
        present = np.ones(m, dtype=bool)
        if models.kind is not None:
            before = [*before, self._drawn(models.kind, before, m)]
            present = before[-1] == 0
        near = present & ~np.isnan(anchor) & (models.distance is not None)
        values, x = np.full(m, np.nan), _stacked(before, m)
        alone = np.flatnonzero(present & ~near)
        values[alone] = np.fmax(self._drawn(models.number, list(x[:, alone]), len(alone)), anchor[alone])
        rows = np.flatnonzero(near)
        if len(rows) and models.distance is not None:
            distances = self._drawn(models.distance, list(x[:, rows]), len(rows))
            for _ in range(AGAIN):
                over = np.flatnonzero(anchor[rows] + distances > limit[rows])
                if not len(over):
                    break
                distances[over] = self._drawn(models.distance, list(x[:, rows[over]]), len(over))
            values[rows] = drawn.number(distances, anchor[rows], limit[rows], models.least)
        return values

    def _drawn(self, model: FittedPart, before: list[Floats], m: int) -> Floats:
        """Shape (m,); values of a part, predicted by those before it."""
        values, broken = model.drawn(_stacked(before, m), self.rng)
        self.broken += broken
        return values


def _stacked(features: list[Floats], m: int) -> Floats:
    return np.vstack(features) if features else np.empty((0, m))


def _joined(blocks: list[Longs]) -> Longs:
    return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
