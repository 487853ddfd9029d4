"""The types that kernels speak, and the one conversion into them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

Progress = Callable[[float], object] | None
"""Called now and then with the fraction of the work that is done, in [0, 1]; None where nobody listens."""


def floats(values: ArrayLike) -> Floats:
    """C-contiguous float64; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.float64)


def ints(values: ArrayLike) -> Ints:
    """C-contiguous int32; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.int32)


def longs(values: ArrayLike) -> Longs:
    """C-contiguous int64; a copy only where one is needed."""
    return np.ascontiguousarray(values, dtype=np.int64)


def seed_of(rng: np.random.Generator) -> int:
    """Draw one 64-bit seed for a kernel's own stream (`native/core/random.hpp`)."""
    return int(rng.integers(0, 2**64, dtype=np.uint64))
