"""What counts and choices cost of a rho (zero-concentrated differential privacy), and the rho of epsilon and delta."""

from decimal import Decimal
from fractions import Fraction
from math import isqrt

from shoal.kernels.concentrated import rho_paid_for
from shoal.vocabulary.errors import ParameterError

PARTS = 2**20
"""Shares of rho, and the root of it that a choice is made with, are whole multiples of a part of one in this many."""


def rho_of(epsilon: Fraction, delta: Decimal) -> Fraction:
    """The rho that (epsilon, delta) pays for, rounded down. Raises ParameterError if nothing is left of it."""
    rho = rho_paid_for(epsilon, delta)
    if rho <= 0:
        raise ParameterError(
            "private-marginals: epsilon is so small that it pays for no count. Raise epsilon, or delta."
        )
    return rho


def variance_for(rho: Fraction, sensitivity: int) -> int:
    """The least whole variance with which discrete Gaussian noise on counts costs at most rho.

    `sensitivity`: Euclidean distance of the counts with a person and without, at most; the cost is its square over
    twice the variance (Canonne, Kamath & Steinke 2020, theorem 4).
    """
    return max(-(-(sensitivity**2) * rho.denominator // (2 * rho.numerator)), 1)


def rate_for(rho: Fraction, sensitivity: int) -> Fraction:
    """The rate, rounded down, of an exponential choice that costs at most rho.

    A choice with P proportional to exp(rate score), scores differing by `sensitivity` at most, has log odds that move
    by 2 rate sensitivity = e at most between any two places, and costs e^2 / 8 (Cesar & Rogers 2021, theorem 2).
    """
    root = isqrt(8 * rho.numerator * PARTS**2 // rho.denominator)  # e in parts
    return Fraction(root, 2 * PARTS * sensitivity)
