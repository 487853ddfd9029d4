"""Releases side by side."""

from pathlib import Path

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, OUTPUT
from shoal.cli.terminal import Terminal


@cli.command()
@click.argument("releases", nargs=-1, required=True, type=FILE)
@click.option("--out", type=OUTPUT, help="Write the comparison as a page.")
@pass_terminal
def compare(terminal: Terminal, releases: tuple[Path, ...], out: Path | None) -> None:
    """Set several releases of one table side by side: what was proved, levels reached, risk and loss.

    Of releases of the same linked tables, figures over persons come first, then those of each table by its name.

    Where all of them have their private folders, the figures are those of private/evidence.json, and the
    page is private, too; otherwise those of release/evidence.json.

    \b
    Example:
      shoal compare release-1 release-2 --out comparison.html
    """
    from shoal.report.comparison_page import GROUPS
    from shoal.report.forms import in_unit
    from shoal.table.files.atomic import atomic_file

    compared = shoal.compare(*releases)
    if compared.note:
        terminal.note(compared.note)
    rows = compared.rows
    terminal.result({"releases": list(compared.names), "private": compared.private, "rows": rows})
    for group, title in GROUPS.items():
        shown = [row for row in rows if row["group"] == group]
        cells = [[r["title"], *(r["lacking"] if c is None else in_unit(c, r) for c in r["cells"])] for r in shown]
        if cells:
            terminal.table([title, *compared.names], cells, bold=[{i + 1 for i in row["best"]} for row in shown])
    if out is not None:
        with atomic_file(out, 0o600 if compared.private else 0o644) as temporary:
            temporary.write_text(compared.page(), encoding="utf-8")
