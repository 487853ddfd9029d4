"""Decimals with which the values of a column are written, by their order of magnitude.

Measured values are written with about so many digits: .005 and 1.3 and 145, not 1.305 and 145.005. A synthetic column
with other decimals, or with the same number of them everywhere, is told from the original at a glance. The order of
magnitude of a value is floor(log10 |x|).

Whole numbers can be written more coarsely than in ones: incomes in tens, times in whole days. The coarsest of `GRAINS`
that divides nearly all values is kept for all.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.elementary import decade, power_of_ten

MOST = 12
"""Values that need more decimals than this are taken as unrounded."""

SHARE = 0.95
"""The decimals of an order of magnitude suffice for this share of its values: a few may be written more finely."""

MINUTE = 60e6
GRAINS: tuple[float, ...] = (24 * 60 * MINUTE, 60 * MINUTE, MINUTE, *power_of_ten(range(9, 0, -1)).tolist())
"""Days, hours and minutes in microseconds, as times are counted, and powers of ten; the first that fits is taken."""

LEAST = 1e-300


@dataclass(frozen=True, kw_only=True, eq=False)
class Decimals:
    """Decimals of a column."""

    # orders, places: shape (m,) each; orders of magnitude that occur in a column, and the decimals values of that order
    # have
    orders: Longs
    places: Longs
    grain: float = 1.0  # What whole numbers are multiples of; 1 where there is nothing coarser

    @classmethod
    def of(cls, x: Floats) -> "Decimals":
        """Decimals of a column (n,)."""
        x = x[x != 0]
        order, needed = _orders(x), _needed(x)
        distinct = np.unique(order)
        enough = [np.quantile(needed[order == e], SHARE, method="inverted_cdf") for e in distinct]
        return cls(orders=distinct, places=np.array(enough, dtype=np.int64), grain=_grain(x))

    def write(self, x: Floats, low: Floats, high: Floats, *, keep_sign: bool) -> Floats:
        """Values rounded as values of their size are in the column, to the next one inside [low, high].

        An order that does not occur is written like the nearest one that does. With `keep_sign` nothing that is not
        zero is rounded to zero.
        """
        if not len(self.orders):
            return x
        between = (self.orders[1:] + self.orders[:-1]) / 2
        places = self.places[np.searchsorted(between, _orders(x))]
        in_grains = self.grain > 1
        scale = power_of_ten(np.minimum(places, MOST))

        def written(steps: Floats) -> Floats:  # a quotient, correctly rounded, is the number that one would type
            return np.asarray(steps * self.grain if in_grains else steps / scale)

        steps = np.rint(x / self.grain if in_grains else x * scale)
        if keep_sign:
            steps = np.where((steps == 0) & (x != 0), np.sign(x), steps)
        steps = steps - (written(steps) > high) + (written(steps) < low)
        new = written(steps)
        lost = keep_sign & (new == 0) & (x != 0)  # no step but 0 inside the bounds
        unrounded = (places > MOST) & (not in_grains)
        return np.asarray(np.where(unrounded | (new < low) | (new > high) | lost, x, new))


def decimals_of(x: Floats) -> int | None:
    """The decimals with which nearly all known values of a column (n,) are written; None where they are not rounded.

    A few values may have more, so that no one record decides how all are written.
    """
    return decimals_among(decimal_counts(x))


def decimal_counts(x: Floats) -> Longs:
    """Shape (MOST + 2,); how many known values of a column (n,) need 0, 1, ... decimals; parts of a column add up."""
    return np.bincount(np.minimum(_needed(x[np.isfinite(x)]), MOST + 1), minlength=MOST + 2).astype(np.int64)


def decimals_among(counts: Longs) -> int | None:
    """The decimals of `decimals_of`, from the number of values that need 0, 1, ... decimals."""
    total = np.cumsum(counts)
    needed = int(np.searchsorted(total, SHARE * total[-1]))
    return needed if total[-1] and needed <= MOST else None


def _grain(x: Floats) -> float:
    """The coarsest grain of nearly all values (n,) other than zero."""
    for grain in GRAINS if len(x) else ():
        if (np.fmod(x, grain) == 0).mean() >= SHARE:
            return grain
    return 1.0


def _orders(x: Floats) -> Longs:
    return decade(np.maximum(np.abs(x), LEAST))


def _needed(x: Floats) -> Longs:
    """Decimals that each value needs; MOST + 1 where it needs more than MOST."""
    needed = np.full(len(x), MOST + 1)
    for places in range(MOST, -1, -1):
        scale = power_of_ten(places)
        needed[np.rint(x * scale) / scale == x] = places
    return needed
