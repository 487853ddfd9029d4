"""A released file proved or refuted."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import shoal
from shoal.cli.engine import engine_options
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, OUTPUT, Options, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.vocabulary.errors import FileError

if TYPE_CHECKING:
    from shoal.judges.evidence import Evidence


@cli.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--plan", "plan_file", type=FILE, help="Plan file whose requirements are to be proved.")
@click.option(
    "--together",
    is_flag=True,
    help="Attack several files that one reader holds: fill, intersect, match. Without a plan, roles are guessed.",
)
@click.option("--key", help="For --together: the column that pairs records; by default their closest profile.")
@click.option("--k", type=click.IntRange(2), help="For --together: classes under it are small; by default the plan's.")
@click.option("--original", type=FILE, help="The table it was made from, to measure risk and loss as well.")
@click.option("--private", type=FILE, help="Private folder of the release: pairs its records with the original's.")
@click.option("--report", type=OUTPUT, help="Write the verdicts and figures as a page; private.")
@click.option(
    "--junit",
    "junit_file",
    type=OUTPUT,
    help="Write the verdicts as JUnit XML, for build servers; private where they tell of the original.",
)
@click.option("--failing", type=OUTPUT, help="Write which rows fail which requirement as CSV; private.")
@engine_options
@reading_options
@pass_terminal
def audit(
    terminal: Terminal,
    files: tuple[Path, ...],
    plan_file: Path | None,
    together: bool,
    key: str | None,
    k: int | None,
    original: Path | None,
    private: Path | None,
    report: Path | None,
    junit_file: Path | None,
    failing: Path | None,
    reading: Options,
    working: Options,
) -> None:
    """Prove or refute a plan's requirements on any released file, whoever made it.

    FILES is one file, or a folder or pattern of Parquet or CSV files, which may hold more than memory does; for a plan
    with tables, the folder that their files are in, or these files; with --together several files, the earliest first.

    \b
    Examples:
      shoal audit release-1/release/data.csv --plan plan.yaml
      shoal audit release-1/release/data.csv --plan plan.yaml --original people.csv --private release-1/private
      shoal audit from-vendor.csv --plan plan.yaml --junit verdicts.xml --failing rows.csv
      shoal audit release-5/release --plan tables.yaml
      shoal audit persons.csv stays.csv drugs.csv --plan tables.yaml
      shoal audit jan.csv feb.csv --together --key person --plan plan.yaml

    \b
    Exit status: 0 if all is proved, 3 if a requirement is refuted, or if the plan names none; with --together, 0 if
    nobody is in a class under k by all files, 3 if somebody is or no pairing is known.
    """
    from shoal.desk.given import Given
    from shoal.plan.any_plan import any_plan

    if together:
        _together(terminal, files, plan_file, key, k, reading)
        return
    if key is not None or k is not None:
        raise FileError("--key and --k are for several files that are held together. Add --together.")
    if plan_file is None:
        raise FileError("A plan is needed: --plan FILE. For several files that one reader holds, add --together.")
    plan = any_plan(plan_file)
    if not isinstance(plan, shoal.Plan):
        if original or private or failing:
            raise FileError("Several tables are audited by themselves. Leave --original, --private and --failing out.")
        name = ", ".join(file.name for file in files)
        _show(terminal, shoal.audit(files, plan, reading=reading, **working), name, report, junit_file)
        return
    if len(files) > 1:
        raise FileError(
            "The plan is for one released file. For several that one reader holds, add --together; for linked tables, "
            "name a plan with tables."
        )
    released = files[0]
    before = read(terminal, original, reading, plan).frame if original else None
    given = Given.of(released, reading, judged=True)
    if failing and not (original or private) and given.in_parts(plan):
        raise FileError("A table in parts is judged by counts of its classes, without rows. Leave --failing out.")
    with terminal.progress() as stage:
        evidence = shoal.audit(given, plan, original=before, private=private, stage=stage, **working)
    _show(terminal, evidence, released.name, report, junit_file, failing)


def _show(
    terminal: Terminal,
    evidence: "Evidence",
    name: str,
    report: Path | None,
    junit_file: Path | None,
    failing: Path | None = None,
) -> None:
    """Print and write the verdicts, and end with their exit status."""
    terminal.result({"exit status": 0 if evidence.holds else 3, **evidence.as_mapping(), "holds": evidence.holds})
    if not evidence.verdicts:
        terminal.say("The plan names no requirement, so nothing was proved.")
    terminal.judged(evidence)
    _write(evidence, name, report, junit_file, failing)
    if not evidence.holds:
        raise click.exceptions.Exit(3)


def _together(
    terminal: Terminal,
    files: tuple[Path, ...],
    plan_file: Path | None,
    key: str | None,
    k: int | None,
    reading: Options,
) -> None:
    """Print what several files give away together."""
    known = shoal.audit_together(files, plan_file, key=key, k=k, reading=reading)
    terminal.result({"exit status": 0 if known.holds else 3, **known.as_mapping(), "holds": known.holds})
    for line in known.lines():
        terminal.say(line)
    if not known.holds:
        raise click.exceptions.Exit(3)


def _write(evidence: "Evidence", name: str, report: Path | None, junit_file: Path | None, failing: Path | None) -> None:
    """Write the files that were asked for; those about single records or the original are for the owner only."""
    from shoal.report.audit_page import audit_page, junit
    from shoal.table.files.atomic import atomic_file

    public = all(verdict.influence == 0 for verdict in evidence.verdicts)
    texts = [(report, audit_page, 0o600), (junit_file, junit, 0o644 if public else 0o600), (failing, _rows, 0o600)]
    for path, text_of, mode in texts:
        if path is not None:
            with atomic_file(path, mode) as temporary:
                temporary.write_text(text_of(evidence, name), encoding="utf-8")


def _rows(evidence: "Evidence", name: str) -> str:
    """Rows of the released file, counted from 1, that fail a requirement which is judged record by record."""
    import polars as pl

    rows = [
        (verdict.requirement, int(row) + 1)
        for verdict in evidence.verdicts
        if verdict.failing is not None
        for row in verdict.failing.nonzero()[0]
    ]
    frame = pl.DataFrame(rows, schema={"requirement": pl.String, "row": pl.Int64}, orient="row")
    return frame.write_csv()
