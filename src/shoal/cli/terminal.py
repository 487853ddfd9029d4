"""What a run prints: lines for a person, JSON for a program, progress and tables on a terminal."""

import json
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from shoal.errors import plural, printable

QUIET_SECONDS = 1.0
"""Work that takes longer shows its progress."""
WIDE = 160
"""Columns of a table that goes into a file or a pipe."""


class Terminal:
    """Prints as the options before the command say."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def say(self, text: str) -> None:
        """For a person: silent under --quiet and --json."""
        if not self.quiet and not self.as_json:
            click.echo(printable(text, keep="\n"))

    def note(self, text: str) -> None:
        """Something to look at, on standard error so that it never mixes with a result."""
        if not self.quiet:
            click.echo(printable(f"shoal: note: {text}", keep="\n"), err=True)

    def result(self, content: dict[str, Any]) -> None:
        """For a program: printed under --json only."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, default=str))

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[str]], bold: Sequence[Collection[int]] = ()) -> None:
        """For a person: a table, as wide as the terminal; `bold` has the cells of each row that stand out."""
        if self.quiet or self.as_json:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text  # a plain string would be read for markup

        table = Table()
        for title in titles:
            table.add_column(Text(printable(title)), overflow="fold")  # a name that is cut cannot be used
        for row, best in zip_longest(rows, bold, fillvalue=()):
            table.add_row(*(Text(printable(cell), style="bold" if i in best else "") for i, cell in enumerate(row)))
        Console(width=None if sys.stdout.isatty() else WIDE).print(table)

    @contextmanager
    def progress(self) -> Iterator[Any]:
        """A callback for `shoal.protect`; after a second of work it shows a bar on standard error."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task("", total=1.0)
        began = time.monotonic()

        def stage(text: str, fraction: float) -> None:
            if time.monotonic() - began > QUIET_SECONDS and not bar.live.is_started:
                bar.start()
            bar.update(task, description=text, completed=fraction)

        try:
            yield stage
        finally:
            bar.stop()

    def released(self, release: Any, out: Path) -> None:
        """What was proved and measured on a release, and where it lies."""
        report = out / "release" / "report.html"
        self.result(
            {
                "directory": str(out),
                "report": str(report),
                "seed": "in private/record.json",
                "proved": release.account.proved,
                **release.evidence.as_mapping(),
            }
        )
        for line in release.evidence.lines():
            self.say(line)
        for name, count in release.account.singled_out.items():
            self.note(
                f"Whoever knows '{name}' beside the quasi-identifiers finds {plural(count, 'record')} alone; "
                f"if somebody may, give it the role quasi-identifier."
            )
        proved = release.account.proved
        if not proved:
            self.note("UNPROVED: the plan requires nothing, so nothing protects this release.")
        leaves = "may leave the building" if proved else "UNPROVED: nothing says that it may leave the building"
        self.say(f"\nRelease   {out / 'release'}   ({leaves})")
        self.say(f"Private   {out / 'private'}   (may not)")
        self.say(f"Report    {report.resolve().as_uri()}")
