"""Ledgers of releases: show one, verify it, note that a release was withdrawn."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE
from shoal.cli.terminal import Terminal
from shoal.vocabulary.errors import FileError, plural

if TYPE_CHECKING:
    from shoal.ledger.store import Ledger


@cli.group()
def ledger() -> None:
    """Show a ledger of releases, verify it, or withdraw a release. The output is private.

    \b
    Examples:
      shoal ledger show registry.ledger
      shoal ledger verify registry.ledger
      shoal ledger withdraw registry.ledger 3 --because "never sent"
    """


@ledger.command("show")
@click.argument("file", type=FILE)
@pass_terminal
def show_ledger(terminal: Terminal, file: Path) -> None:
    """List the releases in the ledger FILE: day, audience, persons, classes, blank and recoded cells, epsilon (delta).

    \b
    Examples:
      shoal ledger show registry.ledger
      shoal ledger show registry.ledger --json
    """
    from shoal.ledger.accounts import accounts_of

    shown = accounts_of(_opened(file))
    terminal.result({"releases": shown})
    titles = ["release", "made", "for", "persons", "classes", "blank", "recoded", "epsilon", "withdrawn"]
    terminal.table(titles, [[_cell(release[title]) for title in titles] for release in shown])


@ledger.command("verify")
@click.argument("file", type=FILE)
@pass_terminal
def verify_ledger(terminal: Terminal, file: Path) -> None:
    """Prove that the ledger FILE is as it was written, row by row and byte by byte.

    \b
    Examples:
      shoal ledger verify registry.ledger

    \b
    Exit status: 0 if it is, 3 if it is not.
    """
    kept = _opened(file)
    faults = kept.faults()
    terminal.result({"exit status": 3 if faults else 0, "faults": faults})
    for fault in faults:
        terminal.say(f"DAMAGED   {fault}")
    if faults:
        raise click.exceptions.Exit(3)
    terminal.say(f"verified  {plural(len(kept.rows()), 'row')}, as they were written")


@ledger.command("withdraw")
@click.argument("file", type=FILE)
@click.argument("number", type=click.IntRange(1))
@click.option("--because", required=True, help="Reason why nobody holds the release any more.")
@pass_terminal
def withdraw_release(terminal: Terminal, file: Path, number: int, because: str) -> None:
    """Note in the ledger FILE that nobody holds release NUMBER: it never left, or every copy was destroyed.

    It stays in the ledger and no longer counts. What readers have seen cannot be withdrawn.

    \b
    Examples:
      shoal ledger withdraw registry.ledger 3 --because "never sent"
    """
    row = _opened(file).withdraw(number, because)
    terminal.result({"exit status": 0, "row": row})
    terminal.say(f"Release {number} is withdrawn; row {row} says so.")


def _opened(file: Path) -> "Ledger":
    from shoal.ledger.store import Ledger

    if not file.is_file():
        raise FileError(f"There is no ledger '{file}'. It is begun by shoal protect --ledger FILE.")
    return Ledger(file)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(_spent, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _spent(loss: dict[str, Any]) -> str:
    """A loss in words: epsilon, delta if there is one, and columns."""
    delta = f" and {loss['delta']:g}" if loss.get("delta") else ""
    return f"{loss['epsilon']:g}{delta} on {', '.join(loss['columns'])}"
