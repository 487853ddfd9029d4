"""Further tables that a measure takes as a parameter: a holdout, other releases."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.data.microdata import Microdata, as_records
from shoal.data.records import Records
from shoal.data.schema import Column
from shoal.errors import DataError


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
            order=tuple(known[name].categories) if known[name].level == "ordinal" else None,
        )
        for name in names
    }
    return Microdata.of(frame.select(names), described).encoded
