"""Minimal sample uniques by SUDA2 (native/risk/suda2.cpp)."""

from math import factorial

from shoal.kernels._native import SampleUniques, suda2
from shoal.kernels.arrays import Floats, floats

MOST_COLUMNS = 64
"""Most columns: a set of columns is one machine word."""


def factorials(d: int) -> Floats:
    """Shape (d,); (d - size)! for sets of 1 to d of d columns."""
    return floats([float(factorial(d - size)) for size in range(1, d + 1)])
