"""Draws keyed by record, and from distributions that NumPy's generators make with the C library's logarithm.

What is drawn for a record as such, as the noise that it gets, depends on its row in the table that came in and on a key
of the step. So it is the same in whatever part of the table the record lies.

A normal value from beyond 3.65 standard deviations and a chi-squared or Dirichlet value hold a logarithm or a power,
the last digit of which is another on other processors. They are rounded, so that it no longer shows: 1e-9 of
their size is nothing that a distribution could be told apart by. All other values are untouched.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol, Self

import numpy as np

from shoal.kernels._native import normal_by_row, uniform_by_row
from shoal.kernels.arrays import Bools, Floats, Longs

TAIL = 3.6541528853610088
"""Beyond this the ziggurat of NumPy's generators takes a logarithm (Marsaglia & Tsang 2000)."""

BITS = 30
"""Binary digits that are kept of a value with a logarithm in it."""


Size = int | tuple[int, ...]


def keyed_generator(entropy: int, *key: int) -> np.random.Generator:
    """The random numbers of one piece of work, of which the key is the number."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def seed_below(entropy: int, *key: int) -> int:
    """A seed of 128 bits for another run, of which the key is the number."""
    words = np.random.SeedSequence(entropy, spawn_key=key).generate_state(4)
    return sum(int(word) << (32 * place) for place, word in enumerate(words))


class Draws(Protocol):
    """Draws from distributions: a generator of NumPy, or `RecordDraws`."""

    def random(self, size: Size, /) -> Floats:
        """Independent uniform values in [0, 1)."""
        ...

    def standard_normal(self, size: Size, /) -> Floats:
        """Independent standard normal values."""
        ...


@dataclass(slots=True, eq=False)
class RecordDraws:
    """Draws for records, each of which depends on the record's row and a key alone.

    Parameters
    ----------
    rows
        Shape (n,); of each record, in the table that came in.
    key
        Of 128 bits.
    turn
        How often was drawn before. Each draw is of shape (n,) or (n, m): one record after the other.
    """

    rows: Longs
    key: tuple[int, int]
    turn: int = 0

    @classmethod
    def of(cls, rows: Longs, rng: np.random.Generator) -> Self:
        """Draws for these records, with a key from a generator."""
        first, second = rng.integers(0, 2**64, 2, dtype=np.uint64).tolist()
        return cls(rows, (first, second))

    def among(self, places: Longs | Bools) -> Self:
        """The draws for some of the records, by place."""
        return replace(self, rows=self.rows[places])

    def random(self, size: Size, /) -> Floats:
        """Independent uniform values in [0, 1)."""
        return self._next(uniform_by_row, size)

    def standard_normal(self, size: Size, /) -> Floats:
        """Independent standard normal values."""
        return self._next(normal_by_row, size)

    def _next(self, draw: Callable[..., Floats], size: Size) -> Floats:
        shape = (size,) if isinstance(size, int) else size
        self.turn += 1
        return draw(self.rows, *self.key, self.turn, prod(shape[1:])).reshape(shape)


def standard_normal(rng: Draws, size: Size) -> Floats:
    """Independent standard normal values of this shape."""
    x = rng.standard_normal(size)
    if isinstance(rng, RecordDraws):
        return x
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
