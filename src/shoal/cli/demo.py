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
@pass_terminal
def demo(terminal: Terminal, out: Path, n: int, seed: int) -> None:
    """Make example data, protect it, prove it, and write the release and its report.

    \b
    Example:
      shoal demo --records 5000 --out demo
    """
    from shoal.release.directory import is_release
    from shoal.table.examples import PLAN, example

    terminal.say(f"Making {n:,} discharges of an invented hospital (no real person stands behind any value) ...")
    with terminal.progress() as stage:
        release = shoal.protect(example("hospital", n=n, seed=seed), PLAN, seed=seed, stage=stage)
        release.write(out, overwrite=is_release(out))
    terminal.released(release, out)
