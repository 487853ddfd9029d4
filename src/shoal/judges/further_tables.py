"""Further tables that a measure takes as a parameter: a holdout, other releases."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.data.hierarchy_builders import value_label
from shoal.data.microdata import Microdata, as_records
from shoal.data.records import Records
from shoal.data.schema import Column
from shoal.data.variable import Variable
from shoal.errors import DataError
from shoal.kernels.arrays import Floats


def like(known: Records, table: Any) -> Records:
    """Records from a frame, an array, Microdata or Records, with the roles and levels of known columns.

    Tables that a plan names by path are read before any measure is asked (`shoal.plan.files`). Columns that `known`
    does not have are left out; Microdata and Records keep their own description.
    """
    if isinstance(table, (Records, Microdata)):
        return as_records(table)
    if isinstance(table, (np.ndarray, list, tuple)):
        return as_records(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"A further table must be a data frame or an array; got {type(table).__name__}. "
            f"Read a file with shoal.read."
        ) from None
    names = [name for name in frame.columns if name in known]
    described = {
        name: Column(
            role=known[name].role,
            level=known[name].level,
            missing="keep",
            order=_order(known[name], frame[name]) if known[name].level == "ordinal" else None,
        )
        for name in names
    }
    return Microdata.of(frame.select(names), described).encoded


def _order(known: Variable, column: nw.Series[Any]) -> tuple[Any, ...]:
    """The categories of a known column in their order, and after them the further values of a table."""
    categories = [category for category in known.categories if category is not None]
    further = {value for value in column.to_list() if value is not None and value == value} - set(categories)
    return (*categories, *sorted(further, key=value_label))


def numbers_of(table: Any, name: str) -> Floats:
    """Shape (n,); a column of numbers of such a table.

    Raises
    ------
    DataError
        If it has none of that name, or if some are missing, infinite or below 0, or no numbers.
    """
    if isinstance(table, (Records, Microdata)):
        records = as_records(table)
    else:
        frame = nw.from_native(table, eager_only=True)
        chosen = frame.select([name] if name in frame.columns else [])
        records = Microdata.of(
            chosen, {name: Column(role="other", level="continuous")} if len(chosen.columns) else {}
        ).encoded
    column = records[name]
    if not column.continuous or not (np.isfinite(column.values) & (column.values >= 0)).all():
        raise DataError(f"Column '{name}' of a further table must hold finite numbers of at least 0. Correct it.")
    return column.values
