"""What zero-concentrated differential privacy (rho) is worth in epsilon and delta (Bun & Steinke 2016).

rho bounds the Renyi divergence of any order a > 1 of what is seen with a person and without by a rho. It adds up over
all that is asked of a table, and a mechanism that is epsilon-private costs rho = epsilon^2 / 2 at most. What costs rho
is (epsilon, delta)-differentially private for the delta of Canonne, Kamath & Steinke (2020, corollary 13), at any a:

    delta = exp((a - 1) (a rho - epsilon)) / (a - 1) (1 - 1/a)^a

Figures are taken with decimals of 50 digits, whose last do not hang on the machine, and rounded to the safe side.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 50

STEPS = 90
"""Of the search for the best order; any order gives a figure that holds."""

PARTS = 2**40
"""A rho is a whole multiple of a part of one in this many."""


def rho_paid_for(epsilon: Fraction, delta: Decimal) -> Fraction:
    """The rho that (epsilon, delta) pays for, rounded down: that of the best order, up to the search for it.

    At each order the formula is solved for rho, so that any order gives one that is paid for; 0 or less if none is.
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
        return Fraction(math.floor(_rho_at((low + high) / 2, target, delta) * PARTS), PARTS)


def epsilon_of(rho: float, delta: float) -> float:
    """The epsilon that what costs rho has at a delta in (0, 1), rounded up: at the best order, up to the search."""
    if rho <= 0:
        return 0.0
    with localcontext(prec=DIGITS):
        cost, given = Decimal(rho), Decimal(delta)
        low, high = Decimal(-30), Decimal(60)  # of the logarithm of the order less 1; epsilon falls, then rises
        for _ in range(STEPS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if _epsilon_at(left.exp(), cost, given) > _epsilon_at(right.exp(), cost, given):
                low = left
            else:
                high = right
        least = _epsilon_at(((low + high) / 2).exp(), cost, given)
    return max(math.nextafter(float(least), math.inf), 0.0)


def _rho_at(beyond: Decimal, epsilon: Decimal, delta: Decimal) -> Decimal:
    """The rho that is paid for by the formula at order 1 + `beyond`."""
    return (epsilon + _of_order(beyond, delta)) / (beyond + 1)


def _epsilon_at(beyond: Decimal, rho: Decimal, delta: Decimal) -> Decimal:
    """The epsilon of the formula at order 1 + `beyond`."""
    return (beyond + 1) * rho - _of_order(beyond, delta)


def _of_order(beyond: Decimal, delta: Decimal) -> Decimal:
    """What the formula takes off: (ln delta + ln (a - 1) - a ln(1 - 1/a)) / (a - 1) at order a = 1 + `beyond`."""
    order = beyond + 1
    return (delta.ln() + beyond.ln() - order * (beyond / order).ln()) / beyond
