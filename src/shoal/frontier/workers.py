"""Candidates carried out, each by itself, in processes side by side."""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from shoal.assess import assess
from shoal.errors import ShoalError
from shoal.frontier.candidates import Candidate
from shoal.plan import Plan


def carried_out(todo: Sequence[Candidate], table: Any, seed: int, workers: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each candidate and what it came to, as they are finished."""
    if workers <= 1 or len(todo) <= 1:
        for candidate in todo:
            yield candidate.name, _try(table, candidate.plan, seed)
        return
    context = get_context("spawn")
    lifeline, parent_end = context.Pipe(duplex=False)
    with (
        parent_end,
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_remember, initargs=(table, seed, lifeline)
        ) as pool,
    ):
        try:
            with _deaf_to_interrupts():
                running = {pool.submit(_try_remembered, candidate.plan): candidate.name for candidate in todo}
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:  # interrupted: no candidate that is under way is waited for
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


_remembered: dict[str, Any] = {}
"""What a worker process was given once, so that the table is not sent with every job."""


def _remember(table: Any, seed: int, lifeline: Connection) -> None:
    _remembered.update(table=table, seed=seed)
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    """Leave at once when the process that explores is interrupted or gone: its end of the pipe closes then."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(0)


def _try_remembered(plan: Plan) -> dict[str, Any]:
    return _try(_remembered["table"], plan, _remembered["seed"])


def _try(table: Any, plan: Plan, seed: int) -> dict[str, Any]:
    """Carry a plan out; a method that cannot be applied is a point without figures, and says why."""
    try:
        evidence = assess(table, plan, seed=seed)
    except ShoalError as refusal:
        return {"holds": False, "reason": str(refusal), "figures": {}, "better": {}}
    failed = " ".join(v.sentence for v in evidence.verdicts if not v.holds)
    figures: dict[str, float | None] = {}
    for finding in evidence.findings:
        figures[finding.title if finding.measure in figures else finding.measure] = finding.value
    return {
        "holds": all(verdict.holds for verdict in evidence.verdicts),
        "reason": failed,
        "figures": figures,
        "better": {f.measure: f.better for f in evidence.findings},
    }
