"""Exponential and logarithm that are the same to the bit on every processor.

NumPy and the C library take other code for other processors, and the last digits differ. These are built from sums,
products and quotients alone, each of which IEEE 754 rounds in one way. Both err by less than two units in the last
place.

exp(x) = 2^k exp(r) with k the nearest whole number to x / ln 2 and |r| <= ln(2) / 2, by the Taylor series of degree
13, whose remainder is below r^14 / 14! < 5e-18. log(x) = e ln 2 + log(m) with m in [sqrt(1/2), sqrt(2)) and
log(m) = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), |s| < 0.172, up to s^23, with a remainder below 1e-20.
"""

import math

import numpy as np

from shoal.kernels.arrays import Floats

LN2_HIGH = 0.693147180369123816490
"""ln 2 to 32 bits, so that its product with an exponent is exact."""

LN2_LOW = 1.90821492927058770002e-10
"""What is left of ln 2."""

LARGEST, SMALLEST = 710.0, -746.0
"""Beyond these the exponential is infinite, or 0."""


def exp(x: Floats) -> Floats:
    """Shape of `x`; NaN stays NaN."""
    x = np.clip(x, SMALLEST, LARGEST)
    k = np.rint(x / math.log(2))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = np.full_like(r, 1 / math.factorial(13))
    for degree in range(12, -1, -1):
        total = total * r + 1 / math.factorial(degree)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(total, np.nan_to_num(k).astype(np.int64)))


def log(x: Floats) -> Floats:
    """Shape of `x`, which is positive; -inf for 0, NaN below 0."""
    real = (x > 0) & np.isfinite(x)
    m, e = np.frexp(np.where(real, x, 1.0))
    low = m < math.sqrt(0.5)
    m, e = np.where(low, 2 * m, m), np.where(low, e - 1, e)
    f = m - 1
    s = f / (m + 1)
    square = s * s
    series = np.full_like(s, 1 / 23)
    for degree in range(21, 1, -2):
        series = series * square + 1 / degree
    # 2 s = f - s f, and f is exact
    inside = e * LN2_HIGH + (e * LN2_LOW + (f - s * (f - 2 * square * series)))
    return np.asarray(np.where(real, inside, np.where(x == 0, -np.inf, np.where(x > 0, np.inf, np.nan))))
