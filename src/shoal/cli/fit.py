"""A synthesiser fitted to a table and kept, and records drawn from it."""

from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, FILE, OUTPUT, Options, query_option, reading_options
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database
from shoal.vocabulary.errors import plural


@cli.command()
@click.argument("data", type=DATA, nargs=-1, required=True)
@click.option("--plan", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=OUTPUT, required=True, help="File to write the model to (JSON).")
@click.option("--seed", type=click.IntRange(0), help="Seed, to repeat a model; keep it secret. By default drawn.")
@click.option("--memory", help="Memory that may be used, as in 6GB; half of the machine's by default.")
@reading_options
@query_option("data")
@pass_terminal
def fit(
    terminal: Terminal,
    data: Path | Database,
    plan: Path,
    out: Path,
    seed: int | None,
    memory: str | None,
    reading: Options,
) -> None:
    """Fit the private synthesiser of a plan to DATA, and write the model: it may leave the building.

    The plan has the one step private-marginals, and requires differential privacy. The model holds no record; drawing
    from it costs no further privacy.

    \b
    Examples:
      shoal fit people.csv --plan private.yaml --out people.json
      shoal draw people.json -n 10000 --where "age > 65" --out old.csv
    """
    with terminal.progress() as stage:
        fitted = shoal.fit(data, plan, seed=seed, memory=memory, stage=stage, reading=reading)
    fitted.write(out)
    about: dict[str, Any] = {"model": str(out), "epsilon": fitted.epsilon, "delta": fitted.delta}
    terminal.result({**about, "records": fitted.total, "columns": list(fitted.columns)})
    terminal.say(f"proved    {fitted.proved}")
    terminal.say(f"Model     {out}   (may leave the building)")


@cli.command()
@click.argument("model", type=FILE)
@click.option("--out", type=OUTPUT, required=True, help="File to write: .csv, .parquet, .xlsx, .sav and others.")
@click.option("-n", "--records", type=click.IntRange(1), help="Number of records; by default as many as the table had.")
@click.option("--where", multiple=True, help="Condition that all records meet; may be given several times.")
@click.option("--seed", type=click.IntRange(0), help="Seed, to repeat a draw; need not be secret.")
@pass_terminal
def draw(
    terminal: Terminal, model: Path, out: Path, records: int | None, where: tuple[str, ...], seed: int | None
) -> None:
    """Draw new records from MODEL, which shoal fit wrote.

    With conditions, in the language of constraints, every record has exactly the law of those that meet them all.

    \b
    Examples:
      shoal draw people.json --out people.csv
      shoal draw people.json -n 10000 --where "age > 65" --where "sex == 'female'" --out old.csv
    """
    from shoal.table.files.table import Table
    from shoal.table.files.tables import write_table

    frame = shoal.Fitted.read(model).draw(records, where=where, seed=seed)
    write_table(Table(frame=frame), out)
    terminal.result({"file": str(out), "records": len(frame)})
    terminal.say(f"Drew {plural(len(frame), 'record')}: {out}")
