"""The studio in the browser."""

from pathlib import Path

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, query_option
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database
from shoal.vocabulary.errors import MissingDependency


@cli.command()
@click.argument("files", nargs=-1, type=DATA)
@query_option("files")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of this machine; any free one by default.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@pass_terminal
def studio(terminal: Terminal, files: Path | Database | tuple[Path, ...], port: int, no_browser: bool) -> None:
    """Protect a table in the browser, without writing a plan by hand; only this machine can reach it.

    \b
    Examples:
      shoal studio
      shoal studio people.sav
      shoal studio patients.csv stays.csv
      shoal studio postgresql://me@db/clinic --query discharges
    """
    from shoal.studio.worker import processes

    processes()  # which get ready meanwhile
    try:
        from shoal.studio.serve import main
    except ModuleNotFoundError as absent:
        raise MissingDependency("The studio", str(absent.name), "studio") from None
    if isinstance(files, Database):
        named, how = [files.address], {"query": files.query}
    else:
        named, how = [str(file) for file in (files if isinstance(files, tuple) else (files,))], {}
    main(named, how, port, browser=not no_browser, say=terminal.say)
