"""A table protected as a plan says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import shoal
from shoal.cli.engine import PARTWISE, engine_options, how_in_parts, in_parts
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, FILE, OUTPUT, query_option, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.errors import FileError, plural, quoted
from shoal.files.database import Database

if TYPE_CHECKING:
    from shoal.files.table import Table


@cli.command()
@click.argument("data", type=DATA)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=OUTPUT, required=True, help="Directory to write; must not exist or be empty.")
@click.option("--seed", type=click.IntRange(0), help="Repeat a release; a secret. Drawn by the system by default.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in the directory.")
@click.option("--dry-run", is_flag=True, help="Carry the plan out and prove it, and write nothing.")
@click.option("--unproved", is_flag=True, help="Write a release although the plan requires nothing; it says so.")
@click.option(
    "--exploration", type=FILE, help="Directory of the exploration that chose the plan, for the private report."
)
@click.option("--refusal", type=OUTPUT, help="If the plan is refused, write what fails and what would help; private.")
@engine_options
@reading_options
@query_option("data")
@pass_terminal
def protect(
    terminal: Terminal,
    data: Path | Database,
    plan_file: Path,
    out: Path,
    seed: int | None,
    overwrite: bool,
    dry_run: bool,
    unproved: bool,
    exploration: Path | None,
    refusal: Path | None,
    reading: dict[str, Any],
    working: dict[str, Any],
) -> None:
    """Protect DATA as a plan says; write the release only if every requirement is proved.

    DATA is a file, or a folder or pattern of Parquet or CSV files, which may hold more than memory does; or the
    address of a database, whose password comes from SHOAL_PASSWORD or from the file that SHOAL_PASSWORD_FILE names.

    \b
    OUT/release/   the protected table, report.html, evidence.json, codebook.json: may leave the building
    OUT/private/   seed, groups, record-level risk: may not

    \b
    Examples:
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal protect people.sav --plan plan.yaml --out release-2 --overwrite --json --log protect.log
      shoal protect people.csv --plan plan.yaml --out release-1 --dry-run
      shoal protect people.csv --plan plan.yaml --out release-1 --refusal why.html
      shoal protect postgresql://me@db/clinic --query discharges --plan plan.yaml --out release-1
      shoal protect census/ --plan plan.yaml --out release-3 --memory 6GB
      shoal protect census/ --plan plan.yaml --out release-4 --engine spark
    """
    from shoal.large import protect_large
    from shoal.plan.admission import admit
    from shoal.publish import check_free, check_proved, check_writable

    plan = shoal.Plan.read(plan_file)
    admit(plan)
    check_writable(out)
    check_free(out, overwrite=overwrite)
    _note_small_seed(terminal, seed)
    if isinstance(data, Database):
        _check_in_memory(working)
    elif in_parts(data, working):
        if dry_run:
            raise FileError("Part by part a release is proved on its files, which are written. Leave --dry-run out.")
        if exploration:
            raise FileError("The report of a release made part by part shows no exploration. Leave --exploration out.")
        if refusal:
            raise FileError("What would help is looked for in memory, not part by part. Leave --refusal out.")
        how = how_in_parts(working)
        with terminal.progress() as stage:
            large = protect_large(
                data, plan, out, seed=seed, overwrite=overwrite, unproved=unproved, stage=stage, reading=reading, **how
            )
        terminal.released(large, out)
        return
    frontier = _explored(exploration, plan) if exploration else None
    with _explained(refusal):
        table, release = _protected(terminal, data, plan, seed, reading)
    if dry_run:
        check_proved(release, unproved=unproved)
        terminal.tried(release)
    else:
        release.write(out, overwrite=overwrite, labels=table, frontier=frontier, unproved=unproved)
        terminal.released(release, out)


def _check_in_memory(working: dict[str, Any]) -> None:
    """Refuse to work part by part on what is no file, or within a memory that nobody can know to suffice."""
    if working["engine"] in PARTWISE:
        raise FileError("Tables are worked on part by part from files. Write the query to Parquet first.")
    if working["memory"] is not None:
        raise FileError("What a query needs in memory is not known before it is read. Leave --memory out.")


@contextmanager
def _explained(path: Path | None) -> Iterator[None]:
    """The page of a refusal, written before the refusal goes on its way."""
    from shoal.files.atomic import atomic_file
    from shoal.release import NotProved

    try:
        yield
    except NotProved as refused:
        if path is not None:
            with atomic_file(path, 0o600) as temporary:
                temporary.write_text(refused.page(), encoding="utf-8")
        raise


def _protected(
    terminal: Terminal, data: Path | Database, plan: "shoal.Plan", seed: int | None, reading: dict[str, Any]
) -> tuple["Table", "shoal.Release"]:
    """The table of a file, and the release made of it in memory."""
    from shoal.files.checksums import unchanging

    source: dict[str, Any] = {"file": data.name}
    if isinstance(data, Database):
        table = read(terminal, data, reading, plan)
        source |= {"query": data.query}
    else:
        path = data
        table, source["sha256"] = unchanging(path, lambda: read(terminal, path, reading, plan))
    terminal.say(
        f"Read {data.name}: {plural(len(table.frame), 'record')}, {plural(table.frame.width, 'column')} "
        f"({table.described})."
    )
    if (others := plan.schema.all_others) and (
        names := [n for n in table.frame.columns if n not in plan.schema.columns]
    ):
        terminal.note(f"The plan's '*' gives the role {others.role} to {quoted(names)}.")
    source |= {"read as": table.described, "notes": list(table.notes.values())}
    with terminal.progress() as stage:
        return table, shoal.protect(table, plan, seed=seed, stage=stage, source=source)


def _note_small_seed(terminal: Terminal, seed: int | None) -> None:
    from shoal.release import LEAST_SEED

    if seed is not None and seed < LEAST_SEED:
        terminal.note(
            "The seed is so small that others can try all like it, and with the right one undo random masking and the "
            "order of the records. Leave it out but for tests."
        )


def _explored(folder: Path, plan: "shoal.Plan") -> dict[str, Any]:
    """The exploration in a directory, if the plan's steps are those of one of its candidates."""
    from shoal.files.json_text import read_record
    from shoal.release.evidence_schema import Exploration

    content = read_record(folder / "frontier.json", "an exploration", Exploration.__annotations__)
    steps = plan.as_mapping()["steps"]
    if not any(shoal.Plan.read(path).as_mapping()["steps"] == steps for path in (folder / "plans").glob("*.yaml")):
        raise FileError(
            f"No candidate of the exploration '{folder}' has the steps of this plan. Name the exploration "
            f"that chose it, or leave it out."
        )
    return content
