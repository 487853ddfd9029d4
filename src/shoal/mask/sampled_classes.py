"""Privacy of a random sample from which small classes are left out (Li, Qardaji & Su 2011; Bild et al. 2018).

Every record is drawn by itself with probability beta, and its labels are levels that do not depend on who was drawn.
Classes of fewer than k drawn records are left out. What becomes of a class that has n records with a person and n - 1
without is the number of drawn ones, B(n) or B(n - 1), binomial with probability beta, where anything under k counts as
nothing; all other classes are the same with the person and without. For j of k or more

    P[B(n) = j] / P[B(n - 1) = j] = (1 - beta) n / (n - j)

which is above exp(epsilon) exactly where j > gamma n, gamma = 1 - (1 - beta) exp(-epsilon); the inverse is at most
1 / (1 - beta), and so is that of the probabilities of nothing. So where beta is at most 1 - exp(-epsilon), the release
is (epsilon, delta)-differentially private, a person added or taken away, exactly for

    delta = max over n of P[B(n) > m] - exp(epsilon) P[B(n - 1) > m],   m = max(k - 1, floor(gamma n)).

Bild et al. take the first term alone: theirs is an upper bound. Beyond n the maximum is below exp(-n D) with D the
relative entropy of gamma to beta (Chernoff's bound), where the search for it ends. Delta falls as k grows, for the
release with k + 1 is a function of that with k.

Figures are taken with decimals of 50 digits, whose last do not hang on the machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np

from shoal.kernels.arrays import Longs

DIGITS = 50

PARTS = 2**32
"""Probabilities of being drawn are whole multiples of 1 / PARTS, so that draws are exact."""

UNIT = 2**12
"""Expected records are counted in these parts of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSample:
    """A random sample with its epsilon."""

    epsilon: Fraction  # Above 0
    chance: int  # Probability of being drawn times `PARTS`, from 1

    @classmethod
    def largest(cls, epsilon: Fraction) -> "PrivateSample":
        """With the largest probability that epsilon allows, 1 - exp(-epsilon), rounded down."""
        with localcontext(prec=DIGITS):
            return cls(epsilon=epsilon, chance=max(int((1 - (-_decimal(epsilon)).exp()) * PARTS), 1))

    @property
    def probability(self) -> float:
        return self.chance / PARTS

    def delta(self, k: int) -> float:
        """The least delta that can be promised if classes of fewer than k are left out."""
        best = Decimal(0)
        for value, beyond in self._by_size(k):
            best = max(best, value)
            if beyond <= best:
                break
        return float(best)

    def keeps(self, k: int, delta: Decimal) -> bool:
        """True if delta is kept when classes of fewer than k are left out."""
        for value, beyond in self._by_size(k):
            if value > delta:
                return False
            if beyond <= delta:
                break
        return True

    def least_k(self, delta: Decimal) -> int:
        """The least k with which delta is kept."""
        low, high = 0, 1
        while not self.keeps(high, delta):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps(middle, delta) else (middle, high)
        return high

    def _by_size(self, k: int) -> Iterator[tuple[Decimal, Decimal]]:
        """For n from k on: by how much B(n) exceeds exp(epsilon) times B(n - 1), and a bound for all larger n.

        The tail P[B(n) > m] and the mass P[B(n) = m] are carried on from one n, and one m, to the next.
        """
        with localcontext(prec=DIGITS):
            beta = Decimal(self.chance) / PARTS
            stay, grow = 1 - beta, _decimal(self.epsilon).exp()
            gamma = 1 - stay / grow
            entropy = gamma * (gamma / beta).ln() + (1 - gamma) * ((1 - gamma) / stay).ln()
            shrink = (-entropy).exp()
            n, m = k, k - 1
            tail, mass, bound = beta**k, k * beta**m * stay, shrink**k
            while True:
                yield tail - grow * (tail - beta * mass * (n - m) / (n * stay)), bound
                tail, mass = tail + beta * mass, mass * (n + 1) * stay / (n + 1 - m)
                n, bound = n + 1, bound * shrink
                while m < int(gamma * n):
                    mass = mass * (n - m) / (m + 1) * beta / stay
                    tail, m = tail - mass, m + 1


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected number of a class's records in the release, by the number that it has in the table.

    With c records, E[B(c); B(c) >= k] are. One record more adds beta (P[B(c) >= k] + k P[B(c) = k - 1]): that is
    never negative, at most `sensitivity`, and soon beta itself. It is rounded down to parts of a record before it is
    added up, so that the sum keeps these bounds exactly.
    """

    chance: int
    k: int

    @cached_property
    def _added(self) -> list[int]:
        """Increments of the k-th record and of those after it, until they are as good as beta."""
        with localcontext(prec=DIGITS):
            beta = Decimal(self.chance) / PARTS
            c, tail, mass = self.k - 1, Decimal(0), beta ** (self.k - 1)
            added = []
            while (1 - tail + self.k * mass) * UNIT > 1 or tail < mass:
                added.append(int(beta * (tail + self.k * mass) * UNIT))
                tail, mass = tail + beta * mass, mass * (c + 1) * (1 - beta) / (c + 2 - self.k)
                c += 1
        return added

    @property
    def slope(self) -> int:
        """Increment of each record beyond the table."""
        return self.chance * UNIT // PARTS

    @property
    def sensitivity(self) -> int:
        return max(*self._added, self.slope)

    @cached_property
    def table(self) -> Longs:
        """Expected records in parts of one, of classes of 0, 1, 2, ... records."""
        return np.concatenate([np.zeros(self.k, dtype=np.int64), np.cumsum(self._added, dtype=np.int64)])


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator
