"""A released file proved or refuted."""

from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, read, reading_options
from shoal.cli.terminal import Terminal


@cli.command()
@click.argument("released", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file whose requirements are to be proved.")
@click.option("--original", type=FILE, help="The table it was made from, to measure risk and loss as well.")
@click.option("--private", type=FILE, help="Private folder of the release: pairs its records with the original's.")
@reading_options
@pass_terminal
def audit(
    terminal: Terminal,
    released: Path,
    plan_file: Path,
    original: Path | None,
    private: Path | None,
    reading: dict[str, Any],
) -> None:
    """Prove or refute a plan's requirements on any released file, whoever made it.

    \b
    Examples:
      shoal audit release-1/release/data.csv --plan plan.yaml
      shoal audit release-1/release/data.csv --plan plan.yaml --original people.csv --private release-1/private

    \b
    Exit status: 3 if a requirement is refuted, or if the plan names none.
    """
    from shoal.files.tables import read_table

    plan = shoal.Plan.read(plan_file)
    compared = plan.schema.names("quasi-identifier")
    table = read_table(released, **reading, apart=compared)
    before = read(terminal, original, reading, plan).frame if original else None
    evidence = shoal.audit(table.frame, plan, original=before, private=private)
    terminal.result(evidence.as_mapping() | {"holds": evidence.holds})
    if not evidence.verdicts:
        terminal.say("The plan names no requirement, so nothing was proved.")
    for line in evidence.lines():
        terminal.say(line)
    if not evidence.holds:
        raise click.exceptions.Exit(3)
