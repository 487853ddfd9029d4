"""What to say where a rule fails by less than the digits of its columns can tell."""

from collections.abc import Sequence

import numpy as np

from shoal.data.records import Records
from shoal.errors import quoted
from shoal.kernels.arrays import Floats


def advice_on_digits(records: Records, names: Sequence[str]) -> str:
    """What to do where a rule fails by less than single precision can tell; nothing if no column is that short."""
    short = [name for name in names if records[name].continuous and _is_single(records[name].values)]
    if not short:
        return ""
    return f" But for the digits that float32 lacks it would hold; make {quoted(short)} float64."


def _is_single(values: Floats) -> bool:
    """Whether every value is one of single precision, and not all are whole numbers, which sums keep exactly."""
    known = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        single = known.astype(np.float32).astype(np.float64)
    return bool((single == known).all() and (known != np.rint(known)).any())
