"""A table protected as a plan says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import shoal
from shoal.cli.engine import engine_options
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import DATA, FILE, OUTPUT, Options, note_doubts, query_option, reading_options
from shoal.cli.terminal import Terminal
from shoal.table.files.database import Database
from shoal.vocabulary.errors import FileError, plural, quoted

if TYPE_CHECKING:
    from shoal.desk.given import Given


@cli.command()
@click.argument("data", type=DATA, nargs=-1, required=True)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=OUTPUT, required=True, help="Directory to write; must not exist or be empty.")
@click.option(
    "--seed", type=click.IntRange(0), help="Seed, to repeat a release; keep it secret. By default drawn by the system."
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in the directory.")
@click.option("--dry-run", is_flag=True, help="Carry the plan out and prove it, and write nothing.")
@click.option(
    "--unproved", is_flag=True, help="Write a release although the plan requires nothing; every file says so."
)
@click.option(
    "--exploration", type=FILE, help="Directory of the exploration that chose the plan, for the private report."
)
@click.option(
    "--ledger", type=OUTPUT, help="Ledger of all releases, for a plan with a section ledger; begun if it is not there."
)
@click.option(
    "--after",
    type=FILE,
    multiple=True,
    help="Directory of the release before, whose private folder has the ledger so far; may be given several times.",
)
@click.option("--refusal", type=OUTPUT, help="If the plan is refused, write what fails and what would help; private.")
@engine_options
@reading_options
@query_option("data")
@pass_terminal
def protect(
    terminal: Terminal,
    data: Path | Database | tuple[Path, ...],
    plan_file: Path,
    out: Path,
    seed: int | None,
    overwrite: bool,
    dry_run: bool,
    unproved: bool,
    exploration: Path | None,
    refusal: Path | None,
    ledger: Path | None,
    after: tuple[Path, ...],
    reading: Options,
    working: Options,
) -> None:
    """Protect DATA as a plan says; write the release only if every requirement is proved.

    DATA is a file, or a folder or pattern of Parquet or CSV files, which may hold more than memory does; or the
    address of a database, whose password comes from SHOAL_PASSWORD or from the file that SHOAL_PASSWORD_FILE names.
    For a plan with tables it is the folder that their files are in, or these files.

    \b
    OUT/release/   the protected table, report.html, evidence.json, codebook.json: may leave the building
    OUT/private/   seed, groups, record-level risk: may not

    \b
    Examples:
      shoal protect people.csv --plan plan.yaml --out release-1
      shoal protect people.sav --plan plan.yaml --out release-2 --overwrite --json --log protect.log
      shoal protect people.csv --plan plan.yaml --out release-1 --dry-run
      shoal protect people.csv --plan plan.yaml --out release-1 --refusal why.html
      shoal protect february.csv --plan plan.yaml --out 2026-02 --ledger registry.ledger
      shoal protect postgresql://me@db/clinic --query discharges --plan plan.yaml --out release-1
      shoal protect census/ --plan plan.yaml --out release-3 --memory 6GB
      shoal protect census/ --plan plan.yaml --out release-4 --engine spark
      shoal protect hospital/ --plan tables.yaml --out release-5
      shoal protect persons.csv stays.csv drugs.csv --plan tables.yaml --out release-5
    """
    from shoal.plan.any_plan import any_plan
    from shoal.release.directory import check_free, check_writable
    from shoal.release.publish import check_proved

    plan = any_plan(plan_file)
    check_writable(out)
    check_free(out, overwrite=overwrite)
    _note_small_seed(terminal, seed)
    frontier = _explored(exploration, plan) if exploration else None
    given = _given(terminal, data, plan, reading, working["memory"])
    with _explained(refusal), terminal.progress() as stage:
        release = shoal.protect(
            given,
            plan,
            None if dry_run else out,
            seed=seed,
            overwrite=overwrite,
            unproved=unproved,
            stage=stage,
            reading=reading,
            frontier=frontier,
            ledger=ledger,
            after=after,
            **working,
        )
    if dry_run:
        check_proved(release, unproved=unproved)
        terminal.tried(release)
    else:
        terminal.released(release, out)


def _given(terminal: Terminal, data: Any, plan: Any, reading: Options, memory: str | None) -> Any:
    """The files of several tables, or the one table that was given, read if it is to be held whole."""
    from shoal.desk.files_of_tables import one_table
    from shoal.desk.given import Given
    from shoal.plan.admission import admit

    if not isinstance(plan, shoal.Plan):
        return data
    admit(plan)
    given = Given.of(one_table(data), reading)
    _hold(terminal, given, plan, memory)
    return given


def _hold(terminal: Terminal, given: "Given", plan: "shoal.Plan", memory: str | None) -> None:
    """Read a table that is to be held whole, and tell how it was read."""
    from shoal.run.parts.admission import whole_needed
    from shoal.table.parts.session import allowance

    needed = whole_needed(plan)
    if given.in_parts(plan) and not needed:
        return  # which the reading of parts does
    table = given.in_memory(allowance(memory), needed)
    note_doubts(terminal, table, plan)
    terminal.say(
        f"Read {given.name}: {plural(len(table.frame), 'record')}, {plural(table.frame.width, 'column')} "
        f"({table.described})."
    )
    if (others := plan.schema.all_others) and (
        names := [n for n in table.frame.columns if n not in plan.schema.columns]
    ):
        terminal.note(f"The plan's '*' gives the role {others.role} to {quoted(names)}.")


@contextmanager
def _explained(path: Path | None) -> Iterator[None]:
    """Write the page of a refusal before the refusal ends the run."""
    from shoal.release import NotProved
    from shoal.table.files.atomic import atomic_file

    try:
        yield
    except NotProved as refused:
        if path is not None:
            with atomic_file(path, 0o600) as temporary:
                temporary.write_text(refused.page(), encoding="utf-8")
        raise


def _note_small_seed(terminal: Terminal, seed: int | None) -> None:
    from shoal.release import LEAST_SEED

    if seed is not None and seed < LEAST_SEED:
        terminal.note(
            "The seed is so small that others can try all seeds of its size; the right one undoes random masking and "
            "the order of the records. Use small seeds only for tests."
        )


def _explored(folder: Path, plan: Any) -> dict[str, Any]:
    """The exploration in a directory, if what the plan does is what one of its candidates does."""
    from shoal.plan.any_plan import any_plan
    from shoal.report.exploration import Exploration
    from shoal.table.files.json_text import read_record

    content = read_record(folder / "frontier.json", "an exploration", Exploration.__annotations__)
    tried = (any_plan(path) for path in (folder / "plans").glob("*.yaml"))
    if not any(_done_by(candidate) == _done_by(plan) for candidate in tried):
        raise FileError(
            f"No candidate of the exploration '{folder}' has the steps of this plan. Name the exploration "
            f"that chose it, or leave it out."
        )
    return content


def _done_by(plan: Any) -> Any:
    """The steps of a plan; of a plan for several tables, of each and of all, and the share who may be left out."""
    sections = plan.as_mapping()
    if isinstance(plan, shoal.Plan):
        return sections["steps"]
    own = {name: of_table.get("steps", []) for name, of_table in sections["tables"].items()}
    return own, sections.get("steps"), plan.suppress_persons
