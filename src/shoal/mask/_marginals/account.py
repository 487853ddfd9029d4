"""Zero-concentrated differential privacy (rho) that (epsilon, delta) pays for (Bun & Steinke 2016).

rho bounds the Renyi divergence of any order a > 1 of what is seen with a person and without by a rho. It adds up over
measurements and choices. A release with rho is (epsilon, delta)-differentially private for the delta of Canonne, Kamath
& Steinke (2020, corollary 13), at any a:

    delta = exp((a - 1) (a rho - epsilon)) / (a - 1) (1 - 1/a)^a

Figures are taken with decimals of 50 digits, whose last do not hang on the machine.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import isqrt

from shoal.mask.sampled_classes import DIGITS
from shoal.vocabulary.errors import ParameterError

PARTS = 2**20
"""Shares of rho, and the root of it that a choice is made with, are whole multiples of a part of one in this many."""

STEPS = 90


def rho_of(epsilon: Fraction, delta: Decimal) -> Fraction:
    """The rho that (epsilon, delta) pays for, rounded down: that of the best order, up to the search for it.

    At each order the formula is solved for rho, so that any order gives one that is paid for. Raises ParameterError if
    none is left of it.
    """
    with localcontext(prec=DIGITS):
        target = Decimal(epsilon.numerator) / epsilon.denominator
        low, high = Decimal(0), 16 * (1 - delta.ln()) / target  # of the order less 1; rho rises, then falls
        for _ in range(STEPS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if _rho_at(left, target, delta) > _rho_at(right, target, delta):
                high = right
            else:
                low = left
        rho = Fraction(int(_rho_at((low + high) / 2, target, delta) * PARTS**2), PARTS**2)
    if rho <= 0:
        raise ParameterError(
            "private-marginals: epsilon is so small that it pays for no count. Raise epsilon, or delta."
        )
    return rho


def _rho_at(beyond: Decimal, epsilon: Decimal, delta: Decimal) -> Decimal:
    """The rho that is paid for by the formula at order 1 + `beyond`."""
    order = beyond + 1
    return (epsilon + (delta.ln() + beyond.ln() - order * (1 - 1 / order).ln()) / beyond) / order


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
