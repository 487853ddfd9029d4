"""Tables and releases sent from process to process in pieces, so that the studio in between never holds one.

Between two pieces a process answers other questions, and it packs and unpacks in a separate thread. So nobody waits for
the transfer of a large table.
"""

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

from shoal.studio.worker import Worker
from shoal.vocabulary.errors import InputError

PIECE = 1 << 20
"""Size of a piece, in bytes."""

PAUSE = 0.02
"""Seconds between two questions whether something is packed."""

NUMBERS = count(1)
"""Numbers of parcels: a piece of an abandoned parcel never gets into another."""


class ParcelHolder:
    """A process that can send and receive its contents."""

    def __init__(self) -> None:
        self._hands = ThreadPoolExecutor(1)
        self._packed: Future[bytes] | None = None
        self._unpacked: Future[Any] | None = None
        self._taken: tuple[int, list[bytes]] = (0, [])
        self._counting: dict[Any, Future[Any]] = {}
        self._counters = ThreadPoolExecutor(1)

    def _pack(self, something: Any) -> None:
        self._packed = self._hands.submit(pickle.dumps, something)

    def _unpack(self, parcel: int) -> Future[Any]:
        self._unpacked = self._hands.submit(_loaded, self._all_of(parcel))
        return self._unpacked

    def _later(self, asked: Any, count: Callable[[], Any]) -> Any:
        """The result of a slow computation in a thread; None until it is done. A new question cancels the old one."""
        if asked not in self._counting:
            for other in self._counting.values():
                other.cancel()
            self._counting = {asked: self._counters.submit(count)}
        return self._counting[asked].result() if self._counting[asked].done() else None

    def size(self) -> int | None:
        """Size, in bytes, of the parcel to send; None while it is being packed."""
        if self._packed is None:
            raise InputError("Nothing is to be handed over.")
        return len(self._packed.result()) if self._packed.done() else None

    def piece(self, at: int) -> bytes:
        """A piece of the parcel to send."""
        return b"" if self._packed is None else self._packed.result()[at : at + PIECE]

    def sent(self) -> None:
        """Forget the parcel, which has arrived."""
        self._packed = None

    def take_piece(self, parcel: int, first: bool, piece: bytes) -> None:
        """Take a piece of an incoming parcel; the first piece of a parcel replaces all earlier ones."""
        if first:
            self._taken = (parcel, [])
        if self._taken[0] != parcel:
            raise InputError("Something else was handed over meanwhile. Do this again.")
        self._taken[1].append(piece)

    def give_up(self, parcel: int) -> None:
        """Forget the pieces of a parcel."""
        if self._taken[0] == parcel:
            self._taken = (0, [])

    def unpacked(self) -> bool:
        """True if the incoming parcel is unpacked."""
        if self._unpacked is None:
            return True
        if not self._unpacked.done():
            return False
        failed, self._unpacked = self._unpacked.exception(), None
        if failed is not None:
            raise failed
        return True

    def _all_of(self, parcel: int) -> list[bytes]:
        number, pieces = self._taken
        self._taken = (0, [])
        if number != parcel:
            raise InputError("Something else was handed over meanwhile. Do this again.")
        return pieces


def _loaded(pieces: list[bytes]) -> Any:
    whole = b"".join(pieces)
    pieces.clear()
    return pickle.loads(whole)  # noqa: S301 - from our own process


async def carry(giver: Worker, taker: Worker, unpack: str, **more: Any) -> None:
    """Send what one process has packed to another.

    Parameters
    ----------
    unpack
        The question that makes the other process unpack it; its arguments are the number of the parcel and `more`.
    """
    while (size := await giver.ask("size")) is None:
        await asyncio.sleep(PAUSE)

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, size, PIECE):
            yield await giver.ask("piece", at=at)

    parcel = await bring(taker, pieces())
    await giver.ask("sent")
    await taker.ask(unpack, parcel=parcel, **more)
    while not await taker.ask("unpacked"):
        await asyncio.sleep(PAUSE)


async def bring(taker: Worker, pieces: AsyncIterator[bytes]) -> int:
    """Send pieces to a process as they arrive; returns the number of their parcel."""
    parcel, first = next(NUMBERS), True
    try:
        async for piece in pieces:
            await taker.ask("take_piece", parcel=parcel, first=first, piece=piece)
            first = False
        if first:
            await taker.ask("take_piece", parcel=parcel, first=True, piece=b"")
    except Exception:  # whatever ended it, the process keeps no half of a parcel
        if taker.alive:
            await taker.ask("give_up", parcel=parcel)
        raise
    return parcel
