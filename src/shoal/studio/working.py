"""The two processes of a studio, and the jobs that they do while pages look on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from shoal.studio.holders import Keeper
from shoal.studio.parcels import carry
from shoal.studio.reviewing import Reviewing
from shoal.studio.runner import Runner
from shoal.studio.session import Session
from shoal.studio.worker import REPORT, Worker, WorkerGone, no_space, place_of_error
from shoal.vocabulary.errors import InputError, ShoalError


class Working(Reviewing):
    """A session with the processes that hold its tables, and the job under way."""

    def __init__(self) -> None:
        super().__init__()
        self.keeper = Worker(Keeper)
        self.runner = Worker(Runner)
        self.task: asyncio.Task[None] | None = None
        self.handing_over: asyncio.Task[None] | None = None
        self._carrying = asyncio.Lock()
        self.previews = 0

    def stop(self) -> None:
        self.keeper.stop()
        self.runner.stop()

    def _begin(self, kind: str, stage: str, work: Any) -> None:
        try:
            self.session = self.session.began(kind, stage)
        except InputError:
            work.close()
            raise
        self.task = asyncio.create_task(self._until_done(work))

    async def _until_done(self, work: Awaitable[None]) -> None:
        try:
            await work
        except WorkerGone as error:
            await self._revive()
            if self.session.job is not None:
                self.session = self.session.ended("error", str(error))
        except ShoalError as error:
            self.session = self.session.ended("error", str(error))
        except Exception as error:  # noqa: BLE001 - its message could show cells, and work must be seen to end
            full = no_space(error) if isinstance(error, OSError) else ""
            self.session = self.session.ended("error", full or f"{place_of_error()}. {REPORT}")

    async def _revive(self) -> None:
        """Restart both processes; the table survives only if the keeper is still alive."""
        if not self.keeper.alive:
            self.keeper.restart()
            self.session = Session(version=self.session.version, edition=self.session.edition).ended(
                "error", "The process that held the table has ended, and the table with it. Open it again."
            )
            return
        await asyncio.to_thread(self.runner.restart)
        await self._hand_over()

    async def question(self, what: str, **given: Any) -> Any:
        """Ask the keeper for something to show."""
        try:
            return await self.keeper.ask(what, **given)
        except WorkerGone:
            await self._revive()
            raise

    def _report(self) -> Callable[[str, float], None]:
        loop = asyncio.get_running_loop()

        def heard(stage: str, fraction: float) -> None:
            self.session = self.session.moved(stage, fraction)

        def report(stage: str, fraction: float) -> None:
            loop.call_soon_threadsafe(heard, stage, fraction)

        return report

    async def _hand_over(self) -> None:
        """Send the table to the process that carries plans out; one that is on its way there arrives first."""
        async with self._carrying:
            if not self.runner.alive:
                self.runner.restart()
            await self.keeper.ask("pack_table")
            await carry(self.keeper, self.runner, "take")

    async def _ready(self) -> None:
        """Wait until the process that carries plans out has the table and is idle."""
        if self.previews and self.session.job is not None:
            await asyncio.to_thread(self.runner.restart)
            self.handing_over = asyncio.create_task(self._hand_over())
        if self.handing_over is not None:
            await self.handing_over
            self.handing_over = None
