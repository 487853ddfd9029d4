"""Example data, protected."""

from pathlib import Path

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import OUTPUT
from shoal.cli.terminal import Terminal


@cli.command()
@click.option("--out", type=OUTPUT, default=Path("demo"), show_default=True, help="Directory to write.")
@click.option("--records", "n", type=click.IntRange(20), default=1000, show_default=True, help="Records to make.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same demo.")
@click.option("--tables", is_flag=True, help="Write linked tables and a plan for them instead, and protect nothing.")
@pass_terminal
def demo(terminal: Terminal, out: Path, n: int, seed: int, tables: bool) -> None:
    """Make example data, protect it, prove it, and write the release and its report.

    \b
    Examples:
      shoal demo --records 5000 --out demo
      shoal demo --tables --out hospital
    """
    if tables:
        _write_tables(terminal, out, n, seed)
        return
    from shoal.release.directory import is_release
    from shoal.table.examples import PLAN, example

    terminal.say(f"Making {n:,} discharges of an invented hospital (no real person stands behind any value) ...")
    with terminal.progress() as stage:
        release = shoal.protect(example("hospital", n=n, seed=seed), PLAN, seed=seed, stage=stage)
        release.write(out, overwrite=is_release(out))
    terminal.released(release, out)


def _write_tables(terminal: Terminal, out: Path, n: int, seed: int) -> None:
    """Write linked tables as files, and beside them a plan."""
    from shoal.plan.linked import LinkedPlan
    from shoal.release.directory import check_free
    from shoal.table.files.atomic import atomic_directory
    from shoal.table.linked_examples import TABLES_PLAN

    check_free(out, overwrite=False)
    with atomic_directory(out, overwrite=False) as temporary:
        for name, table in shoal.example_tables(n=n, seed=seed).items():
            table.write_csv(temporary / f"{name}.csv")
        (temporary / "tables.yaml").write_text(LinkedPlan.of(TABLES_PLAN).as_yaml(), encoding="utf-8")
    terminal.say(f"Wrote tables of {n:,} patients of an invented hospital, and tables.yaml, a plan for them. Next:")
    terminal.say(f"  shoal protect {out} --plan {out / 'tables.yaml'} --out {out}-release")
    terminal.result({"tables": str(out), "plan": str(out / "tables.yaml")})
