"""A table protected as a plan says."""

from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.group import cli, pass_terminal
from shoal.cli.reading import FILE, json_of, read, reading_options
from shoal.cli.terminal import Terminal
from shoal.errors import FileError, plural
from shoal.files.checksums import unchanging


@cli.command()
@click.argument("data", type=FILE)
@click.option("--plan", "plan_file", type=FILE, required=True, help="Plan file (YAML).")
@click.option("--out", type=FILE, required=True, help="Directory to write; must not exist or be empty.")
@click.option("--seed", type=click.IntRange(0), help="Repeat a release; a secret. Drawn by the system by default.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in the directory.")
@click.option("--unproved", is_flag=True, help="Write a release although the plan requires nothing; it says so.")
@click.option(
    "--exploration", type=FILE, help="Directory of the exploration that chose the plan, for the private report."
)
@reading_options
@pass_terminal
def protect(
    terminal: Terminal,
    data: Path,
    plan_file: Path,
    out: Path,
    seed: int | None,
    overwrite: bool,
    unproved: bool,
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
    from shoal.publish import check_free, check_writable

    plan = shoal.Plan.read(plan_file)
    check_writable(out)
    check_free(out, overwrite=overwrite)
    table, digest = unchanging(data, lambda: read(terminal, data, reading, plan))
    terminal.say(
        f"Read {data.name}: {plural(len(table.frame), 'record')}, {plural(table.frame.width, 'column')} "
        f"({table.described})."
    )
    from shoal.release import LEAST_SEED

    if seed is not None and seed < LEAST_SEED:
        terminal.note(
            "The seed is so small that others can try all like it, and with the right one undo random masking and the "
            "order of the records. Leave it out but for tests."
        )
    source = {"file": data.name, "sha256": digest, "read as": table.described, "notes": list(table.notes.values())}
    frontier = _explored(exploration, plan) if exploration else None
    with terminal.progress() as stage:
        release = shoal.protect(table.frame, plan, seed=seed, stage=stage, source=source)
        release.write(out, overwrite=overwrite, labels=table, frontier=frontier, unproved=unproved)
    terminal.released(release, out)


def _explored(folder: Path, plan: "shoal.Plan") -> dict[str, Any]:
    """The exploration in a directory, if the plan's steps are those of one of its candidates."""
    from shoal.report.evidence_file import Exploration

    content = json_of(folder / "frontier.json", "exploration", Exploration.__annotations__)
    steps = plan.as_mapping()["steps"]
    if not any(shoal.Plan.read(path).as_mapping()["steps"] == steps for path in (folder / "plans").glob("*.yaml")):
        raise FileError(
            f"No candidate of the exploration '{folder}' has the steps of this plan. Name the exploration "
            f"that chose it, or leave it out."
        )
    return content
