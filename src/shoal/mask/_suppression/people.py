"""Local suppression where people are counted: a blanked cell lets a record be of more of them.

Of every kind of person it is known which columns keep a record from being the person's. The record may be of all whose
columns of this sort are blanked, so that the people reached by every set of columns at once are the sums over subsets
of a table of 2^q numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.judges.population import Candidates, InPopulation
from shoal.kernels.arrays import Bools, Floats, Longs

MOST_COLUMNS = 14
"""Columns whose sets are all looked at; of more, people are added nearest first."""

MOST_SETS = 64
"""Sets of columns that are tried for a record of someone who is too surely, or too surely not, in the table."""

MOST_CLASSES = 50
"""Classes that are tried for such a person."""

SLACK = 1e-12

Move = tuple[Longs, tuple[int, ...]]
"""Records, and the columns that they lose."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prices:
    """Cost of cells, by the columns of `Candidates`."""

    cost: Floats  # Shape (q,); infinite where no cell may be blanked
    allowance: Longs  # Shape (q,); cells that may still be blanked, counted down as they are

    @property
    def free(self) -> list[int]:
        return np.flatnonzero(np.isfinite(self.cost) & (self.allowance > 0)).tolist()

    def of_sets(self, columns: list[int]) -> Floats:
        """Shape (2^c,); the cost of each set of some columns, as bits."""
        return sum_of_subset(np.array([self.cost[j] for j in columns]))

    def affords(self, columns: tuple[int, ...], cells: int) -> bool:
        return all(self.allowance[j] >= cells for j in columns)

    def spend(self, columns: tuple[int, ...], cells: int) -> None:
        self.allowance[list(columns)] -= cells


