"""Many plans on one table."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, FILE, OUTPUT, Options, query_option, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database
from shoal.vocabulary.errors import FileError, Interrupted

if TYPE_CHECKING:
    from shoal.desk.frontier import Frontier

KEPT = "Interrupted; finished candidates are kept, and the same command goes on from there."


@cli.command()
@click.argument("data", type=DATA, nargs=-1, required=True)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file with a section 'explore'.")
@click.option("--out", type=OUTPUT, required=True, help="Directory for figures, plans and the page; private.")
@click.option("--dry-run", is_flag=True, help="List the candidates, and whose figures are kept already; write nothing.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed, the same for every candidate."
)
@click.option("--risk", help="Measure of risk to compare by, in place of the plan's.")
@click.option("--utility", help="Measure of loss to compare by, in place of the plan's.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@reading_options
@query_option("data")
@pass_terminal
def explore(
    terminal: Terminal,
    data: Path | Database | tuple[Path, ...],
    plan_file: Path,
    out: Path,
    dry_run: bool,
    seed: int,
    risk: str | None,
    utility: str | None,
    workers: int,
    reading: Options,
) -> None:
    """Try many methods and parameters on DATA and draw the frontier of risk and utility.

    Figures are kept in OUT: interrupted, it shows the best so far, and the same command goes on from there. For a plan
    with tables DATA is the folder that their files are in, or these files.

    \b
    Examples:
      shoal explore people.csv --plan ranges.yaml --out exploration --dry-run
      shoal explore people.csv --plan ranges.yaml --out exploration --workers 2
      shoal explore hospital/ --plan tables.yaml --out exploration
    """
    from shoal.desk.frontier import explore as run
    from shoal.desk.frontier import explored_so_far
    from shoal.plan.any_plan import any_plan
    from shoal.release.directory import check_writable, is_release
    from shoal.release.publish import publish_frontier

    plan = _steered(any_plan(plan_file), {"risk": risk, "utility": utility})
    check_writable(out)
    if is_release(out):
        raise FileError(f"Output '{out}' is a release; an exploration needs a directory of its own. Name another.")
    table = _read(terminal, data, reading, plan)
    if dry_run:
        _list(terminal, table, plan, out, seed)
        return
    with terminal.progress() as stage:

        def progress(done: int, total: int, name: str) -> None:
            stage(f"{done} of {total} {name}", done / max(total, 1))

        interrupted = False
        try:
            frontier: Frontier | None = run(table, plan, out, seed=seed, workers=workers, progress=progress)
        except KeyboardInterrupt:
            interrupted, frontier = True, explored_so_far(table, plan, out, seed=seed)
    if frontier is not None:
        publish_frontier(frontier, out)
        _show(terminal, frontier, out)
    if interrupted:
        raise Interrupted(KEPT)


def _read(terminal: Terminal, data: Any, reading: Options, plan: Any) -> Any:
    """The one table that was given, or the tables of a plan for several."""
    from shoal.desk.files_of_tables import one_table
    from shoal.desk.linked import tables_in_memory

    if isinstance(plan, shoal.Plan):
        return read(terminal, one_table(data), reading, plan)
    return tables_in_memory(data, plan, reading)


def _list(terminal: Terminal, table: Any, plan: Any, out: Path, seed: int) -> None:
    """Print the candidates that would be tried."""
    from shoal.desk.frontier import listed

    tries = listed(table, plan, out, seed=seed)
    kept = sum(tries.values())
    terminal.result({"exit status": 0, "dry run": True, "candidates": list(tries), "kept": kept})
    rows = [[str(number), name, "yes" * done] for number, (name, done) in enumerate(tries.items(), 1)]
    terminal.table(["No.", "plan", "figures kept"], rows)
    terminal.say(f"\nDry run: {len(tries) - kept} of {len(tries)} candidates would be tried; nothing was written.")


def _show(terminal: Terminal, frontier: "Frontier", out: Path) -> None:
    """Print all candidates with their figures, and the recommended one."""
    from shoal.report.exploration import KINDS
    from shoal.report.forms import in_unit
    from shoal.report.frontier_marks import numbered

    terminal.result(frontier.as_mapping())
    content = frontier.as_mapping()
    axes = content["axes"]
    rows = [
        [str(number), point["name"], in_unit(point["risk"], axes["risk"]), in_unit(point["utility"], axes["utility"])]
        + [point["standing"]]
        for number, point in numbered(content).items()
    ]
    bare = content["unprotected"]
    rows.append(["", "the table unprotected", *(in_unit(bare and bare[kind], axes[kind]) for kind in KINDS), ""])
    best = [{1} if point["name"] == frontier.recommended else set() for point in numbered(content).values()]
    terminal.table(["No.", "plan", axes["risk"]["title"], axes["utility"]["title"], "standing"], rows, bold=best)
    terminal.say(f"\n{frontier.because}\nPage      {(out / 'frontier.html').resolve().as_uri()}")


def _steered(plan: Any, axes: dict[str, str | None]) -> Any:
    """The plan with other measures to compare by."""
    chosen = {kind: name for kind, name in axes.items() if name is not None}
    if plan.explore is None or not chosen:
        return plan
    return replace(plan, explore=plan.explore.model_copy(update=chosen))
