"""Tables on their way between processes: in pieces, none of which gets into another parcel."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.studio import parcels
from shoal.studio.parcels import ParcelHolder, bring, carry
from shoal.studio.worker import Worker
from shoal.vocabulary.errors import ShoalError
from studio.running import Running, children


class Holder(ParcelHolder):
    """Holds bytes."""

    def pack(self, size: int) -> None:
        self._pack(bytes(range(256)) * (size // 256))

    def take(self, parcel: int) -> None:
        self.future = self._unpack(parcel)

    def content(self) -> tuple[int, bytes]:
        whole = self.future.result()
        return len(whole), whole[-3:]


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Worker, Worker]]:
    both = Worker(Holder), Worker(Holder)
    yield both
    for one in both:
        one.stop()


def test_what_is_packed_here_is_unpacked_there(two: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """In so many pieces that none of them is the whole, with other questions between them."""
    giver, taker = two
    asked: list[str] = []
    exchange = Worker._exchange

    def seen(self: Worker, what: str, given: dict[str, Any], report: Any) -> Any:
        answer = exchange(self, what, given, report)
        asked.append(what)
        assert len(answer) <= parcels.PIECE if isinstance(answer, bytes) else True
        return answer

    monkeypatch.setattr(Worker, "_exchange", seen)

    async def whole() -> Any:
        await giver.ask("pack", size=3 * parcels.PIECE)
        await carry(giver, taker, "take")
        return await taker.ask("content")

    assert asyncio.run(whole()) == (3 * parcels.PIECE, b"\xfd\xfe\xff")
    assert asked.count("take_piece") == 4  # the frame of the pickle makes it a little more than three


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc on this system")
def test_the_server_never_holds_a_table(fresh: Running) -> None:
    """A file of 48 MB goes through it, and then the table between its two processes."""
    line = b"x" * 8000
    content = b"n,text\n" + b"".join(b"%d,%b%d\n" % (i, line, i) for i in range(6_000))
    server = parent(parent(children(fresh.process.pid)[0]))
    Path(f"/proc/{server}/clear_refs").write_text("5")  # the most is what it has now
    before = most_memory(server)
    headers = {"Authorization": f"Bearer {fresh.key}", "X-File-Name": "people.csv"}
    assert fresh.request("POST", "/api/upload", content, headers)[0] == 200
    assert fresh.idle()["rows"] == 6_000
    assert most_memory(server) - before < len(content) / 2


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def most_memory(process: int) -> int:
    """Bytes that a process has taken at most."""
    return 1024 * int(Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2].split()[0])


async def of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def test_pieces_of_two_parcels_never_mix(two: tuple[Worker, Worker]) -> None:
    _, taker = two

    async def mixed() -> None:
        late = await bring(taker, of(b"a", b"b"))
        await bring(taker, of(b"c"))
        with pytest.raises(ShoalError, match="handed over meanwhile"):
            await taker.ask("take_piece", parcel=late, first=False, piece=b"d")
        with pytest.raises(ShoalError, match="handed over meanwhile"):
            await taker.ask("take", parcel=late)

    asyncio.run(mixed())


def test_what_breaks_off_is_forgotten(two: tuple[Worker, Worker]) -> None:
    _, taker = two

    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise ConnectionError

    async def brought() -> None:
        with pytest.raises(ConnectionError):
            await bring(taker, broken())
        with pytest.raises(ShoalError, match="handed over meanwhile"):
            await taker.ask("take_piece", parcel=next(parcels.NUMBERS) - 1, first=False, piece=b"b")

    asyncio.run(brought())


def test_what_cannot_be_unpacked_is_said(two: tuple[Worker, Worker]) -> None:
    _, taker = two

    async def brought() -> None:
        await taker.ask("take", parcel=await bring(taker, of(b"no pickle")))
        with pytest.raises(ShoalError, match="mistake of shoal"):
            while not await taker.ask("unpacked"):
                await asyncio.sleep(parcels.PAUSE)

    asyncio.run(brought())
