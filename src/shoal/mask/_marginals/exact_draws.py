"""Draws with exact probabilities for zero-concentrated differential privacy: discrete Gaussian noise, and choices.

Everything is computed with whole numbers, so that no last digit of a floating-point number betrays a count (Mironov
2012), and probabilities are in the stated ratio and not nearly so.
"""

from fractions import Fraction
from math import isqrt

import numpy as np

from shoal.mask.private_noise import bernoulli_exp, discrete_laplace
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Longs
from shoal.vocabulary.errors import ParameterError

MOST_VARIANCE = 2**26
"""Noise of a standard deviation beyond 8192 records is refused: products of its draws stay inside 64-bit integers."""


def discrete_gaussian(n: int, variance: int, stream: SecretStream) -> Longs:
    """Shape (n,); P[x] proportional to exp(-x^2 / (2 variance)) over the integers.

    `variance`: the parameter sigma^2, a whole number from 1; one above `MOST_VARIANCE` is refused. A discrete Laplace x
    of rate 1/t, t = floor(sigma) + 1, is kept with probability exp(-(|x| t - sigma^2)^2 / (2 sigma^2 t^2)); what is not
    is drawn again (Canonne, Kamath & Steinke 2020, algorithm 3).
    """
    if variance > MOST_VARIANCE:
        raise ParameterError(
            f"private-marginals: the noise would have a standard deviation of {isqrt(variance):,} records, and at most "
            f"{isqrt(MOST_VARIANCE):,} are drawn. Raise epsilon or delta, or lower pairs or records_per_person."
        )
    t = isqrt(variance) + 1
    denominator = 2 * variance * t * t
    out = np.zeros(n, dtype=np.int64)
    waiting = np.arange(n)
    while len(waiting):
        drawn = discrete_laplace(len(waiting), Fraction(1, t), stream)
        kept = bernoulli_exp_of([(abs(x) * t - variance) ** 2 for x in drawn.tolist()], denominator, stream)
        out[waiting[kept]] = drawn[kept]
        waiting = waiting[~kept]
    return out


def exponential_choice(scores: Longs, rate: Fraction, stream: SecretStream) -> int:
    """A place in `scores`, shape (m,), m >= 1, taken with probability proportional to exp(rate score).

    Places are proposed at random, and taken with probability exp(-rate gap), gap being that to the highest score.
    """
    gaps = (scores.max() - scores).tolist()
    while True:
        proposed = stream.integers(len(scores), len(scores))
        taken = bernoulli_exp_of([gaps[i] * rate.numerator for i in proposed.tolist()], rate.denominator, stream)
        if taken.any():
            return int(proposed[np.argmax(taken)])


def bernoulli_exp_of(numerators: list[int], denominator: int, stream: SecretStream) -> Bools:
    """True with probability exp(-numerator / denominator) each, for numerators of 0 and more of any size."""
    wholes = np.array([min(x // denominator, 2**62) for x in numerators], dtype=np.int64)
    parts = np.array([x % denominator for x in numerators], dtype=np.int64)
    out = bernoulli_exp(parts, denominator, stream)
    flips = 0
    while len(waiting := np.flatnonzero(out & (wholes > flips))):
        out[waiting] = bernoulli_exp(np.ones(len(waiting), dtype=np.int64), 1, stream)
        flips += 1
    return out
