"""Exponential, logarithm and related functions with the same bits on every processor (native/core/elementary.hpp).

NumPy and the C library take other code for other processors, so that last digits differ. Whatever can end in a released
cell, a label or a figure of the evidence is computed with these functions.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from shoal.kernels._native import exp, expm1, log, log1p, log_gamma, normal_cdf, normal_quantile, sine
from shoal.kernels.arrays import Floats, Longs

POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-323, 309)])
"""10^-323 ... 10^308, each the nearest double."""


def log_of_sum(a: ArrayLike, b: ArrayLike) -> Floats:
    """log(exp(a) + exp(b)), of the shape to which both are broadcast."""
    top, rest = np.maximum(a, b), np.minimum(a, b)
    distance = np.where(np.isneginf(rest), -np.inf, rest - np.where(np.isneginf(top), 0.0, top))
    return np.asarray(top + log1p(exp(distance)))


def power(x: ArrayLike, exponent: float) -> Floats:
    """x^exponent, shape of `x`, which must not be negative. The error grows with the logarithm of the result."""
    return np.asarray(np.ones(np.shape(x)) if exponent == 0 else exp(exponent * log(x)))


def logistic(x: ArrayLike) -> Floats:
    """1 / (1 + exp(-x)), shape of `x`."""
    return np.asarray(1 / (1 + exp(-np.asarray(x))))


def decade(x: ArrayLike) -> Longs:
    """The integer e with 10^e <= x < 10^(e+1), shape of `x`, which must be positive and finite."""
    return np.asarray(
        np.searchsorted(POWERS_OF_TEN, np.asarray(x, dtype=np.float64), side="right") - 324, dtype=np.int64
    )


def power_of_ten(exponent: ArrayLike) -> Floats:
    """The double nearest to 10^exponent, shape of `exponent`: whole numbers from -323 to 308."""
    return np.asarray(POWERS_OF_TEN[np.asarray(exponent) + 323])


def binary_order(x: float) -> int:
    """The integer e with 2^e <= x < 2^(e+1), for x above 0."""
    return math.frexp(x)[1] - 1
