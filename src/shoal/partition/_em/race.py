"""Fits of EM side by side: those that fall back are given up before they end."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from shoal.table.prelude import Progress, part_of, tracked

PATIENCE = 5.0
"""A fit is given up where this times its gain since the last look would not bring it to the best BIC at an end.

With 1 the mixture that ends best on 4 000 invented hospital records is given up on a plateau, with 2 and more it is
not.
"""

LONG_PATIENCE = 50.0
"""The same of the best BIC that a fit still on its way has reached, which may be on a hill that ends lower.

With 5 fits of Census and Tarragona wait that end best by 339 and 46; with 50 and with 200 both are found.
"""


class Runner(Protocol):
    """A fit on its way; `gain` is what its BIC rose by since the last look, infinite at the first."""

    @property
    def bic(self) -> float: ...

    @property
    def gain(self) -> float: ...

    @property
    def ended(self) -> bool: ...

    def further(self) -> Self | None:
        """The fit after twice as many steps; None if it broke down."""


R = TypeVar("R", bound=Runner)


class Race(Generic[R]):
    """Compares fits with the best BIC of those that have ended, in this field or in one before it, and with the best of
    those that are on their way.

    EM raises the likelihood, so that what a fit has reached is no more than what it ends with. A fit that falls back
    only waits: if the one ahead of it breaks down, it goes on. Those that still wait when all others have ended are
    given up.

    What becomes of a field depends on those before it alone, and one more field never makes the best end worse.
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
            yield from ended
            self.best = max([self.best, *(one.bic for one in ended)])
            left = [one for one in running if not one.ended]
            lead = max([self.best, *(one.bic for one in left)])
            waiting = [one for one in left if self._is_behind(one, lead)]
            ahead = [one for one in left if not self._is_behind(one, lead)]
            if not ahead:
                self.given_up += len(waiting)
                yield from waiting
                return
            further = (one.further() for one in tracked(ahead, part_of(progress, done, (1 - done) / 2)))
            running, done = [*waiting, *(one for one in further if one)], (1 + done) / 2

    def _is_behind(self, one: R, lead: float) -> bool:
        gain = max(one.gain, 0.0)
        return one.bic + PATIENCE * gain < self.best or one.bic + LONG_PATIENCE * gain < lead
