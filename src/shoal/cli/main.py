"""How a run ends: mistakes in one clear line, and a documented exit status."""

import sys
from pathlib import Path

import click

from shoal.cli.commands import cli
from shoal.errors import INTERRUPTED, ShoalError, printable


def main() -> None:
    """Run a command; mistakes end in one clear line and a documented exit status."""
    try:
        sys.exit(cli.main(standalone_mode=False))
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("Interrupted; nothing was changed.", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ShoalError as error:
        click.echo(printable(f"shoal: {error}", keep="\n"), err=True)
        sys.exit(error.exit_status)
    except MemoryError:
        click.echo(
            "shoal: memory is exhausted; nothing was changed. Use a machine with more of it, or fewer columns.",
            err=True,
        )
        sys.exit(1)
    except OSError as error:
        named = f" '{error.filename}'" if error.filename else ""
        click.echo(
            f"shoal: the system refused to read or write{named}: {error.strerror or type(error).__name__}. "
            f"Nothing was changed.",
            err=True,
        )
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last line of defence: a traceback could show cells
        click.echo(
            f"shoal: unexpected {type(error).__name__} at {_place(error)}; nothing was changed. "
            f"Please report this line.",
            err=True,
        )
        sys.exit(1)


def _place(error: Exception) -> str:
    """File and line where an error was raised; nothing else of it may be shown."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown place"
