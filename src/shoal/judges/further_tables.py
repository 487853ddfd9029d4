"""Further tables that a measure takes as a parameter: a holdout, other releases."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.table.hierarchy_builders import value_label
from shoal.table.microdata import Microdata, as_records
from shoal.table.records import Records
from shoal.table.schema import Column
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, NoFigure


def like(template: Records, table: Any) -> Records:
    """Records from a frame, an array, Microdata or Records, with the roles and levels of known columns.

    Tables that a plan names by path are read before any measure is asked (`shoal.plan.files`). Columns that `template`
    does not have are left out; Microdata and Records keep their own description.
    """
    if isinstance(table, (Records, Microdata, np.ndarray, list, tuple)):
        return as_records(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"A further table must be a data frame or an array; got {type(table).__name__}. "
            f"Read a file with shoal.read."
        ) from None
    described = {}
    for name in (name for name in frame.columns if name in template):
        order = _order(template[name], frame[name]) if template[name].level == "ordinal" else None
        described[name] = Column(role=template[name].role, level=template[name].level, missing="keep", order=order)
    return Microdata.of(frame.select(*described), described).encoded


def attacked(pair: TablePair, holdout: Any) -> list[Records]:
    """What an attacker has, and whom they attack: the closed release, the original, and a holdout if given."""
    tables = [pair.closure.records, pair.before]
    if holdout is not None:
        tables.append(like(pair.before, holdout))
    if any(not len(table) for table in tables):
        raise NoFigure("A table has no records.")
    return tables


def _order(variable: Variable, column: nw.Series[Any]) -> tuple[Any, ...]:
    """The categories of a known column in their order, and after them the further values of a table."""
    categories = [category for category in variable.categories if category is not None]
    further = {value for value in column.to_list() if value is not None and value == value} - set(categories)
    return (*categories, *sorted(further, key=value_label))


def numbers_of(table: Any, name: str) -> Floats:
    """Shape (n,); a column of numbers of such a table.

    Raises DataError if it has none of that name, or if some are missing, infinite or below 0, or no numbers.
    """
    if isinstance(table, (Records, Microdata)):
        records = as_records(table)
    else:
        frame = nw.from_native(table, eager_only=True)
        described = {name: Column(role="other", level="continuous")} if name in frame.columns else {}
        records = Microdata.of(frame.select(*described), described).encoded
    column = records[name]
    if not column.continuous or not (np.isfinite(column.values) & (column.values >= 0)).all():
        raise DataError(f"Column '{name}' of a further table must hold finite numbers of at least 0. Correct it.")
    return column.values


def codes_of(table: Any, name: str) -> Longs | None:
    """Shape (n,); equal numbers from 0 for equal cells of a column of such a table, -1 for missing ones.

    None if it has no column of that name.
    """
    if isinstance(table, (Records, Microdata)):
        records = as_records(table)
    else:
        frame = nw.from_native(table, eager_only=True)
        described = {name: Column(role="identifier")} if name in frame.columns else {}
        records = Microdata.of(frame.select(*described), described).encoded
    return records.codes_as_written(name).astype(np.int64) if name in records else None
