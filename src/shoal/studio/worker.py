"""A process that holds a table, so that the page never waits for work, nor work for the page.

Questions and answers go through a pipe, never through a file. The process ends with the studio, however that ends. It
writes nothing to the terminal, and tells of an unexpected error only its type and place.
"""

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from shoal.processes.side_by_side import prepared
from shoal.vocabulary.errors import InputError, ShoalError

Report = Callable[[str, float], None]
"""Called with the name of the current stage and the fraction of the work that is done, in [0, 1]."""

EVERY = 0.1
"""Seconds between two reports of one stage; more reports would only wake the page."""


class WorkerGone(ShoalError):  # noqa: N818 - it says what happened, like `Refused`
    """The process ended before it answered: it was cancelled, killed, or ran out of memory."""


def processes() -> BaseContext:
    """How the studio's processes are started; what they need begins to be imported when this is first asked."""
    return prepared("shoal.studio.imported")


class Worker:
    """One process that answers one question at a time.

    Parameters
    ----------
    holder
        A class, of which the process makes one object; a question is the name of one of its methods with arguments. A
        method that takes `report` can report its progress.
    """

    def __init__(self, holder: type[Any]) -> None:
        self._context: Any = processes()
        self._holder = holder
        self._lock = Lock()
        self._start()

    def _start(self) -> None:
        self._pipe, other = self._context.Pipe()
        self._process: BaseProcess = self._context.Process(target=serve, args=(other, self._holder), daemon=True)
        self._process.start()
        other.close()

    async def ask(self, what: str, *, report: Report | None = None, **given: Any) -> Any:
        """Ask a question and wait for the answer.

        Raises
        ------
        ShoalError
            The refusal of the question, or `WorkerGone`.
        """
        return await asyncio.to_thread(self._exchange, what, given, report)

    def _exchange(self, what: str, given: dict[str, Any], report: Report | None) -> Any:
        with self._lock:
            pipe, process = self._pipe, self._process
            try:
                pipe.send((what, given))
                while True:
                    kind, *content = pipe.recv()
                    if kind == "stage":
                        if report is not None:
                            report(*content)
                    elif kind == "answer":
                        return content[0]
                    else:
                        raise content[0]
            except (EOFError, OSError):
                process.join()
                raise WorkerGone(_how_it_ended(process.exitcode)) from None

    def restart(self) -> None:
        """End the process, whatever it does, and start a new one that holds nothing."""
        self.stop()
        with self._lock:  # whoever waited for an answer has been told
            self._start()

    def stop(self) -> None:
        self._process.kill()
        self._process.join()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()


def _how_it_ended(status: int | None) -> str:
    by = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
    return f"The process that held the table ended before it was done ({by}). It may have run out of memory."


def serve(pipe: Connection, holder: type[Any]) -> None:
    """Answer questions until the studio is gone; runs in the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # a library's warning could show cells
        os.dup2(nowhere, stream)
    Thread(target=_leave_with_parent, daemon=True).start()
    holding = holder()
    while True:
        try:
            what, given = pipe.recv()
        except (EOFError, OSError):
            return
        with suppress(BrokenPipeError):
            pipe.send(_answer(holding, what, given, pipe))


def _answer(holding: Any, what: str, given: dict[str, Any], pipe: Connection) -> tuple[str, Any]:
    try:
        method = getattr(holding, what)
        if "report" in method.__annotations__:
            given = {**given, "report": _reporter(pipe)}
        return "answer", method(**given)
    except ShoalError as error:
        return "refused", InputError(str(error))
    except OSError as error:
        return "refused", InputError(no_space(error) or f"{place_of_error()}. {REPORT}")
    except MemoryError:
        return "refused", InputError("There is not enough memory for this. Try fewer columns or a simpler method.")
    except Exception:  # noqa: BLE001 - a message nobody wrote could show cells: only the type and place are told
        return "refused", InputError(f"{place_of_error()}. {REPORT}")


REPORT = "This is a mistake of shoal; please report this line."

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a system that cannot write any more."""


def no_space(error: OSError) -> str:
    """Message for a full disk; empty for any other error, whose own message could name a file."""
    return f"The disk is full ({os.strerror(error.errno)}). Make room, and do it again." if error.errno in FULL else ""


def place_of_error() -> str:
    """Type and place of the exception that is being handled, and nothing else about it."""
    kind, _, trace = sys.exc_info()
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown place"
    return f"Unexpected {kind.__name__ if kind else 'error'} at {where}"


def _reporter(pipe: Connection) -> Report:
    last, at = "", 0.0

    def report(stage: str, fraction: float) -> None:
        nonlocal last, at
        now = time.monotonic()
        if stage != last or now - at > EVERY:
            last, at = stage, now
            pipe.send(("stage", stage, float(fraction)))

    return report


def _leave_with_parent() -> None:
    """End with the studio, even in the middle of work."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(0)
