"""Work in processes side by side, which end with the process that started them, however it ends.

They are given all they need and import nothing of the program that started them, so that a script needs no guard
(`if __name__ == "__main__"`), nor a program that is no file, such as `python -c` or a notebook.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from types import ModuleType
from typing import Any, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

remembered: dict[str, Any] = {}
"""What a worker process was given once, so that it is not sent with every job."""

MAIN = "__main__"
"""The module that a program runs as."""

_starting = Lock()


class _Alone(BaseProcess):
    """A process that does not import the program that starts it, as others do."""

    def start(self) -> None:
        with _starting:
            program = sys.modules[MAIN]
            sys.modules[MAIN] = ModuleType(MAIN)  # it names no file and no module to import
            try:
                super().start()
            finally:
                sys.modules[MAIN] = program


class Alone(_Alone, SpawnProcess):
    """A new process."""


class AloneContext(SpawnContext):
    """Pipes, locks and processes of `Alone`."""

    Process = Alone


if sys.platform == "linux":  # the only system that copies processes safely
    from multiprocessing import forkserver
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class Copied(_Alone, ForkServerProcess):
        """A copy of a process that was started to be copied."""

    class CopiedContext(ForkServerContext):
        """Pipes, locks and processes of `Copied`."""

        Process = Copied


def prepared(module: str) -> BaseContext:
    """Processes that have a module imported when they start: copies, on Linux, of one that imports it from now on.

    Elsewhere, and where the name of the folder for temporary files is too long for a socket, they are new ones, which
    import it themselves.
    """
    if sys.platform != "linux":
        return AloneContext()
    context = CopiedContext()
    context.set_forkserver_preload([module])
    try:
        with _deaf_to_interrupts():
            forkserver.ensure_running()
    except OSError:
        return AloneContext()
    return context


def as_finished(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int, given: Mapping[str, Any]
) -> Iterator[tuple[Job, Result]]:
    """Jobs with what came of them, as they are finished; in this process where there is nothing to do side by side.

    In this process, too, where the work needs something that the program itself defines, as a method of a user's own.

    Parameters
    ----------
    work
        A function of a module; it finds what was given in `remembered`.
    """
    sent = pickle.dumps(dict(given)) if workers > 1 and len(jobs) > 1 else b""
    if not sent or any(MAIN.encode() in pickled for pickled in (sent, pickle.dumps((work, list(jobs))))):
        remembered.update(given)
        for job in jobs:
            yield job, work(job)
        remembered.clear()
        return
    with _process_pool(min(workers, len(jobs)), sent) as pool:
        with _deaf_to_interrupts():
            running = {pool.submit(work, job): job for job in jobs}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


@contextmanager
def _process_pool(workers: int, given: bytes) -> Iterator[ProcessPoolExecutor]:
    """Processes that remember what they were given; interrupted, no job that is under way is waited for."""
    context = AloneContext()
    lifeline, parent_end = context.Pipe(duplex=False)
    with (
        parent_end,
        ProcessPoolExecutor(workers, mp_context=context, initializer=_remember, initargs=(given, lifeline)) as pool,
    ):
        try:
            yield pool
        except BaseException:
            parent_end.close()  # at which the workers leave
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that start meanwhile never hear of a Ctrl-C, and print nothing about it; here it comes afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _remember(given: bytes, lifeline: Connection) -> None:
    remembered.update(pickle.loads(given))  # noqa: S301 - of the process that started this one
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    """Leave at once when the process that started this one is interrupted or gone: its end of the pipe closes then."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(0)
