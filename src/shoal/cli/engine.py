"""Which engine works on a table: as told, or by what the table lies in; never by how much memory a machine has."""

from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from shoal.errors import FileError

ENGINES = ("memory", "duckdb", "spark")

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
        help="Hold the table in memory, or work on it part by part, here (duckdb) or on a cluster (spark): parts give "
        "other bytes. By default memory for a file or a database, duckdb for a folder or a pattern.",
    ),
    click.option(
        "--memory",
        help="Memory that may be used, as in 6GB; half of the machine's by default. Changes no byte of what comes out.",
    ),
    click.option("--workers", type=click.IntRange(1), help="Processes that work on parts; one a processor by default."),
)


def engine_options(command: Any) -> Any:
    """Give a command the options of working part by part, as one mapping."""

    @wraps(command)
    def with_engine(*args: Any, engine: str | None, memory: str | None, workers: int | None, **others: Any) -> Any:
        how = {"engine": engine, "memory": memory, "workers": workers}
        return command(*args, working=how, **others)

    for option in reversed(OPTIONS):
        with_engine = option(with_engine)
    return with_engine


def how_in_parts(working: Mapping[str, Any]) -> dict[str, Any]:
    """The options of working part by part, as `shoal.protect_large` has them."""
    return {**working, "engine": working["engine"] or "duckdb"}


def in_parts(data: Path, working: Mapping[str, Any]) -> bool:
    """Whether to work part by part: as told, else where the table is no single file.

    Raises
    ------
    FileError
        If the table is to be held in memory and may not fit into what may be used.
    """
    if working["engine"] is not None:
        parts = working["engine"] in PARTWISE
    else:
        parts = not data.is_file() and (data.is_dir() or any(sign in str(data) for sign in "*?["))
    if not parts and data.is_file():
        _check_fits(data, working["memory"])
    return parts


def _check_fits(path: Path, memory: str | None) -> None:
    """Refuse a file that may need more memory than may be used; other ways of working would give other bytes."""
    if memory is None and path.stat().st_size < SURELY_FITS:
        return
    from shoal.scale.session import bytes_of, half_of_memory

    allowed = half_of_memory() if memory is None else bytes_of(memory)
    if (needed := _needed(path)) > allowed:
        first = "" if path.suffix.lower() in PARTED else "write it to Parquet and "
        raise FileError(
            f"'{path.name}' may need {needed >> 20:,} MB in memory, of which {allowed >> 20:,} MB may be used. Allow "
            f"more with --memory, or {first}work part by part with --engine duckdb, which gives other bytes."
        )


def _needed(path: Path) -> int:
    """Bytes that a table takes at the peak of a run in memory: by its cells, or by the size of its file."""
    import polars as pl

    if path.suffix.lower() == ".parquet":
        try:
            with path.open("rb") as file:  # of a path the signs * ? [ are a pattern
                cells = len(pl.read_parquet_schema(file)) * _records(path)
        except pl.exceptions.PolarsError:  # it is no Parquet, which its reader says
            cells = 0
        return cells * BYTES_A_CELL
    return path.stat().st_size // CHARACTERS_A_CELL * BYTES_A_CELL


def _records(path: Path) -> int:
    """Records of a Parquet file, from its footer."""
    import polars as pl

    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
