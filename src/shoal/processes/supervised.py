"""Work in a process of its own, watched by the one that was started, which says how it ended where it cannot.

A library that gets no memory ends its process there and then, and so does a system that has none left. Nothing in that
process can say a word or take away what it had begun to write. The process that watches imports nothing, needs no
memory, and does both. It hands on the requests to end that are for it alone; where it ends itself, so does the work.

What libraries write past Python to standard error is not shown: it is meant for their authors, and may hold cells.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from shoal.vocabulary.errors import INTERRUPTED, MEMORY_EXHAUSTED

LEAST_MEMORY = 2**30
"""Bytes of addresses with which libraries can be loaded; with less, OpenBLAS asks for memory for ever."""

ONE_BUFFER = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Where memory is limited: OpenBLAS takes 32 MiB for each of its threads when it is loaded."""

GRACE = 10.0
"""Seconds to take away what was begun when the process that watches has ended."""

MOST_READ = 2**16
"""Bytes that are looked through for a library's word on memory."""

HANDED_ON = (signal.SIGINT, signal.SIGTERM)

Sweep = Callable[[Path], None]

_notes: IO[bytes] | None = None
"""Where the process at work tells the one that watches what it does; None where nobody watches."""


def begun(path: Path) -> None:
    """Tell who watches that something is being written that takes this place when it is done."""
    _tell(b"B" + os.fsencode(path.absolute()))


def supervised(work: Callable[[], None], sweep: Sweep) -> None:
    """Do work in a process of its own and end as it does; in this one where a system has no such processes.

    Parameters
    ----------
    work
        Ends by SystemExit, or returns.
    sweep
        Takes away what was left behind beside a place by a process that has ended.
    """
    if _too_little_memory():
        _failed(MEMORY_EXHAUSTED)
    if not hasattr(signal, "sigwaitinfo") or threading.active_count() > 1:  # it is in Linux
        work()
        return
    try:
        noise, notes = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    except OSError:  # no place to write; the work may need none
        work()
        return
    with noise, notes:
        sys.stdout.flush()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {*HANDED_ON, signal.SIGCHLD})
        lifeline, end = os.pipe()
        process = os.fork()
        if not process:
            os.close(end)
            _work(work, noise, notes, lifeline, before)
            return
        os.close(lifeline)
        _end_as(_waited_for(process), noise, notes, sweep)


def _too_little_memory() -> bool:
    try:
        import resource
    except ImportError:  # as on Windows
        return False
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    for name, value in ONE_BUFFER.items():
        os.environ.setdefault(name, value)
    return limit < LEAST_MEMORY


def _work(
    work: Callable[[], None], noise: IO[bytes], notes: IO[bytes], lifeline: int, mask: set[int | signal.Signals]
) -> None:
    """In the new process: errors of Python on standard error as before, those of libraries into a file."""
    global _notes
    _notes = notes
    shown = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
    os.dup2(noise.fileno(), 2)
    sys.stderr = shown
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    try:
        work()
    except SystemExit as end:
        _tell(b"E%d" % (end.code if isinstance(end.code, int) else int(end.code is not None)))
        raise


def _end_with(lifeline: int) -> None:
    """End when the process that watches has ended, whose end of the pipe closes then."""
    with suppress(OSError):
        os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(INTERRUPTED)


def _waited_for(process: int) -> int:
    """Hand on requests to end until the process has ended; how it did."""
    while True:
        got = signal.sigwaitinfo({*HANDED_ON, signal.SIGCHLD})
        if got.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return status
        elif got.si_code <= 0:  # sent to this process; what a terminal sends goes to both
            os.kill(process, got.si_signo)


def _end_as(status: int, noise: IO[bytes], notes: IO[bytes], sweep: Sweep) -> NoReturn:
    """End with the status of the work, or say why it has none."""
    notes.seek(0)
    written = notes.read().split(b"\0")
    statuses = [int(note[1:]) for note in written if note[:1] == b"E"]
    if os.WIFEXITED(status) or statuses:  # some libraries fail only when everything was done
        sys.exit(statuses[-1] if statuses else os.WEXITSTATUS(status))
    for place in {note[1:] for note in written if note[:1] == b"B"}:
        with suppress(OSError):
            sweep(Path(os.fsdecode(place)))
    by = os.WTERMSIG(status)
    if by in HANDED_ON:
        _say("Interrupted; nothing was changed.")
        sys.exit(INTERRUPTED)
    _failed(_why(by, noise))


def _why(by: int, noise: IO[bytes]) -> str:
    noise.seek(0)
    heard = noise.read(MOST_READ).lower()
    if by == signal.SIGKILL or b"memory" in heard or b"alloc" in heard:  # a system that has none left ends a process so
        return MEMORY_EXHAUSTED
    return f"a library ended the work ({signal.Signals(by).name}); nothing was changed. Please report this line."


def _tell(note: bytes) -> None:
    if _notes is not None:
        os.write(_notes.fileno(), note + b"\0")


def _failed(text: str) -> NoReturn:
    """Say it as a command would that could still say it itself (`shoal.cli.terminal`)."""
    _say(f"shoal: {text}")
    if "--json" in sys.argv or os.environ.get("SHOAL_JSON"):
        error = {"kind": "MemoryError" if text == MEMORY_EXHAUSTED else "SystemError", "message": text}
        print(json.dumps({"exit status": 1, "error": error, "requirements": [], "what would help": []}, indent=2))
    sys.exit(1)


def _say(text: str) -> None:
    with suppress(OSError):
        os.write(2, f"{text}\n".encode())
