"""What a user gives: a table to read, and who is to work on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from shoal.errors import ParameterError
from shoal.scale.engine import Engine, Processes
from shoal.scale.session import workers_for
from shoal.scale.source import Source, SourceFile
from shoal.scale.spark import is_spark, spark_engine, written_by_spark


@dataclass(frozen=True, kw_only=True)
class TableGiven:
    """A table before it is read.

    Parameters
    ----------
    columns
        Its names.
    files
        That it lies in; none for what lies in no file.
    source
        What reads it, called with what makes a folder for a table that must be written first.
    """

    columns: tuple[str, ...]
    files: tuple[SourceFile, ...]
    source: Callable[[Callable[[], Path]], Source]


def table_given(data: Any, connection: Any, reading: Mapping[str, Any] | None, *, judged: bool = False) -> TableGiven:
    """A path or pattern of files, a DuckDB relation, or a data frame of Spark.

    Raises
    ------
    FileError
        As of `Source.of`.
    """
    if not is_spark(data):
        source = Source.of(data, connection, reading, judged=judged)
        return TableGiven(columns=source.columns, files=source.files, source=lambda _: source)

    def written(place: Callable[[], Path]) -> Source:
        folder = written_by_spark(data, place())
        return replace(Source.of(folder, connection, judged=judged), name="the data frame", files=())

    return TableGiven(columns=tuple(data.columns), files=(), source=written)


def engine_for(
    data: Any, engine: Literal["duckdb", "spark"] | None, place: Path, memory: int, workers: int | None
) -> Engine:
    """Who works on a table in a folder.

    Raises
    ------
    ParameterError
        If no such engine is known.
    """
    if engine not in (None, "duckdb", "spark"):
        raise ParameterError(f"engine must be duckdb or spark; got {engine!r}.")
    if engine == "spark" or (engine is None and is_spark(data)):
        return spark_engine(place, workers)
    return Processes(workers=workers_for(memory, workers))
