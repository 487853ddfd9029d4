"""Options for working on large tables; they change no byte of the result."""

from functools import wraps
from typing import Any

import click

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(("processes", "spark")),
        help="Engine for a table that is not held whole: processes of this machine, or a Spark cluster.",
    ),
    click.option("--memory", help="Memory that may be used, as in 6GB; half of the machine's by default."),
    click.option("--workers", type=click.IntRange(1), help="Processes that work on parts; one a processor by default."),
)


def engine_options(command: Any) -> Any:
    """Give a command the options for working on large tables, as one mapping."""

    @wraps(command)
    def with_engine(*args: Any, engine: str | None, memory: str | None, workers: int | None, **others: Any) -> Any:
        return command(*args, working={"engine": engine, "memory": memory, "workers": workers}, **others)

    for option in reversed(OPTIONS):
        with_engine = option(with_engine)
    return with_engine
