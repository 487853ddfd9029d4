"""Local suppression until the weights of the records that match each one, a missing cell matching every value, reach k.

A cell blanked in one class of records also lets others be of its people. So the classes are treated in the order of
what a set of cells adds, to the class itself and to all others that still lack people, for its cost; at the end what
has become superfluous is put back, costliest first.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.mask._suppression.people import MOST_COLUMNS, Prices, as_bits, bits_of, nearest, packed, reached_by_sets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blank:
    """A set of columns that a class may lose."""

    rate: float  # People added where they lack, for the cost
    columns: tuple[int, ...]
    misses: Longs  # Shape (C,); the columns that keep the class from being of the people of each other class, as bits


class Cover:
    """The search.

    `codes`, shape (C, q): of each class, -1 for missing; not changed; `weights`, `people`, shape (C,): of the records
    of each class, and of all that match them; `sizes`, shape (C,): records of each class.
    """

    def __init__(self, codes: Longs, weights: Floats, people: Floats, sizes: Longs, k: int, prices: Prices) -> None:
        self.codes, self.weights, self.people = codes.copy(), weights, people.copy()
        self.sizes, self.k, self.prices = sizes, k, prices
        self.before = codes

    def solve(self) -> list[tuple[int, tuple[int, ...]]]:
        """Classes, each with the columns that its records lose."""
        waiting = [(-np.inf, int(c)) for c in np.flatnonzero(self.people < self.k)]
        done: list[tuple[int, tuple[int, ...]]] = []
        while waiting:
            _, c = heapq.heappop(waiting)
            if self.people[c] >= self.k or (best := self._best(c)) is None:
                continue
            if waiting and best.rate < -waiting[0][0]:
                heapq.heappush(waiting, (-best.rate, c))
                continue
            self._carry_out(c, best)
            done.append((c, best.columns))
        done.sort(key=lambda blanked: (-self._cost(*blanked), blanked))
        return [blanked for blanked in done if not self._put_back(*blanked)]

    def _cost(self, c: int, columns: tuple[int, ...]) -> float:
        return float(self.sizes[c] * sum(self.prices.cost[j] for j in columns))

    def _best(self, c: int) -> _Blank | None:
        free = [j for j in self.prices.free if self.prices.allowance[j] >= self.sizes[c] and self.codes[c, j] >= 0]
        misses, first = _misses(self.codes, self.codes[c]), _misses(self.before, self.before[c])
        fixed = ~sum(1 << j for j in free)
        reachable, reachable_before = (misses & fixed) == 0, (first & fixed) == 0
        if len(free) > MOST_COLUMNS:
            columns = nearest(first[reachable_before], self.weights[reachable_before], self.k, self.prices)
            rate = 1 / max(self._cost(c, columns), 1e-12)
            return _Blank(rate=rate, columns=columns, misses=misses) if columns else None
        reached = reached_by_sets(packed(first[reachable_before], free), self.weights[reachable_before], len(free))
        sets = np.flatnonzero(_smallest(reached >= self.k))
        if not len(sets):
            return None
        lack = np.clip(self.k - self.people, 0.0, self.weights[c])
        lack[c] = self.k - self.people[c]
        added = reached_by_sets(packed(misses[reachable], free), lack[reachable], len(free))[sets]
        rates = added / (self.sizes[c] * np.maximum(self.prices.of_sets(free)[sets], 1e-12))
        best = int(rates.argmax())
        columns = tuple(free[place] for place in bits_of(int(sets[best])))
        return _Blank(rate=float(rates[best]), columns=columns, misses=misses)

    def _carry_out(self, c: int, blank: _Blank) -> None:
        new = (blank.misses != 0) & ((blank.misses & ~sum(1 << j for j in blank.columns)) == 0)
        self.people[new] += self.weights[c]
        self.people[c] += self.weights[new].sum()
        self.codes[c, list(blank.columns)] = -1
        self.prices.spend(blank.columns, int(self.sizes[c]))

    def _put_back(self, c: int, columns: tuple[int, ...]) -> bool:
        """Put cells of a class back if they were blanked without need; True if they were."""
        row = self.codes[c].copy()
        row[list(columns)] = self.before[c, list(columns)]
        lost = (_misses(self.codes, row) != 0) & (_misses(self.codes, self.codes[c]) == 0)
        if self.people[c] - self.weights[lost].sum() < self.k:
            return False
        after = self.people[lost] - self.weights[c]
        if ((after < self.k) & (self.people[lost] >= self.k)).any():
            return False
        self.people[lost] = after
        self.people[c] -= self.weights[lost].sum()
        self.codes[c] = row
        self.prices.spend(columns, -int(self.sizes[c]))
        return True


def _misses(codes: Longs, row: Longs) -> Longs:
    """Shape (C,); the columns in which each class has another value than a row of codes, as bits."""
    return as_bits((codes != row) & (codes >= 0) & (row >= 0))


def _smallest(enough: Bools) -> Bools:
    """Shape (2^c,); of the sets that are enough, given as bits, those of which no part is; a larger set is enough."""
    smallest = enough.copy()
    for place in range(len(enough).bit_length() - 1):
        halves, of_enough = smallest.reshape(-1, 2, 1 << place), enough.reshape(-1, 2, 1 << place)
        halves[:, 1] &= ~of_enough[:, 0]
    return smallest
