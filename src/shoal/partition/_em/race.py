"""Fits of EM side by side: those that fall back are given up before they end."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from shoal.table.prelude import Progress, part_of, tracked

FIRST_LOOK = 20
"""EM steps after which fits are first compared; the next looks are after twice as many each time."""

PATIENCE = 5.0
"""A fit is given up where this times its gain since the last look would not bring it to the best BIC at an end.

With 1 the mixture that ends best on 4 000 invented hospital records is given up on a plateau, with 2 and more it is
not.
"""


class RacingFit(Protocol):
    """A fit on its way; `gain` is what its BIC rose by since the last look, infinite at the first."""

    @property
    def bic(self) -> float: ...

    @property
    def gain(self) -> float: ...

    @property
    def ended(self) -> bool: ...

    def further(self) -> Self | None:
        """The fit after twice as many steps; None if it broke down."""


R = TypeVar("R", bound=RacingFit)


class Race(Generic[R]):
    """Compares fits with the best BIC of those that have ended, in this field or in one before it.

    So what becomes of a field depends on those before it alone, and one more field never makes the best end worse.
    """

    def __init__(self) -> None:
        self.best = float("-inf")
        self.given_up = 0

    def run(self, field: Sequence[Callable[[], R | None]], progress: Progress) -> Iterator[R]:
        """Each fit of a field, begun by a call, at its end or where it is given up; without those that break down."""
        begun = (begin() for begin in tracked(field, part_of(progress, 0.0, 0.5)))
        running, done = [one for one in begun if one], 0.5
        while running:
            ended = [one for one in running if one.ended]
            self.best = max([self.best, *(one.bic for one in ended)])
            left = [one for one in running if not one.ended]
            behind = [one for one in left if self._is_behind(one)]
            self.given_up += len(behind)
            yield from ended + behind
            ahead = [one for one in left if not self._is_behind(one)]
            further = (one.further() for one in tracked(ahead, part_of(progress, done, (1 - done) / 2)))
            running, done = [one for one in further if one], (1 + done) / 2

    def _is_behind(self, one: R) -> bool:
        return one.bic + PATIENCE * max(one.gain, 0.0) < self.best
