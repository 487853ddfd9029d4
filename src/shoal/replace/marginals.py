"""Scales on which skewed columns are nearer to normal, and the way back.

Synthesis from a normal model suits normal columns. `quantile` takes a column to its normal scores and back through
its own quantiles, so the released column keeps the shape, the range and the heaps of the original; `log` takes
logarithms of a column without negative values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import exp, log, normal_cdf, normal_quantile
from shoal.vocabulary.errors import DataError

Marginals = Literal["raw", "log", "quantile"]

Map = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class Margin:
    """A column's map to the scale of synthesis, and back."""

    there: Map
    back: Map


AS_IT_IS = Margin(there=lambda x: x, back=lambda x: x)


def margin(values: Floats, kind: Marginals, name: str) -> Margin:
    """The scale of one column (n,)."""
    if kind == "log":
        return _log(values, name)
    if kind == "quantile":
        return _quantile(values)
    return AS_IT_IS


def _log(values: Floats, name: str) -> Margin:
    """log(x + c); c is half the smallest positive value where the column has zeros, else 0."""
    if (values < 0).any():
        raise DataError(f"Column '{name}' has negative values, so it has no logarithms. Set marginals: quantile.")
    positive = values[values > 0]
    shift = float(positive.min()) / 2 if len(positive) and len(positive) < len(values) else 0.0
    if not len(positive):
        return AS_IT_IS
    top = float(log(np.finfo(np.float64).max)) / 2  # keeps squares finite

    def back(x: Floats) -> Floats:
        return np.maximum(exp(np.minimum(x, top)) - shift, 0.0)

    return Margin(there=lambda x: log(x + shift), back=back)


def _quantile(values: Floats) -> Margin:
    """Normal scores Phi^-1((rank - 1/2) / n), tied values at their mean rank; back by interpolated quantiles."""
    ordered = np.sort(values)
    n = len(ordered)

    def there(x: Floats) -> Floats:
        rank = (np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right")) / 2
        return np.asarray(normal_quantile(np.clip(rank, 0.5, n - 0.5) / n))

    def back(x: Floats) -> Floats:
        place = np.abs(normal_cdf(x) * n - 0.5)  # beyond the ends: reflected, so that no extreme is released as it is
        place = np.where(place > n - 1, 2 * (n - 1) - place, place)
        return np.asarray(np.interp(np.clip(place, 0, n - 1), np.arange(n), ordered))

    return Margin(there=there, back=back)
