"""How a table stands before anything is done to it."""

from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, read, reading_options
from shoal.cli.terminal import Terminal


@cli.command()
@click.argument("file", type=FILE)
@click.option("--plan", "plan_file", type=FILE, help="Plan whose roles are taken; guessed as by init without one.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Riskiest records to list.")
@reading_options
@pass_terminal
def risk(terminal: Terminal, file: Path, plan_file: Path | None, top: int, reading: dict[str, Any]) -> None:
    """Look at the risk of FILE as it is, before anything is done to it. What is printed is private.

    \b
    Examples:
      shoal risk people.csv
      shoal --json risk people.sav --plan plan.yaml
    """
    from shoal.plan.draft import columns_of

    plan = shoal.Plan.read(plan_file) if plan_file else None
    table = read(terminal, file, reading, plan)
    if plan is None:
        plan = shoal.Plan.of({"columns": columns_of(table.frame, [n for n, v in table.value_labels.items() if v])})
        terminal.note("Roles are guessed; see them with shoal init, correct them, and give them with --plan.")
    exposure = shoal.exposure(table.frame, plan, top=top)
    terminal.result(exposure.as_mapping())
    terminal.say(f"PRIVATE   {exposure.records:,} records; quasi-identifiers: {', '.join(exposure.keys)}")
    for k, count in exposure.fewer_than.items():
        share = 100 * count / exposure.records
        terminal.say(f"{k}-anonymity is broken by {count:,} records ({share:.1f} %)")
    for finding in exposure.risks:
        if finding.value is not None:
            terminal.say(f"measured  {finding.title}: {finding.value:.4g}{finding.interval or ''}")
    terminal.table(["column", "records unique because of it"], [[n, f"{c:,}"] for n, c in exposure.spared.items()])
    terminal.table(
        ["row", "records with the same quasi-identifiers"], [[f"{r:,}", f"{s:,}"] for r, s in exposure.riskiest]
    )
