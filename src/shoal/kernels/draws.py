"""Draws from distributions that NumPy's generators make with the C library's logarithm.

A normal value from beyond 3.65 standard deviations and a chi-squared or Dirichlet value hold a logarithm or a power,
the last digit of which is another on other processors. They are rounded, so that it no longer shows: 1e-9 of
their size is nothing that a distribution could be told apart by. All other values are untouched.
"""

import numpy as np

from shoal.kernels.arrays import Floats, Longs

TAIL = 3.6541528853610088
"""Beyond this the ziggurat of NumPy's generators takes a logarithm (Marsaglia & Tsang 2000)."""

BITS = 30
"""Binary digits that are kept of a value with a logarithm in it."""


def standard_normal(rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
    """Independent standard normal values of this shape."""
    x = rng.standard_normal(size)
    beyond = np.abs(x) > TAIL
    return np.asarray(np.where(beyond, _rounded(x), x)) if beyond.any() else x


def chi_squared(rng: np.random.Generator, freedom: Floats | float) -> Floats:
    """Independent chi-squared values, one for each of `freedom` (of any shape)."""
    return _rounded(np.asarray(rng.chisquare(freedom)))


def dirichlet(rng: np.random.Generator, length: int, size: int) -> Floats:
    """Shape (size, length); rows of shares that are positive and sum to 1, uniform among all such."""
    waiting = _rounded(rng.standard_exponential((size, length)))
    return np.asarray(waiting / waiting.sum(axis=1, keepdims=True))


def drawn_rows(rng: np.random.Generator, count: int, most: int) -> Longs:
    """Ascending rows of a table of `count`: all of them, or `most` drawn at random where they are more."""
    return np.sort(rng.choice(count, most, replace=False)) if count > most else np.arange(count)


def _rounded(x: Floats) -> Floats:
    """To BITS binary digits."""
    share, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.rint(np.ldexp(share, BITS)), exponent - BITS))
