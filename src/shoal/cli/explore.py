"""Many plans on one table."""

from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.errors import INTERRUPTED, FileError


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file with a section 'explore'.")
@click.option("--out", type=FILE, required=True, help="Directory for figures, plans and the page; private.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same for every candidate.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@reading_options
@pass_terminal
def explore(
    terminal: Terminal, data: Path, plan_file: Path, out: Path, seed: int, workers: int, reading: dict[str, Any]
) -> None:
    """Try many methods and parameters on DATA and draw the frontier of risk and utility.

    What was computed is kept in OUT: an exploration that was interrupted goes on where it stopped.

    \b
    Example:
      shoal explore people.csv --plan ranges.yaml --out exploration --workers 2
    """
    from shoal.frontier import explore as run
    from shoal.publish import check_writable, is_release, publish_frontier

    plan = shoal.Plan.read(plan_file)
    check_writable(out)
    if is_release(out):
        raise FileError(f"Output '{out}' is a release; an exploration needs a directory of its own. Name another.")
    table = read(terminal, data, reading, plan)
    with terminal.progress() as stage:

        def progress(done: int, total: int, name: str) -> None:
            if stage is not None:
                stage(f"{done} of {total} {name}", done / max(total, 1))

        try:
            frontier = run(table.frame, plan, out, seed=seed, workers=workers, progress=progress)
        except KeyboardInterrupt:
            click.echo("Interrupted; finished candidates are kept, and the same command goes on from there.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    publish_frontier(frontier, out)
    terminal.result(frontier.as_mapping())
    for point in frontier.points:
        mark = "*" if point.name in frontier.pareto else " "
        figures = [f"{v:.4g}" if v is not None else "not measured" for v in (point.risk, point.utility)]
        terminal.say(
            f"{mark} {point.name:<40} {frontier.risk} {figures[0]:<10} {frontier.utility} {figures[1]:<10} "
            f"{point.reason}".rstrip()
        )
    terminal.say(f"\n{frontier.because}\nPage      {(out / 'frontier.html').resolve().as_uri()}")
