"""Columns of linked tables as they are drawn: by themselves, or as what they exceed other cells by.

A cell that rules bound from below is drawn as its distance from the largest of the cells that bound it, and the start
of a row as the distance from the row before. So rules hold by construction, and intervals are what the trees see.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.replace._trees.columns import TreeColumn
from shoal.replace._trees.smoothing import FEW, ends_of_units
from shoal.replace.decimals import MOST, decimals_of
from shoal.table.order_rules import OrderRules, TableColumn
from shoal.table.prelude import Variable

AGAIN = 20
"""Times that a distance which leads beyond the column's largest values is drawn again, before the value is cut off."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeUpColumn:
    """A column that is made up."""

    cell: TableColumn
    column: TreeColumn
    lows: tuple[TableColumn, ...]  # What bounds it from below
    starts: bool  # Whether the rows that hang on the same one are in order by it
    ends: TableColumn | None  # For a column that starts: where a row ends, if there is such a column
    gaps: bool  # Whether cells are missing
    top: float  # The largest number that a few persons reach
    places: int  # Decimals of its numbers

    @classmethod
    def of(cls, variable: Variable, cell: TableColumn, rules: OrderRules, persons: Longs) -> "MadeUpColumn":
        """`persons`: shape (n,), whose each record is."""
        order = rules.order.get(cell.table, ())
        starts = cell.column in order[:1]
        ends = TableColumn(cell.table, order[1]) if starts and len(order) > 1 else None
        numbers = variable.values[~variable.missing] if variable.continuous else np.empty(0)
        places = decimals_of(numbers) if len(numbers) else 0
        return cls(
            cell=cell,
            column=TreeColumn.of(variable),
            lows=rules.lows(cell),
            starts=starts,
            ends=ends,
            gaps=bool(variable.missing.any()),
            top=largest_of_several(variable.values, persons) if variable.continuous else np.inf,
            places=MOST if places is None else places,
        )

    @property
    def anchored(self) -> bool:
        """True if its distance from other cells may be drawn."""
        return self.starts or bool(self.lows)

    @property
    def values(self) -> Floats:
        """Shape (n,); the original's numbers."""
        return np.asarray(self.column.variable.values, dtype=np.float64)

    def about(self, anchor: Floats, lows: Sequence[Floats]) -> list[Floats]:
        """What else predicts an anchored column: its anchor, and how far that lies above each of several bounds."""
        return [anchor, *(anchor - low for low in lows if len(lows) > 1)]

    def shown(self, values: Floats, anchor: Floats) -> list[Floats]:
        """What an anchored column shows to those drawn after it: if it is missing, its distance, and its number."""
        kind = [np.isnan(values).astype(np.float64)] if self.gaps else []
        return [*kind, values - anchor, values]

    @property
    def shown_levels(self) -> list[int]:
        """Categories of each of the `shown` features."""
        return [*([2] if self.gaps else []), 0, 0]

    def number(self, distance: Floats, anchor: Floats, limit: Floats, least: float) -> Floats:
        """Shape (m,); the numbers at some distances from their anchors, as finely written as the column is.

        Nothing lies below its anchor, nor beyond its `limit` unless it would be nearer than `least` to the anchor.
        """
        value = np.round(np.minimum(anchor + distance, np.maximum(limit, anchor + least)), self.places)
        return np.asarray(np.maximum(value, anchor))


def largest_of_several(values: Floats, persons: Longs) -> float:
    """The largest number that a few persons reach.

    `values`, `persons`: shape (n,); NaN where there is no number. Infinite if fewer have one.
    """
    present = ~np.isnan(values)
    if not present.any():
        return np.inf
    largest = ends_of_units(values[present], persons[present])[1]
    return float(largest[-FEW]) if len(largest) >= FEW else np.inf
