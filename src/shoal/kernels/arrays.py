"""Types of arguments of kernels, conversion into arrays, and what is least in one."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Column = NDArray[Any]

Progress = Callable[[float], object] | None
"""Called now and then with the fraction of the work that is done, in [0, 1]; None for no reports."""

Engine = Literal["auto", "brute", "tree"]
"""Search that looks at every record, that prunes by bounds, or the faster one. The result is the same."""

Rule = Literal["power", "entropy"]
"""Memberships |x - v|^(-2/(m-1)) (fuzzy c-means) or exp(-lambda |x - v|^2) (entropy fuzzy c-means)."""

Partner = Literal["nearest", "cheapest", "farthest"]
"""Group that one with an excess is merged with."""

Kind = Literal["distinct", "entropy", "recursive"]
"""Kinds of l-diversity."""

Reading = Literal["equal", "wildcard", "nothing"]
"""Cells that a missing cell equals: a missing cell, every cell, or none."""


def floats(values: ArrayLike) -> Floats:
    """C-contiguous float64; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.float64)


def ints(values: ArrayLike) -> Ints:
    """C-contiguous int32; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.int32)


def longs(values: ArrayLike) -> Longs:
    """C-contiguous int64; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.int64)


def least(values: Column, most: int) -> Longs:
    """Shape (m,) with m <= most; positions of the least values, equal ones as they stand, without a sort of them all.

    `values`, shape (n,): none is NaN.
    """
    if most >= len(values):
        return np.argsort(values, kind="stable")
    lowest = np.flatnonzero(values == values.min())
    if len(lowest) >= most:  # as among class sizes; among equal values a partition is slow
        return lowest[:most]
    bound = np.partition(values, most)[most]
    below, equal = np.flatnonzero(values < bound), np.flatnonzero(values == bound)
    chosen = np.sort(np.concatenate([below, equal[: most - len(below)]]))
    return np.asarray(chosen[np.argsort(values[chosen], kind="stable")])


def seed_of(rng: np.random.Generator) -> int:
    """Draw one 64-bit seed for a kernel's own stream (`native/core/random.hpp`)."""
    return int(rng.integers(0, 2**64, dtype=np.uint64))
