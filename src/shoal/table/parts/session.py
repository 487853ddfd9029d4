"""DuckDB as it is used here: in bounded memory, spilling to a folder of ours, and never on the network."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.vocabulary.errors import FileError, MissingDependency, ParameterError

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
SHARE = 4
"""DuckDB gets this part of the memory; the rest is for the workers and for what is gathered."""

LEAST_FOR_DUCKDB = 128 << 20

BYTES_A_BLOCK = 600 << 20
"""Of memory that a process takes to treat a block: a hundred a cell, as measured with six numeric columns."""


def duckdb_module() -> Any:
    """The package, or what to install.

    Raises
    ------
    MissingDependency
        If it is not there.
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401 - what comes out of DuckDB is Arrow
    except ImportError:
        raise MissingDependency("A table in parts", "duckdb", "scale") from None
    return duckdb


def lacks_memory(error: BaseException) -> bool:
    """True for DuckDB's own word that it has no memory left."""
    return type(error).__name__ == "OutOfMemoryException"


def too_little_memory(name: object) -> FileError:
    """The error for a table whose records are too long for the memory that DuckDB may use."""
    return FileError(
        f"'{name}' cannot be read in so little memory. Allow more (--memory; from Python memory=), or leave out "
        f"columns."
    )


@contextmanager
def enough_memory(name: object) -> Iterator[None]:
    """While a table is worked on: memory that DuckDB lacks is an error of its own.

    Raises
    ------
    FileError
        If DuckDB has no memory left.
    """
    try:
        yield
    except Exception as error:
        if lacks_memory(error):
            raise too_little_memory(name) from None
        raise


def session(memory: int, spill: Path, *, threads: int | None = None) -> Any:
    """A connection that keeps to a share of `memory` bytes, spills to a folder and loads no extension by itself.

    All that are open at once with the same settings share one database, since starting one takes as long as reading a
    hundred thousand cells. Whatever they make must therefore be temporary, which is a connection's own.

    Parameters
    ----------
    threads
        One a processor, if not given.
    """
    threads = threads or len(os.sched_getaffinity(0))
    settings = {
        "memory_limit": f"{max(memory // SHARE, LEAST_FOR_DUCKDB)}B",
        "temp_directory": str(spill),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "true",
        "threads": threads,
    }
    connection = duckdb_module().connect(f":memory:{memory} {threads} {spill}", config=settings)
    # Of cursors too; else times with a zone would have the hours of this machine's.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def workers_for(memory: int, wanted: int | None) -> int:
    """Number of processes side by side: as many as asked for, or as there are processors, if their blocks fit."""
    fit = max((memory - memory // SHARE) // BYTES_A_BLOCK, 1)
    return min(wanted or len(os.sched_getaffinity(0)), fit)


def bytes_of(size: str | int) -> int:
    """A number of bytes from 6GB, 500MB or a number.

    Raises
    ------
    ParameterError
        If it is no such size, or less than any run needs.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B)?\s*", str(size), re.IGNORECASE)
    if match is None:
        raise ParameterError(f"memory must be a size such as 6GB or 500MB; got '{size}'.")
    count = int(float(match[1]) * UNITS[(match[2] or "B").upper()])
    if count < LEAST_FOR_DUCKDB:
        raise ParameterError(f"memory must be at least 128MB; got '{size}'.")
    return count


def allowance(memory: str | int | None) -> int:
    """Bytes that may be used: as said (`bytes_of`), else half of the machine's memory."""
    return half_of_memory() if memory is None else bytes_of(memory)


def half_of_memory() -> int:
    """Half of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
