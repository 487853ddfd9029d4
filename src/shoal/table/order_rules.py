"""Rules on the order of numbers and days in linked tables: `stays.discharge <= patients.died`.

A rule compares a cell with those of the rows above it, or below it: whoever died has no later discharge. The rows below
one row may have an order of their own, by one column, or by two that say where a row begins and where it ends; then
none begins before the one before it has ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.table.links import Keys, Links, chain, root_of
from shoal.vocabulary.errors import quoted


class TableColumn(NamedTuple):
    """A column of one of the tables."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class OrderRule(NamedTuple):
    """A cell is at most another one."""

    low: TableColumn
    high: TableColumn

    def __str__(self) -> str:
        return f"{self.low} <= {self.high}"


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderRules:
    """Rules on the order of cells in linked tables.

    Parameters
    ----------
    order
        By table, the column by which rows below one row are in order; or two, where rows begin and where they end.
    given
        Rules between cells, those that `order` implies left out.
    """

    keys: Keys
    order: Mapping[str, tuple[str, ...]]
    given: tuple[OrderRule, ...]

    @cached_property
    def rules(self) -> tuple[OrderRule, ...]:
        """All rules between cells: a row ends after it begins."""
        implied = (
            OrderRule(TableColumn(name, o[0]), TableColumn(name, o[1])) for name, o in self.order.items() if len(o) > 1
        )
        return tuple(dict.fromkeys([*implied, *self.given]))

    def lows(self, cell: TableColumn) -> tuple[TableColumn, ...]:
        """The cells that are at most this one."""
        return tuple(rule.low for rule in self.rules if rule.high == cell)

    def start(self, name: str) -> str | None:
        """The column by which the rows of a table are in order; None if there is none."""
        return self.order[name][0] if name in self.order else None

    def is_below(self, lower: str, upper: str) -> bool:
        """True if a table hangs on another, right below it or further down."""
        return lower != upper and upper in chain(self.keys, lower)

    @cached_property
    def late(self) -> frozenset[TableColumn]:
        """Cells of which a cell below is at most as large, and those of their rows that these bound in turn."""
        late = {rule.high for rule in self.rules if self.is_below(rule.low.table, rule.high.table)}
        while more := {r.high for r in self.rules if r.low in late and r.low.table == r.high.table} - late:
            late |= more
        return frozenset(late)

    def in_turn(self, name: str, columns: tuple[str, ...]) -> list[str]:
        """The columns of a table, each after those of its row that are at most as large; the order's comes first.

        Columns in a circle are left out.
        """
        left = sorted(columns, key=lambda column: column != self.start(name))
        turn: list[str] = []
        while ready := [
            c for c in left if all(low.table != name or low.column in turn for low in self.lows(TableColumn(name, c)))
        ]:
            turn.append(ready[0])
            left.remove(ready[0])
        return turn

    def faults(self, columns: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
        """Reasons why rows cannot be made up by these rules, in sentences.

        `columns`: by table, those that are made up.
        """
        for place in dict.fromkeys([*(cell for rule in self.rules for cell in rule), *self._ordering()]):
            if place.table not in self.keys:
                yield f"'{place}': there is no table '{place.table}'; there are {quoted(self.keys)}."
            elif place.column not in columns[place.table]:
                yield f"'{place}': the table has no such column that is made up; it has {quoted(columns[place.table])}."
        for each in self.rules:
            low, high = each
            if not {low.table, high.table} <= self.keys.keys():
                continue
            if (
                low.table != high.table
                and not self.is_below(*_tables(each))
                and not self.is_below(*_tables(each)[::-1])
            ):
                yield f"'{each}': none of the two tables hangs on the other."
            if low in self.late and self.is_below(high.table, low.table):
                yield f"'{each}': '{low}' cannot be drawn both before the rows below it and after them. Drop a rule."
        if (root := root_of(self.keys)) in self.order:
            yield f"order: '{root}' has one row a person, so its rows are in no order. Leave it out."
        for cell in self._ordering():
            if cell in self.late and cell.column == self.start(cell.table):
                yield f"'{cell}' is in order, and drawn before rows below it. Drop the rule that bounds it by these."
        for name in self.keys:
            if circle := set(columns[name]) - set(self.in_turn(name, columns[name])):
                yield f"table '{name}': the rules lead in a circle through {quoted(sorted(circle))}."

    def _ordering(self) -> list[TableColumn]:
        return [TableColumn(name, column) for name, columns in self.order.items() for column in columns]

    def broken(self, values: Mapping[TableColumn, Floats], links: Links) -> Iterator[tuple[str, Bools]]:
        """Each rule in words, and the rows of its table, or of the lower one of two, that break it.

        `values`: numbers of the cells that rules name, NaN where one is missing, which breaks no rule.
        """
        for each in self.rules:
            low, high = each
            lower = low.table if self.is_below(low.table, high.table) else high.table
            own, other = (values[cell][links.rows_of(cell.table, lower)] for cell in each)
            yield str(each), np.asarray(own > other)
        for name, columns in self.order.items():
            if len(columns) > 1:
                start, end = (values[TableColumn(name, column)] for column in columns)
                place, previous = succession([start, end], links.above[name])
                ended = np.where(place > 0, end[previous], np.nan)
                yield f"{name}.{columns[0]} not before the last {name}.{columns[1]}", np.asarray(start < ended)


def _tables(each: OrderRule) -> tuple[str, str]:
    return each.low.table, each.high.table


def succession(ordering: Sequence[Floats], above: Longs) -> tuple[Longs, Longs]:
    """Shape (n,) each; the place of each row among those that hang on the same one, from 0, and the row before it.

    `ordering`: numbers by which they are in order, and by which equal ones are; those left stay as they stand. A first
    row has itself before it.
    """
    n = len(above)
    order = np.lexsort((np.arange(n), *reversed(ordering), above))
    first = np.diff(above[order], prepend=-1) != 0
    steps = np.arange(n)
    begins = np.maximum.accumulate(np.where(first, steps, 0)) if n else steps
    place, previous = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    place[order] = steps - begins
    previous[order] = np.where(first, order, np.roll(order, 1))
    return place, previous
