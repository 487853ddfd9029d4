"""The last answer to a question, kept until another one is asked."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """One answer, with what it is about."""

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], object, T] | None = None

    def of(self, things: tuple[object, ...], asked: object, answer: Callable[[], T]) -> T:
        """The answer to a question about some things: the last one if these are the same objects and it is equal."""
        last = self._last
        if last is None or last[1] != asked or [*map(id, last[0])] != [*map(id, things)]:
            self._last = last = (things, asked, answer())
        return last[2]
