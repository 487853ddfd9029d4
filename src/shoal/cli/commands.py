"""The commands, each of which loads, calls one public function, prints."""

import json
import signal
import threading
from collections.abc import Collection, Mapping, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.directories import check_free, check_writable
from shoal.cli.terminal import Terminal
from shoal.errors import INTERRUPTED, FileError, plural, quoted
from shoal.files.checksums import unchanging

FILE = click.Path(path_type=Path)
DOUBTED = ("quasi-identifier", "confidential", "other", "weight")
"""Roles of columns whose level of measurement matters."""

pass_terminal = click.make_pass_decorator(Terminal)


class _Command(click.Command):
    """A command that imports what work needs before the work, so that Ctrl-C meets one of them and not both."""

    def invoke(self, context: click.Context) -> Any:
        for module in ("shoal.release", "shoal.files.tables"):
            import_module(module)
        import_module("shoal.methods").load()
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return super().invoke(context)


class _Group(click.Group):
    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    context.obj = Terminal(quiet=quiet, as_json=as_json)


READING = (
    click.option("--delimiter", help="What separates cells in a text file; found out by default."),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Decimal mark of a text file."
    ),
    click.option("--encoding", help="Encoding of a text file; found out by default."),
    click.option("--sheet", help="Sheet of an Excel file; the first by default."),
)


def _reading(command: Any) -> Any:
    """Give a command the options of reading, as one mapping."""

    @wraps(command)
    def with_reading(
        *args: Any, delimiter: str | None, decimal: str, encoding: str | None, sheet: str | None, **others: Any
    ) -> Any:
        how = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "sheet": sheet}
        return command(*args, reading=how, **others)

    for option in reversed(READING):
        with_reading = option(with_reading)
    return with_reading


def _read(terminal: Terminal, path: Path, reading: Mapping[str, Any], plan: Any = None) -> Any:
    """A table from a file, with a note for each column that may have been meant otherwise than the plan knows."""
    from shoal.files.tables import read_table

    table = read_table(path, **reading)
    columns = plan.schema.columns if plan is not None else {}
    for name, note in table.notes.items():
        if name not in columns or (columns[name].level is None and columns[name].role in DOUBTED):
            terminal.note(note)
    return table


@cli.command()
@click.option("--out", type=FILE, default=Path("demo"), show_default=True, help="Directory to write.")
@click.option("--records", "n", type=click.IntRange(20), default=1000, show_default=True, help="Records to make.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same demo.")
@pass_terminal
def demo(terminal: Terminal, out: Path, n: int, seed: int) -> None:
    """Make example data, protect it, prove it, and write the release and its report.

    \b
    Example:
      shoal demo --records 5000 --out demo
    """
    from shoal.data.examples import PLAN, example
    from shoal.release import is_release

    terminal.say(f"Making {n:,} discharges of an invented hospital (no real person stands behind any value) ...")
    with terminal.progress() as stage:
        release = shoal.protect(example("hospital", n=n, seed=seed), PLAN, seed=seed, stage=stage)
        release.write(out, overwrite=is_release(out))
    terminal.released(release, out)