def sum_of_subset(values: Floats) -> Floats:
    """Shape (2^c,); the sum of some values over each set of them, as bits."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def reach_people(them: Candidates, failing: Bools, k: int, prices: Prices) -> Iterator[Move]:
    """The cheapest cells of each class after which its records may be of k people of a population.

    `failing`, shape (n,): the released records that may be of fewer.
    """
    for c in np.unique(them.of_record[failing]).tolist():
        columns = _cheapest(them.misses(np.array([c]))[0], them.weights, k, prices, int(them.sizes[c]))
        if columns:
            prices.spend(columns, int(them.sizes[c]))
            yield np.flatnonzero(them.of_record == c), columns


def _cheapest(misses: Longs, weights: Floats, k: int, prices: Prices, cells: int) -> tuple[int, ...]:
    """The cheapest affordable set of columns without which k people match; empty where none does."""
    free = [j for j in prices.free if prices.allowance[j] >= cells]
    inside = (misses & ~sum(1 << j for j in free)) == 0
    masks, people = misses[inside], weights[inside]
    if len(free) > MOST_COLUMNS:
        return nearest(masks, people, k, prices)
    enough = np.flatnonzero(reached_by_sets(packed(masks, free), people, len(free)) >= k)
    if not len(enough):
        return ()
    best = int(enough[np.argmin(prices.of_sets(free)[enough])])
    return tuple(free[place] for place in bits_of(best))


def packed(masks: Longs, columns: list[int]) -> Longs:
    """Sets of some of the columns, as bits by their places among these."""
    return sum(((masks >> j & 1) << place for place, j in enumerate(columns)), np.zeros(len(masks), dtype=np.int64))


def reached_by_sets(masks: Longs, amounts: Floats, columns: int) -> Floats:
    """Shape (2^columns,); for each set of columns the sum of the amounts whose mask lies within it."""
    reached = np.bincount(masks, weights=amounts, minlength=1 << columns)
    for place in range(columns):
        halves = reached.reshape(-1, 2, 1 << place)
        halves[:, 1] += halves[:, 0]
    return np.asarray(reached)


def nearest(masks: Longs, people: Floats, k: int, prices: Prices) -> tuple[int, ...]:
    """Columns blanked until k people match, each time those that the nearest kind of people not yet reached needs.

    `masks`, `people`, shape (P,): the columns that rule each kind of people out, as bits, and how many people they are.
    """
    masks, inverse = np.unique(masks, return_inverse=True)
    people = np.bincount(inverse, weights=people).astype(np.float64)
    blank, left = 0, list(range(len(masks)))
    while left and people[(masks & ~blank) == 0].sum() < k:
        costs = [sum(prices.cost[j] for j in bits_of(int(masks[i]) & ~blank)) for i in left]
        blank |= int(masks[left.pop(int(np.argmin(costs)))])
    return bits_of(blank) if people[(masks & ~blank) == 0].sum() >= k else ()


def as_bits(flags: Bools) -> Longs:
    """Shape (n,); the true columns of each row of flags (n, q)."""
    return np.asarray((flags.astype(np.int64) << np.arange(flags.shape[1])).sum(axis=1))


def bits_of(mask: int) -> tuple[int, ...]:
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


@dataclass(kw_only=True, eq=False)
class _Piece:
    """Records of one class that have lost the same cells."""

    of_class: int
    blank: int
    rows: Longs
    people: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Change:
    """Some records of a piece losing a set of cells more, and what becomes of the probabilities."""

    less: float  # By how much the sum of what all people lie outside the bounds falls
    price: float  # Of the cells
    piece: _Piece
    blank: int
    records: int
    people: float  # Whom the records may then be of
    presence: Floats

    @property
    def merit(self) -> float:
        return self.less / self.price if self.less > 0 else self.less * self.price


class Spreading:
    """The search for cells after which nobody is too surely in the table, nor too surely not.

    A record is spread over the people whom it may be of. Blanking a cell spreads it over more, which lowers the
    probabilities of those and raises that of the people who are new. Whoever is farthest outside the bounds comes
    first: of the records that may be this person's, or could be made so, some lose the cells that most lower the sum of
    what all people lie outside, for their cost. Where nothing lowers it for anybody, what raises it least is done.
    """

    def __init__(self, among: InPopulation, least: float, largest: float, prices: Prices) -> None:
        self.them, self.least, self.largest, self.prices = among.candidates, least, largest, prices
        self.presence = among.presence.copy()
        self.pieces = [
            _Piece(of_class=c, blank=0, rows=np.flatnonzero(self.them.of_record == c), people=float(among.people[c]))
            for c in range(len(self.them.sizes))
        ]

    def moves(self) -> Iterator[Move]:
        idle: dict[int, _Change | None] = {}
        while (outside := self._outside(self.presence)).max(initial=0.0) > SLACK:
            outside[list(idle)] = 0.0
            person = int(outside.argmax())
            if outside[person] > SLACK:
                change = self._best(person)
                if change is None or change.less <= SLACK:
                    idle[person] = change
                    continue
            else:
                change = max(filter(None, idle.values()), key=lambda change: change.merit, default=None)
                if change is None:
                    return
            idle.clear()
            yield self._carry_out(change)

    def _outside(self, presence: Floats) -> Floats:
        """Shape (P,); by how much each probability lies outside the bounds."""
        return np.maximum(np.maximum(presence - self.largest, self.least - presence), 0.0)

    def _sum_outside(self, presence: Floats) -> float:
        """Sum, over all people, of how far they lie outside the bounds."""
        return float((self._outside(presence) * self.them.weights).sum())

    def _carry_out(self, change: _Change) -> Move:
        rows, piece = change.piece.rows[: change.records], change.piece
        piece.rows = piece.rows[change.records :]
        blank = piece.blank | change.blank
        self.pieces.append(_Piece(of_class=piece.of_class, blank=blank, rows=rows, people=change.people))
        self.presence = change.presence
        columns = bits_of(change.blank)
        self.prices.spend(columns, len(rows))
        return rows, columns

    def _best(self, person: int) -> _Change | None:
        """The change that helps a kind of person most for its cost, or costs others least; None where nothing helps."""
        surely = self.presence[person] > self.largest
        misses = self._misses_of(person)
        here = [(int(misses[piece.of_class]) & ~piece.blank, piece) for piece in self.pieces if len(piece.rows)]
        if surely:
            near = [(piece.people, piece) for missing, piece in here if not missing]
        else:
            near = [(self._cost(missing), piece) for missing, piece in here if missing]
        near.sort(key=lambda candidate: candidate[0])
        changes = [change for _, piece in near[:MOST_CLASSES] for change in self._changes(piece, person, surely)]
        return max(changes, key=lambda change: change.merit, default=None)

    def _misses_of(self, person: int) -> Longs:
        """Shape (C,); for each class the columns that rule a kind of person out, as bits."""
        them = self.them
        return as_bits(~np.column_stack([c.matches(them.person[[person]], them.record)[0] for c in them.columns]))

    def _cost(self, blank: int) -> float:
        return float(sum(self.prices.cost[j] for j in bits_of(blank)))

    def _changes(self, piece: _Piece, person: int, surely: bool) -> Iterator[_Change]:
        misses = self.them.misses(np.array([piece.of_class]))[0] & ~piece.blank
        now = misses == 0
        people = piece.people
        if not people:
            return
        before = self._sum_outside(self.presence)
        for blank in self._sets(piece) if surely else [int(misses[person])]:
            then = (misses & ~blank) == 0
            reached = float(self.them.weights[then].sum())
            if reached <= people or not np.isfinite(self._cost(blank)):
                continue
            each = then / reached - now / people
            wanted = self._outside(self.presence)[person] / abs(each[person])
            for records in sorted({1, min(int(np.ceil(wanted - SLACK)), len(piece.rows))}):
                if not self.prices.affords(bits_of(blank), records):
                    continue
                presence = self.presence + records * each
                less = before - self._sum_outside(presence)
                yield _Change(
                    less=less,
                    price=records * self._cost(blank),
                    piece=piece,
                    blank=blank,
                    records=records,
                    people=reached,
                    presence=presence,
                )

    def _sets(self, piece: _Piece) -> list[int]:
        """Sets of columns that a piece may lose beside those that it has lost: the cheapest ones, and all."""
        free = [j for j in self.prices.free if not piece.blank >> j & 1]
        few = sorted(free, key=lambda j: self.prices.cost[j])[: MOST_SETS.bit_length() - 1]
        sets = [sum(1 << few[place] for place in bits_of(number)) for number in range(1, 1 << len(few))]
        return [*sets, sum(1 << j for j in free)] if len(few) < len(free) else sets
