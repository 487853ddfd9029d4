"""The command `shoal`, and `python -m shoal`.

A Ctrl-C, or the request of a system to end (SIGTERM), that arrives while libraries are being imported can end in a
traceback, or be swallowed by an import that catches everything. Until the imports are done nothing has been written,
so it ends the program there and then.
"""

import gc
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from shoal.processes.supervised import supervised
from shoal.vocabulary.errors import INTERRUPTED


def main() -> None:
    """Run a command, quiet about being interrupted from the first moment."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):  # not ignored, as under nohup
            signal.signal(number, _leave)
    supervised(_run, _sweep)


COLLECTED = 50_000
"""Objects made between two looks for garbage: what libraries are loaded into stays, and is a tenth of a small run."""


def _run() -> None:
    gc.set_threshold(COLLECTED)
    from shoal.cli import main as run

    try:
        run()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            sys.stdout.flush()
            os._exit(INTERRUPTED)  # `python -m` would turn some interrupts into a death by signal
        raise


def _sweep(path: Path) -> None:
    from shoal.table.files.atomic import sweep

    sweep(path)


def _leave(signal_number: int, frame: FrameType | None) -> None:
    os.write(sys.stderr.fileno(), b"Interrupted; nothing was changed.\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