@cli.command()
@click.argument("file", type=FILE)
@_reading
@pass_terminal
def init(terminal: Terminal, file: Path, reading: dict[str, Any]) -> None:
    """Guess a plan for FILE and print it; correct it before use.

    \b
    Example:
      shoal init people.csv > plan.yaml
    """
    from shoal.plan.draft import guess, plan_text

    frame = _read(terminal, file, reading).frame
    if terminal.as_json:
        terminal.result({g.name: {"role": g.role, "level": g.level, "reason": g.reason} for g in guess(frame)})
    else:
        click.echo(plan_text(frame, file.name), nl=False)


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=FILE, required=True, help="Directory to write; must not exist or be empty.")
@click.option("--seed", type=click.IntRange(0), help="Repeat a release; a secret. Drawn by the system by default.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in the directory.")
@click.option("--exploration", type=FILE, help="Directory of the exploration that chose the plan, for the report.")
@_reading
@pass_terminal
def protect(
    terminal: Terminal,
    data: Path,
    plan_file: Path,
    out: Path,
    seed: int | None,
    overwrite: bool,
    exploration: Path | None,
    reading: dict[str, Any],
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
    plan = shoal.Plan.read(plan_file)
    check_writable(out)
    check_free(out, overwrite=overwrite)
    table, digest = unchanging(data, lambda: _read(terminal, data, reading, plan))
    terminal.say(
        f"Read {data.name}: {plural(len(table.frame), 'record')}, {plural(table.frame.width, 'column')} "
        f"({table.described})."
    )
    source = {"file": data.name, "sha256": digest, "read as": table.described, "notes": list(table.notes.values())}
    frontier = _explored(exploration, plan) if exploration else None
    with terminal.progress() as stage:
        release = shoal.protect(table.frame, plan, seed=seed, stage=stage, source=source)
        release.write(out, overwrite=overwrite, labels=table, frontier=frontier)
    terminal.released(release, out)


@cli.command()
@click.argument("released", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file whose requirements are to be proved.")
@click.option("--original", type=FILE, help="The table it was made from, to measure risk and loss as well.")
@click.option("--private", type=FILE, help="Private folder of the release: pairs its records with the original's.")
@_reading
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
    before = _read(terminal, original, reading, plan).frame if original else None
    evidence = shoal.audit(table.frame, plan, original=before, private=private)
    terminal.result(evidence.as_mapping() | {"holds": evidence.holds})
    if not evidence.verdicts:
        terminal.say("The plan names no requirement, so nothing was proved.")
    for line in evidence.lines():
        terminal.say(line)
    if not evidence.holds:
        raise click.exceptions.Exit(3)


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file with a section 'explore'.")
@click.option("--out", type=FILE, required=True, help="Directory for figures, plans and the page; private.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same for every candidate.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes side by side.")
@_reading
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
    from shoal.frontier import write
    from shoal.release import is_release

    plan = shoal.Plan.read(plan_file)
    check_writable(out)
    if is_release(out):
        raise FileError(f"Output '{out}' is a release; an exploration needs a directory of its own. Name another.")
    table = _read(terminal, data, reading, plan)
    with terminal.progress() as stage:

        def progress(done: int, total: int, name: str) -> None:
            if stage is not None:
                stage(f"{done} of {total} {name}", done / max(total, 1))

        try:
            frontier = run(table.frame, plan, out, seed=seed, workers=workers, progress=progress)
        except KeyboardInterrupt:
            click.echo("Interrupted; finished candidates are kept, and the same command goes on from there.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    write(frontier, out)
    terminal.result(frontier.as_mapping())
    for point in frontier.points:
        mark = "*" if point.name in frontier.pareto else " "
        figures = [f"{v:.4g}" if v is not None else "not measured" for v in (point.risk, point.utility)]
        terminal.say(
            f"{mark} {point.name:<40} {frontier.risk} {figures[0]:<10} {frontier.utility} {figures[1]:<10} "
            f"{point.reason}".rstrip()
        )
    terminal.say(f"\n{frontier.because}\nPage      {(out / 'frontier.html').resolve().as_uri()}")


@cli.command()
@click.argument("releases", nargs=-1, required=True, type=FILE)
@click.option("--out", type=FILE, help="Write the comparison as a page.")
@pass_terminal
def compare(terminal: Terminal, releases: tuple[Path, ...], out: Path | None) -> None:
    """Set several releases of one table side by side: what was proved, risk and loss.

    \b
    Example:
      shoal compare release-1 release-2 --out comparison.html
    """
    from shoal.files.atomic import atomic_file
    from shoal.report.comparison_page import comparison, comparison_page
    from shoal.report.content import figure

    evidence = {
        str(f): _json_of(f / "release" / "evidence.json", "assessed release", ("requirements", "measures"))
        for f in releases
    }
    _check_one_table(terminal, [f for f in releases if (f / "private" / "record.json").is_file()])
    rows = comparison(evidence)
    terminal.result({"releases": list(evidence), "rows": rows})
    cells = [[row["title"], *(row["lacking"] if c is None else figure(c) for c in row["cells"])] for row in rows]
    terminal.table(["", *evidence], cells, bold=[{i + 1 for i in row["best"]} for row in rows])
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(comparison_page(evidence), encoding="utf-8")


def _check_one_table(terminal: Terminal, releases: Sequence[Path]) -> None:
    """Refuse releases of tables that differ in shape; where only cells may differ, say so."""
    records = {str(f): _json_of(f / "private" / "record.json", "release", ("input", "plan")) for f in releases}
    shapes = {name: (record["input"]["records"], set(record["plan"]["columns"])) for name, record in records.items()}
    for name, (n, columns) in shapes.items():
        first, (m, others) = next(iter(shapes.items()))
        if (n, columns) != (m, others):
            what = (
                f"the one has {plural(m, 'record')}, the other {n:,}"
                if n != m
                else (f"only one has the columns {quoted(sorted(columns ^ others))}")
            )
            raise FileError(
                f"'{first}' and '{name}' are releases of different tables: {what}. Figures of different "
                f"tables say nothing side by side; compare releases of one table."
            )
    digests = [
        {record["input"].get(key) for key in ("sha256 of cells", "sha256")} - {None} for record in records.values()
    ]
    if digests and any(digests[0].isdisjoint(others) for others in digests):
        terminal.note(
            "The releases were made from tables with different cells, or described otherwise. Figures say "
            "something side by side only where the tables are the same."
        )


def _explored(folder: Path, plan: "shoal.Plan") -> dict[str, Any]:
    """The exploration in a directory, if the plan's steps are those of one of its candidates."""
    from shoal.report.evidence_file import Exploration

    content = _json_of(folder / "frontier.json", "exploration", Exploration.__annotations__)
    steps = plan.as_mapping()["steps"]
    if not any(shoal.Plan.read(path).as_mapping()["steps"] == steps for path in (folder / "plans").glob("*.yaml")):
        raise FileError(
            f"No candidate of the exploration '{folder}' has the steps of this plan. Name the exploration "
            f"that chose it, or leave it out."
        )
    return content


def _json_of(path: Path, what: str, keys: Collection[str]) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not set(keys) <= content.keys():
            raise ValueError
        return content
    except (OSError, ValueError):
        raise FileError(f"'{path}' cannot be read as the record of an {what}. Check the directory.") from None


@cli.command()
@click.argument("file", required=False, default="plan", type=click.Choice(["plan", "evidence"]))
def schema(file: str) -> None:
    """Print the JSON schema of plan files (for editors that complete and check) or of evidence.json.

    \b
    Examples:
      shoal schema > shoal-plan.schema.json
      shoal schema evidence > shoal-evidence.schema.json
    """
    from shoal.report.evidence_file import evidence_schema

    click.echo(json.dumps(shoal.Plan.json_schema() if file == "plan" else evidence_schema(), indent=2, default=str))


@cli.command()
@click.argument(
    "kind", required=False, type=click.Choice(["partition", "replace", "mask", "privacy", "risk", "utility"])
)
@pass_terminal
def methods(terminal: Terminal, kind: str | None) -> None:
    """List every method with its parameters and its source.

    \b
    Examples:
      shoal methods
      shoal methods partition
    """
    from dataclasses import MISSING

    from shoal.methods import registered

    entries = registered(kind)
    terminal.result(
        {
            f"{e.kind}: {e.name}": {"title": e.title, "source": e.source, "parameters": list(e.parameters)}
            for e in entries
        }
    )
    terminal.table(
        ["kind", "method", "parameters", "what it is", "source"],
        (
            [
                e.kind,
                e.name,
                ", ".join(
                    name if default is MISSING else f"{name}={default}" for name, default in e.parameters.items()
                ),
                e.title,
                e.source,
            ]
            for e in entries
        ),
    )
