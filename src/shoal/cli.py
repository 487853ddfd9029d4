"""The command line: each command loads, calls one public function, prints.

Exit statuses: 0 done, 1 unexpected error, 2 wrong use or bad input, 3 a requirement is not met,
130 interrupted.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import shoal
from shoal.errors import FileError, ShoalError

INTERRUPTED = 130
QUIET_SECONDS = 1.0
"""Work that takes longer shows its progress."""

FILE = click.Path(path_type=Path)


class _Context:
    """What the options before the command say."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def say(self, text: str) -> None:
        """For a person: silent under --quiet and --json."""
        if not self.quiet and not self.as_json:
            click.echo(text)

    def result(self, content: dict[str, Any]) -> None:
        """For a program: printed under --json only."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, default=str))


pass_context = click.make_pass_decorator(_Context)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.version_option(shoal.__version__, prog_name="shoal")
@click.pass_context
def cli(context: click.Context, quiet: bool, as_json: bool) -> None:
    """Release tables of personal records that are provably protected and still useful.

    \b
    Examples:
      shoal demo                                   see the whole way on example data
      shoal init people.csv > plan.yaml            guess a plan, to be corrected by hand
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal audit release-1/release/data.csv --plan plan.yaml

    \b
    Exit status: 0 done, 1 unexpected error, 2 wrong use or bad input,
    3 a requirement is not met (and nothing was written), 130 interrupted.
    """
    context.obj = _Context(quiet=quiet, as_json=as_json)


def _reading(command: Any) -> Any:
    delimiter = click.option("--delimiter", help="What separates cells in a text file; found out by default.")
    encoding = click.option("--encoding", help="Encoding of a text file; found out by default.")
    return delimiter(encoding(command))


@cli.command()
@click.option("--out", type=FILE, default=Path("demo"), show_default=True, help="Directory to write.")
@click.option("--records", "n", type=click.IntRange(20), default=1000, show_default=True, help="Records to make.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same demo.")
@pass_context
def demo(context: _Context, out: Path, n: int, seed: int) -> None:
    """Make example data, protect it, prove it, and write the release and its report.

    \b
    Example:
      shoal demo --records 5000 --out demo
    """
    from shoal.hospital import PLAN, example
    from shoal.release import is_release

    context.say(f"Making {n:,} discharges of an invented hospital (no real person stands behind any value) ...")
    with _progress(context) as stage:
        release = shoal.protect(example("hospital", n=n, seed=seed), PLAN, seed=seed, stage=stage)
        release.write(out, overwrite=is_release(out))
    _summary(context, release, out)


@cli.command()
@click.argument("file", type=FILE)
@_reading
@pass_context
def init(context: _Context, file: Path, delimiter: str | None, encoding: str | None) -> None:
    """Guess a plan for FILE and print it; correct it before use.

    \b
    Example:
      shoal init people.csv > plan.yaml
    """
    from shoal.files.tables import read_table
    from shoal.guess import guess, plan_text

    frame = read_table(file, delimiter=delimiter, encoding=encoding).frame
    if context.as_json:
        context.result({g.name: {"role": g.role, "level": g.level, "reason": g.reason} for g in guess(frame)})
    else:
        click.echo(plan_text(frame, file.name), nl=False)


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=FILE, required=True, help="Directory to write; must not exist or be empty.")
@click.option("--seed", type=int, help="Repeat a release; a secret. Drawn by the system by default.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in the directory.")
@click.option("--exploration", type=FILE, help="Directory of the exploration that chose the plan, for the report.")
@_reading
@pass_context
def protect(
    context: _Context, data: Path, plan_file: Path, out: Path, seed: int | None, overwrite: bool,
    exploration: Path | None, delimiter: str | None, encoding: str | None,
) -> None:
    """Protect DATA as a plan says; write the release only if every requirement is proved.

    \b
    OUT/release/   the protected table, report.html, evidence.json, codebook.json: may leave the building
    OUT/private/   seed, groups, record-level risk: may not

    \b
    Examples:
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal --json protect people.sav --plan plan.yaml --out release-2 --overwrite
    """
    from shoal.files.tables import read_table

    plan = shoal.Plan.read(plan_file)
    _check_writable(out)
    _check_free(out, overwrite=overwrite)
    table = read_table(data, delimiter=delimiter, encoding=encoding)
    context.say(f"Read {data.name}: {len(table.frame):,} records, {table.frame.width} columns ({table.described}).")
    source = {"file": data.name, "sha256": hashlib.sha256(data.read_bytes()).hexdigest(), "read as": table.described}
    frontier = _json_of(exploration / "frontier.json", "exploration") if exploration else None
    with _progress(context) as stage:
        release = shoal.protect(table.frame, plan, seed=seed, stage=stage, source=source)
        release.write(out, overwrite=overwrite, labels=table, frontier=frontier)
    _summary(context, release, out)


@cli.command()
@click.argument("released", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file whose requirements are to be proved.")
@click.option("--original", type=FILE, help="The table it was made from, to measure risk and loss as well.")
@click.option("--private", type=FILE, help="Private folder of the release: pairs its records with the original's.")
@_reading
@pass_context
def audit(
    context: _Context, released: Path, plan_file: Path, original: Path | None, private: Path | None,
    delimiter: str | None, encoding: str | None,
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
    table = read_table(released, delimiter=delimiter, encoding=encoding, apart=compared)
    before = read_table(original, delimiter=delimiter, encoding=encoding).frame if original else None
    evidence = shoal.audit(table.frame, plan, original=before, private=private)
    context.result(evidence.as_mapping() | {"holds": evidence.holds})
    for verdict in evidence.verdicts:
        context.say(f"{'proved ' if verdict.holds else 'REFUTED'}  {verdict.requirement}: {verdict.sentence}")
    if not evidence.verdicts:
        context.say("The plan names no requirement, so nothing was proved.")
    for finding in evidence.findings:
        context.say(f"{'measured':9}{_finding(finding)}")
    if not evidence.holds:
        raise click.exceptions.Exit(3)


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file with a section 'explore'.")
@click.option("--out", type=FILE, required=True, help="Directory for figures, plans and the page; private.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same for every candidate.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@_reading
@pass_context
def explore(
    context: _Context, data: Path, plan_file: Path, out: Path, seed: int, workers: int, delimiter: str | None,
    encoding: str | None,
) -> None:
    """Try many methods and parameters on DATA and draw the frontier of risk and utility.

    What was computed is kept in OUT: an exploration that was interrupted goes on where it stopped.

    \b
    Example:
      shoal explore people.csv --plan ranges.yaml --out exploration --workers 2
    """
    from shoal.files.tables import read_table
    from shoal.frontier import explore as run
    from shoal.frontier import write
    from shoal.release import is_release

    plan = shoal.Plan.read(plan_file)
    _check_writable(out)
    if is_release(out):
        raise FileError(f"Output '{out}' is a release; an exploration needs a directory of its own. Name another.")
    table = read_table(data, delimiter=delimiter, encoding=encoding)
    with _progress(context) as stage:

        def progress(done: int, total: int, name: str) -> None:
            if stage is not None:
                stage(f"{done} of {total} {name}", done / max(total, 1))

        frontier = run(table.frame, plan, out, seed=seed, workers=workers, progress=progress)
    write(frontier, out)
    context.result(frontier.as_mapping())
    for point in frontier.points:
        mark = "*" if point.name in frontier.pareto else " "
        figures = [f"{v:.4g}" if v is not None else "not measured" for v in (point.risk, point.utility)]
        context.say(f"{mark} {point.name:<40} {frontier.risk} {figures[0]:<10} {frontier.utility} {figures[1]:<10} "
                    f"{point.reason}".rstrip())
    context.say(f"\n{frontier.because}\nPage      {(out / 'frontier.html').resolve().as_uri()}")


@cli.command()
@click.argument("releases", nargs=-1, required=True, type=FILE)
@click.option("--out", type=FILE, help="Write the comparison as a page.")
@pass_context
def compare(context: _Context, releases: tuple[Path, ...], out: Path | None) -> None:
    """Set several releases side by side: what was proved, risk and loss.

    \b
    Example:
      shoal compare release-1 release-2 --out comparison.html
    """
    from rich.console import Console
    from rich.table import Table

    from shoal.files.atomic import atomic_file
    from shoal.report.comparison_page import comparison, comparison_page
    from shoal.report.page import figure

    evidence = {str(f): _json_of(f / "release" / "evidence.json", "assessed release") for f in releases}
    rows = comparison(evidence)
    context.result({"releases": list(evidence), "rows": rows})
    table = Table("", *evidence)
    for row in rows:
        cells = [row["lacking"] if cell is None else figure(cell) for cell in row["cells"]]
        table.add_row(row["title"], *(f"[bold]{c}[/bold]" if i in row["best"] else c for i, c in enumerate(cells)))
    if not context.quiet and not context.as_json:
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(comparison_page(evidence), encoding="utf-8")


def _json_of(path: Path, what: str) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise FileError(f"'{path}' cannot be read as the record of an {what}. Check the directory.") from None


@cli.command()
def schema() -> None:
    """Print the JSON schema of plan files, for editors that complete and check.

    \b
    Example:
      shoal schema > shoal-plan.schema.json
    """
    from shoal.plan.json_schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, default=str))


@cli.command()
@click.argument("room", required=False,
                type=click.Choice(["partition", "replace", "mask", "privacy", "risk", "utility"]))
@pass_context
def methods(context: _Context, room: str | None) -> None:
    """List every method with its parameters and its source.

    \b
    Examples:
      shoal methods
      shoal methods partition
    """
    from dataclasses import MISSING

    from rich.console import Console
    from rich.table import Table

    from shoal.methods import registered

    entries = registered(room)
    context.result({f"{e.room}: {e.name}": {"title": e.title, "source": e.source,
                                            "parameters": list(e.parameters)} for e in entries})
    if context.quiet or context.as_json:
        return
    table = Table("room", "method", "parameters", "what it is", "source", show_lines=False)
    for e in entries:
        shown = ", ".join(name if default is MISSING else f"{name}={default}" for name, default in e.parameters.items())
        table.add_row(e.room, e.name, shown, e.title, e.source)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@contextmanager
def _progress(context: _Context) -> Iterator[Any]:
    """A callback for `shoal.protect`; after a second of work it shows a bar on standard error."""
    if context.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=1.0)
    began = time.monotonic()

    def stage(text: str, fraction: float) -> None:
        if time.monotonic() - began > QUIET_SECONDS and not bar.live.is_started:
            bar.start()
        bar.update(task, description=text, completed=fraction)

    try:
        yield stage
    finally:
        bar.stop()


def _summary(context: _Context, release: Any, out: Path) -> None:
    report = out / "release" / "report.html"
    context.result({"directory": str(out), "report": str(report), "seed": "in private/record.json",
                    **release.evidence.as_mapping()})
    for verdict in release.evidence.verdicts:
        context.say(f"proved    {verdict.requirement}: {verdict.sentence}")
    for finding in release.evidence.findings:
        context.say(f"measured  {_finding(finding)}")
    context.say(f"\nRelease   {out / 'release'}   (may leave the building)")
    context.say(f"Private   {out / 'private'}   (may not)")
    context.say(f"Report    {report.resolve().as_uri()}")


def _finding(finding: Any) -> str:
    if finding.value is None:
        return f"{finding.title}: not computed ({finding.reason})"
    interval = f" [{finding.interval.low:.4g}, {finding.interval.high:.4g}]" if finding.interval else ""
    return f"{finding.title}: {finding.value:.4g}{interval}"


def _check_writable(out: Path) -> None:
    """Say that a directory cannot be written before hours of work, not after."""
    from os import W_OK, access

    nearest = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    if not nearest.is_dir() or not access(nearest, W_OK):
        raise FileError(f"Output '{out}' cannot be written. Choose another directory.")


def _check_free(out: Path, *, overwrite: bool) -> None:
    if not out.is_dir() or not any(out.iterdir()):
        return
    from shoal.release import is_release

    if not is_release(out):
        raise FileError(f"Output '{out}' holds something that is no release, which is never replaced. "
                        f"Name another directory.")
    if not overwrite:
        raise FileError(f"Output '{out}' exists and is not empty. Name another directory or allow overwriting.")


def main() -> None:
    """Run a command; mistakes end in one clear line and a documented exit status."""
    try:
        sys.exit(cli.main(standalone_mode=False))
    except click.exceptions.Abort:
        click.echo("Interrupted; nothing was changed.", err=True)
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        click.echo("Interrupted; nothing was changed.", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ShoalError as error:
        click.echo(f"shoal: {error}", err=True)
        sys.exit(error.exit_status)
    except Exception as error:  # noqa: BLE001 - the last line of defence: a traceback could show cells
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else "unknown place"
        click.echo(f"shoal: unexpected {type(error).__name__} at {where}; nothing was written. "
                   f"Please report this line.", err=True)
        sys.exit(1)
