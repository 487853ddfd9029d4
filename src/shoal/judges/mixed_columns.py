"""Some columns of several tables as numbers in which predicates and distances are taken."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shoal.judges.joint_codes import joint_codes
from shoal.kernels.arrays import Bools, Floats
from shoal.kernels.risk.predicates import MISSING
from shoal.table.records import Records
from shoal.table.variable import Variable


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedColumns:
    """Columns of several tables, coded alike."""

    names: tuple[str, ...]  # The columns, d of them
    ordered: Bools  # Shape (d,); whether a column's codes have an order: numbers, and ordinal categories
    # For each table shape (d, n); values of numbers, codes of categories, `MISSING` for missing cells
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, names: Iterable[str], *tables: Records) -> "MixedColumns":
        chosen = tuple(names)
        coded = [_coded([table[name] for table in tables]) for name in chosen]
        return cls(
            names=chosen,
            ordered=np.array([ordered for ordered, _ in coded], dtype=bool),
            tables=tuple(np.array([column[t] for _, column in coded]) for t in range(len(tables))),
        )

    @property
    def scale(self) -> Floats:
        """Shape (d,); 1 / range over all tables of an ordered column, 0 for one without order or of one value."""
        stacked = np.concatenate(self.tables, axis=1)
        cells = np.where(stacked == MISSING, np.nan, stacked)
        out = np.zeros(len(self.names))
        for j in np.flatnonzero(self.ordered):
            present = cells[j][~np.isnan(cells[j])]
            width = float(np.ptp(present)) if len(present) else 0.0
            out[j] = 1 / width if width > 0 else 0.0
        return out


def _coded(columns: list[Variable]) -> tuple[bool, list[Floats]]:
    """A flag for codes that have an order, and the codes in each table."""
    if all(v.continuous for v in columns):
        return True, [np.where(v.missing, MISSING, v.values + 0.0) for v in columns]
    codes = joint_codes(*columns)
    first = [str(category) for category in columns[0].categories]
    ordinal = all(v.level == "ordinal" for v in columns)
    ordered = ordinal and all(str(category) in first for v in columns for category in v.categories)
    return ordered, [np.where(column < 0, MISSING, column.astype(np.float64)) for column in codes]
