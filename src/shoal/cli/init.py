"""A plan guessed from a table."""

from pathlib import Path

import click

from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, Options, query_option, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database

CONTEXTS = ("public", "research", "internal", "hipaa")
"""Names of `shoal.plan.context`, which would load the plan's model for `--help`."""


@cli.command()
@click.argument("file", type=DATA, nargs=-1, required=True)
@click.option("--synthetic", is_flag=True, help="Draft a plan that synthesises every record.")
@click.option("--for", "context", type=click.Choice(CONTEXTS), help="State the usual limits for a recipient.")
@reading_options
@query_option("file")
@pass_terminal
def init(
    terminal: Terminal, file: Path | Database | tuple[Path, ...], synthetic: bool, context: str | None, reading: Options
) -> None:
    """Guess a plan for FILE and print it; correct it before use.

    Several files, or a folder of files with different columns, hold linked tables: their keys are guessed, too.

    \b
    Example:
      shoal init people.csv > plan.yaml
      shoal init people.csv --for research > plan.yaml
      shoal init people.csv --synthetic > synthetic.yaml
      shoal init hospital/ > tables.yaml
      shoal init persons.csv stays.csv drugs.csv > tables.yaml
    """
    from shoal.desk.files_of_tables import tables_in_files
    from shoal.desk.init import drafted
    from shoal.plan.draft import plan_text
    from shoal.plan.guess import guess

    if isinstance(file, tuple) or tables_in_files(file):
        click.echo(drafted(file, synthetic=synthetic, context=context, reading=reading), nl=False)
        return
    table = read(terminal, file, reading)
    if terminal.as_json:
        terminal.result(
            {g.name: {"role": g.role, "level": g.level, "reason": g.reason} for g in guess(table, synthetic=synthetic)}
        )
    else:
        click.echo(plan_text(table, file.name, synthetic=synthetic, context=context), nl=False)
