"""Releases side by side."""

from collections.abc import Sequence
from pathlib import Path

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, json_of
from shoal.cli.terminal import Terminal
from shoal.errors import FileError, plural, quoted


@cli.command()
@click.argument("releases", nargs=-1, required=True, type=FILE)
@click.option("--out", type=FILE, help="Write the comparison as a page.")
@pass_terminal
def compare(terminal: Terminal, releases: tuple[Path, ...], out: Path | None) -> None:
    """Set several releases of one table side by side: what was proved, risk and loss.

    Where all of them have their private folders, the figures are those of private/evidence.json, and the
    page is private, too; otherwise those of release/evidence.json.

    \b
    Example:
      shoal compare release-1 release-2 --out comparison.html
    """
    from shoal.files.atomic import atomic_file
    from shoal.report.comparison_page import check_comparable, comparison, comparison_page
    from shoal.report.forms import figure

    private = all((f / "private" / "evidence.json").is_file() for f in releases)
    evidence = {
        str(f): check_comparable(
            str(f), json_of(f / ("private" if private else "release") / "evidence.json", "assessed release", ())
        )
        for f in releases
    }
    _check_one_table(terminal, [f for f in releases if (f / "private" / "record.json").is_file()])
    rows = comparison(evidence)
    terminal.result({"releases": list(evidence), "private": private, "rows": rows})
    cells = [[row["title"], *(row["lacking"] if c is None else figure(c) for c in row["cells"])] for row in rows]
    terminal.table(["", *evidence], cells, bold=[{i + 1 for i in row["best"]} for row in rows])
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(comparison_page(evidence, private=private), encoding="utf-8")


def _check_one_table(terminal: Terminal, releases: Sequence[Path]) -> None:
    """Refuse releases of tables that differ in shape; where only cells may differ, say so."""
    records = {str(f): json_of(f / "private" / "record.json", "release", ("input", "plan")) for f in releases}
    shapes = {name: (record["input"]["records"], set(record["plan"]["columns"])) for name, record in records.items()}
    for name, (n, columns) in shapes.items():
        first, (m, others) = next(iter(shapes.items()))
        if (n, columns) != (m, others):
            what = (
                f"the one has {plural(m, 'record')}, the other {n:,}"
                if n != m
                else (f"only one has the columns {quoted(sorted(columns ^ others))}")
            )
            raise FileError(
                f"'{first}' and '{name}' are releases of different tables: {what}. Figures of different "
                f"tables say nothing side by side; compare releases of one table."
            )
    digests = [
        {record["input"].get(key) for key in ("sha256 of cells", "sha256")} - {None} for record in records.values()
    ]
    if digests and any(digests[0].isdisjoint(others) for others in digests):
        terminal.note(
            "The releases were made from tables with different cells, or described otherwise. Figures say "
            "something side by side only where the tables are the same."
        )
