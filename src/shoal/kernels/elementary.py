"""Exponential, logarithm and their kin that are the same to the bit on every processor (native/core/elementary.hpp).

NumPy and the C library take other code for other processors, and the last digits differ. Whatever can end in a
released cell, a label or a figure of the evidence is computed with these functions.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Longs, floats

POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-323, 309)])
"""10^-323 ... 10^308, each the nearest double."""


def exp(x: ArrayLike) -> Floats:
    """Shape of `x`; errs by less than two units in the last place."""
    return _each(_native.exp, x)


def log(x: ArrayLike) -> Floats:
    """Shape of `x`, which is positive; -inf for 0, NaN below 0. Errs by less than two units in the last place."""
    return _each(_native.log, x)


def log1p(x: ArrayLike) -> Floats:
    """log(1 + x), shape of `x`, which is above -1; near 0 with the digits that 1 + x would lose."""
    return _each(_native.log1p, x)


def expm1(x: ArrayLike) -> Floats:
    """exp(x) - 1, shape of `x`; near 0 with the digits that the difference would lose."""
    return _each(_native.expm1, x)


def log_of_sum(a: ArrayLike, b: ArrayLike) -> Floats:
    """log(exp(a) + exp(b)), of the shape to which both are broadcast."""
    top, rest = np.maximum(a, b), np.minimum(a, b)
    distance = np.where(np.isneginf(rest), -np.inf, rest - np.where(np.isneginf(top), 0.0, top))
    return np.asarray(top + log1p(exp(distance)))


def power(x: ArrayLike, exponent: float) -> Floats:
    """x^exponent, shape of `x`, which is not negative. The error grows with the logarithm of the result."""
    return np.asarray(np.ones(np.shape(x)) if exponent == 0 else exp(exponent * log(x)))


def sine(x: ArrayLike) -> Floats:
    """sin x, shape of `x`, of which no value is beyond pi / 4 in size."""
    return _each(_native.small_sine, x)


def log_gamma(x: ArrayLike) -> Floats:
    """log Gamma(x), shape of `x`, which is positive. Errs by less than 1e-14 of the larger of 1 and the result."""
    return _each(_native.log_gamma, x)


def logistic(x: ArrayLike) -> Floats:
    """1 / (1 + exp(-x)), shape of `x`."""
    return np.asarray(1 / (1 + exp(-np.asarray(x))))


def normal_cdf(x: ArrayLike) -> Floats:
    """Distribution function of the standard normal, shape of `x` (Cody 1969)."""
    return _each(_native.normal_cdf, x)


def normal_quantile(p: ArrayLike) -> Floats:
    """Quantiles of the standard normal, shape of `p`, which lies in [0, 1]; NaN elsewhere (Wichura 1988, AS 241)."""
    return _each(_native.normal_quantile, p)


def decade(x: ArrayLike) -> Longs:
    """The whole e with 10^e <= x < 10^(e+1), shape of `x`, which is positive and finite."""
    return np.asarray(
        np.searchsorted(POWERS_OF_TEN, np.asarray(x, dtype=np.float64), side="right") - 324, dtype=np.int64
    )


def power_of_ten(exponent: ArrayLike) -> Floats:
    """The double nearest to 10^exponent, shape of `exponent`: whole numbers from -323 to 308."""
    return np.asarray(POWERS_OF_TEN[np.asarray(exponent) + 323])


def binary_order(x: float) -> int:
    """The whole e with 2^e <= x < 2^(e+1), for x above 0."""
    return math.frexp(x)[1] - 1


def _each(function: Callable[[Floats], Any], x: ArrayLike) -> Floats:
    given = np.asarray(x, dtype=np.float64)
    return np.asarray(function(floats(given.reshape(-1)))).reshape(given.shape)
