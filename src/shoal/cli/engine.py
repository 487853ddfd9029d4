"""Whether a table is worked on in memory or part by part."""

from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from shoal.cli.terminal import Terminal
from shoal.errors import InputError

ENGINES = ("auto", "memory", "duckdb", "spark")

PARTWISE = ("duckdb", "spark")
"""Those that work part by part."""

BYTES_A_CELL = 205
"""Of memory at the peak of a run: 3.7 GB for a million records of 18 columns, as measured."""

CHARACTERS_A_CELL = 8
"""Of a text file, about."""

SURELY_FITS = 16 << 20
"""Bytes of a file that is not looked into where nothing is said of memory: it fits into any."""

PARTED = (".parquet", ".csv", ".tsv", ".gz")
"""Endings of files that can be worked on part by part."""

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="auto",
        show_default=True,
        help="Hold the table in memory, or work on it part by part, here (duckdb) or on a cluster (spark); auto looks "
        "at its size.",
    ),
    click.option("--memory", help="Memory that may be used, as in 6GB; half of the machine's by default."),
    click.option("--workers", type=click.IntRange(1), help="Processes that work on parts; one a processor by default."),
)


def engine_options(command: Any) -> Any:
    """Give a command the options of working part by part, as one mapping."""

    @wraps(command)
    def with_engine(*args: Any, engine: str, memory: str | None, workers: int | None, **others: Any) -> Any:
        how = {"engine": engine, "memory": memory, "workers": workers}
        return command(*args, working=how, **others)

    for option in reversed(OPTIONS):
        with_engine = option(with_engine)
    return with_engine


def how_in_parts(working: Mapping[str, Any]) -> dict[str, Any]:
    """The options of working part by part, as `shoal.protect_large` has them."""
    return {**working, "engine": working["engine"] if working["engine"] in PARTWISE else None}


def in_parts(terminal: Terminal, data: Path, working: Mapping[str, Any], plan: Any, *, steps: bool = True) -> bool:
    """Whether to work part by part: as told, or because the table may not fit into the memory that may be used.

    A file whose plan needs the whole table at once is still tried in memory, with a note.

    Parameters
    ----------
    steps
        Whether the plan's steps are to be carried out; only its requirements are asked otherwise.
    """
    if working["engine"] != "auto":
        return working["engine"] in PARTWISE
    if not data.is_file():
        return data.is_dir() or any(sign in str(data) for sign in "*?[")
    if data.suffix.lower() not in PARTED or (working["memory"] is None and data.stat().st_size < SURELY_FITS):
        return False
    from shoal.scale.admission import check_requirements, check_scales
    from shoal.scale.session import bytes_of, duckdb_module, half_of_memory

    memory = half_of_memory() if working["memory"] is None else bytes_of(working["memory"])
    try:
        duckdb_module()
        if (needed := _needed(data)) <= memory:
            return False
        if steps:
            check_scales(plan)
        check_requirements(plan)
    except InputError as reason:
        terminal.note(f"The table is held in memory, which it may not fit into. {reason}")
        return False
    terminal.say(f"The table may need {needed >> 20:,} MB in memory, so it is worked on part by part.")
    return True


def _needed(path: Path) -> int:
    """Bytes that a table takes at the peak of a run in memory: by its cells, or by the size of its text."""
    from shoal.files.folders import kind_of
    from shoal.scale.stage import rows_in, schema_in

    if kind_of(path) != "parquet":
        return path.stat().st_size // CHARACTERS_A_CELL * BYTES_A_CELL
    return rows_in(path) * len(schema_in(path)) * BYTES_A_CELL
