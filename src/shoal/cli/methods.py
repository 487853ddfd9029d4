"""The list of all methods."""

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.terminal import Terminal


@cli.command()
@click.argument(
    "kind", required=False, type=click.Choice(["partition", "replace", "mask", "privacy", "risk", "utility"])
)
@pass_terminal
def methods(terminal: Terminal, kind: str | None) -> None:
    """List every method with its parameters and its source.

    \b
    Examples:
      shoal methods
      shoal methods partition
    """
    from dataclasses import MISSING

    from shoal.methods import registered

    entries = registered(kind)
    terminal.result(
        {
            f"{e.kind}: {e.name}": {"title": e.title, "source": e.source, "parameters": list(e.parameters)}
            for e in entries
        }
    )
    terminal.table(
        ["kind", "method", "parameters", "what it is", "source"],
        (
            [
                e.kind,
                e.name,
                ", ".join(
                    name if default is MISSING else f"{name}={default}" for name, default in e.parameters.items()
                ),
                e.title,
                e.source,
            ]
            for e in entries
        ),
    )
