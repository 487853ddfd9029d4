"""The end of a run: mistakes in one clear line, and a documented exit status."""

import sys
import time
from pathlib import Path

import click

from shoal.cli.commands import cli
from shoal.cli.terminal import Terminal
from shoal.vocabulary.errors import INTERRUPTED, MEMORY_EXHAUSTED, Interrupted, Refused, ShoalError


def main() -> None:
    """Run a command; mistakes end in one clear line and a documented exit status."""
    terminal, began = Terminal(), time.monotonic()
    try:
        status = cli.main(standalone_mode=False, obj=terminal) or 0
    except BaseException as error:  # noqa: BLE001 - the last line of defence: a traceback could show cells
        status = _failed(terminal, error)
    terminal.log.info("ended with status %d after %.1f s", status, time.monotonic() - began)
    terminal.log.close()
    sys.exit(status)


def _failed(terminal: Terminal, error: BaseException) -> int:
    """Print the reason why a run ended, and return its exit status."""
    if isinstance(error, click.UsageError) and "--json" in sys.argv:  # it may stand behind what was not understood
        terminal.as_json = True
    match error:
        case SystemExit():
            raise error
        case click.exceptions.Abort() | KeyboardInterrupt():
            return terminal.failed(INTERRUPTED, "Interrupted", "Interrupted; nothing was changed.")
        case Interrupted():
            return terminal.failed(INTERRUPTED, "Interrupted", str(error))
        case click.ClickException():
            error.show()
            return terminal.failed(error.exit_code, "wrong use", error.format_message(), shown=True)
        case Refused():
            return terminal.failed(error.exit_status, "Refused", f"shoal: {error}", refused=error)
        case ShoalError():
            return terminal.failed(error.exit_status, type(error).__name__, f"shoal: {error}")
    return terminal.failed(1, type(error).__name__, f"shoal: {_unexpected(error)}")


def _unexpected(error: BaseException) -> str:
    """The message for an unforeseen error: its kind, never its own words, which could show cells."""
    if isinstance(error, MemoryError):
        return MEMORY_EXHAUSTED
    if isinstance(error, OSError):
        named = f" '{error.filename}'" if error.filename else ""
        return (
            f"the system refused to read or write{named}: {error.strerror or type(error).__name__}. "
            f"Nothing was changed."
        )
    return f"unexpected {type(error).__name__} at {_place(error)}; nothing was changed. Please report this line."


def _place(error: BaseException) -> str:
    """File and line where an error was raised; nothing else of it may be shown."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown place"
