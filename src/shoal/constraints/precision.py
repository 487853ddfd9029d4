"""Precision at which a rule can be judged: the decimals of the cells, and advice if digits are lacking."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import power_of_ten
from shoal.table.records import Records
from shoal.vocabulary.errors import quoted

MOST_DECIMALS = 15
"""Significant digits of a float64; no more decimals are offered."""

LARGEST_WHOLE, LARGEST = 2.0**49, 1e12
"""Largest number of steps of a value from 0, for whole numbers and for others.

Float64 resolves far more, so that other numbers are not taken for decimals, and a sum of decimals stays nearer to the
right one than to any other.
"""

Decimals = Mapping[str, int | None]
"""Decimals of the cells of each column; None if they are no decimals."""


def written_decimals(x: Floats) -> int | None:
    """Decimals with which all known values of a column (n,) are written; None if they are no decimals."""
    x = x[~np.isnan(x)]
    largest = float(np.abs(x).max(initial=0.0))
    if largest <= LARGEST_WHOLE and _written_with(x, 0):
        return 0
    fitting = [places for places in range(1, MOST_DECIMALS + 1) if largest * float(power_of_ten(places)) <= LARGEST]
    if not fitting or not _written_with(x, fitting[-1]):  # whatever has fewer decimals has these, too
        return None
    return next(places for places in fitting if _written_with(x, places))


def of_all(parts: Sequence[Decimals]) -> Decimals:
    """Decimals of the columns of a table, from those of its parts."""
    return {
        name: None if any(part[name] is None for part in parts) else max(part[name] or 0 for part in parts)
        for name in parts[0]
    }


def _written_with(x: Floats, places: int) -> bool:
    scale = power_of_ten(places)
    return bool((np.rint(x * scale) / scale == x).all())


def places_of(value: Fraction) -> int | None:
    """Decimals that write a fraction exactly; None if there are none."""
    for places in range(MOST_DECIMALS + 1):
        if (value * 10**places).denominator == 1:
            return places
    return None


def advice_on_digits(records: Records, names: Sequence[str]) -> str:
    """Advice on a rule that fails by less than single precision resolves; empty if no column has that precision."""
    short = [name for name in names if records[name].continuous and _is_single(records[name].values)]
    if not short:
        return ""
    return f" But for the digits that float32 lacks it would hold; make {quoted(short)} float64."


def _is_single(values: Floats) -> bool:
    """True if every value is one of single precision and not all are whole numbers, which sums keep exactly."""
    present = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        single = present.astype(np.float32).astype(np.float64)
    return bool((single == present).all() and (present != np.rint(present)).any())
