"""The risk of a table before anything is done to it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, FILE, Options, query_option, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database
from shoal.vocabulary.errors import plural

if TYPE_CHECKING:
    from shoal.desk.exposure import Exposure
    from shoal.plan import Plan


@cli.command()
@click.argument("file", type=DATA)
@click.option(
    "--plan", "plan_file", type=FILE, help="Plan that gives the roles; without one they are guessed, as by init."
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Riskiest records, and sets of columns, to list.",
)
@reading_options
@query_option("file")
@pass_terminal
def risk(terminal: Terminal, file: Path | Database, plan_file: Path | None, top: int, reading: Options) -> None:
    """Measure the risk of FILE as it is, before anything is done to it. The output is private.

    \b
    Examples:
      shoal risk people.csv
      shoal --json risk people.sav --plan plan.yaml
    """
    from shoal.plan.guess import columns_of

    plan = shoal.Plan.read(plan_file) if plan_file else None
    table = read(terminal, file, reading, plan)
    if plan is None:
        plan = shoal.Plan.of({"columns": columns_of(table)})
        terminal.note("Roles are guessed; see them with shoal init, correct them, and give them with --plan.")
    exposure = shoal.exposure(table, plan, top=top)
    terminal.result(exposure.as_mapping())
    private, *others = exposure.sentences
    terminal.say(f"PRIVATE   {private}")
    for name, (persons, records) in exposure.persons.items():
        terminal.say(
            f"records   {name}: {plural(persons, 'person')} in {plural(records, 'record')}; these figures count "
            f"records. As person, promises of a plan count persons"
        )
    for mark, sentence in zip(("because", "look at"), others, strict=True):
        terminal.say(f"{mark:<9} {sentence}")
    terminal.say(f"\nkeys      {', '.join(exposure.keys)}")
    for k, count in exposure.fewer_than.items():
        share = 100 * count / exposure.records
        terminal.say(f"{k}-anonymity is broken by {count:,} records ({share:.1f} %)")
    for finding in exposure.risks:
        if finding.value is not None:
            terminal.say(f"measured  {finding}")
    terminal.table(["column", "records unique because of it"], [[n, f"{c:,}"] for n, c in exposure.spared.items()])
    terminal.table(
        ["row", "records with the same quasi-identifiers"], [[f"{r:,}", f"{s:,}"] for r, s in exposure.riskiest]
    )
    _which_columns(terminal, exposure)
    _laws(terminal, exposure, plan)
    _identifiers(terminal, exposure)


def _which_columns(terminal: Terminal, exposure: "Exposure") -> None:
    """Print the columns and sets of columns that tell people apart, whatever their roles."""
    terminal.table(
        ["column", "role", "distinction", "separation", "unique"],
        [
            [c.name, c.role, *_percents(c.figures.distinction, c.figures.separation, c.figures.unique)]
            for c in exposure.columns
        ],
    )
    for column in exposure.columns:
        if column.remark:
            terminal.say(f"look at   '{column.name}': {column.remark}")
    searched = exposure.searched
    terminal.say(
        f"looked    for sets of up to 4 columns that single someone out while no part of them does, in "
        f"{searched.records:,} of {exposure.records:,} records and {len(searched.columns)} columns"
    )
    terminal.table(
        ["set of columns", "minimal for", "distinction", "separation", "unique"],
        [
            [
                " + ".join(s.columns),
                f"{searched.counts[s.columns]:,}",
                *_percents(s.distinction, s.separation, s.unique),
            ]
            for s in exposure.sets
        ],
    )


def _laws(terminal: Terminal, exposure: "Exposure", plan: "Plan") -> None:
    """Print the columns that give others back, and what helps."""
    from shoal.judges.laws_of_table import MOST_COLUMNS, REMEDY, TOO_WIDE

    if len(plan.schema.columns) - len(plan.schema.names("identifier")) > MOST_COLUMNS:
        terminal.note(TOO_WIDE)

    for law in exposure.laws:
        terminal.say(f"law       {law}")
    if exposure.laws:
        terminal.say(f"remedy    {REMEDY}")


def _identifiers(terminal: Terminal, exposure: "Exposure") -> None:
    """Print the columns that may hold identifiers of HIPAA, and what cannot be detected."""
    from shoal.table.identifiers import IDENTIFIERS, MOST_VALUES, by_identifier, unseen

    terminal.say(
        f"looked    at the names of {len(exposure.columns)} columns and at most {MOST_VALUES:,} values of each for the "
        f"18 identifiers of HIPAA (45 CFR 164.514(b)(2)); that none turns up proves nothing"
    )
    titles = {identifier.letter: f"({identifier.letter}) {identifier.title}" for identifier in IDENTIFIERS}
    terminal.table(
        ["identifier", "column", "sign"],
        [
            [titles[letter], column, reason]
            for letter, columns in by_identifier(exposure.signs).items()
            for column, reason in columns.items()
        ],
    )
    for what, letters in unseen().items():
        terminal.say(f"not seen  {', '.join(f'({letter})' for letter in letters)}: {what}")


def _percents(*shares: float) -> list[str]:
    return [f"{100 * share:.1f} %" for share in shares]
