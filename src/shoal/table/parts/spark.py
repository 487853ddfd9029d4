"""The executors of a Spark cluster as those who work on the parts of a table.

Jobs go to executors as rows of a data frame, and records that are dealt out go through Spark's shuffle. The parts
themselves lie in the folder of the run, which all machines see; what comes back to the driver are figures and samples.
An executor that is lost, and what it was doing, is Spark's to replace: a job does the same again wherever it is done.
"""

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shoal.processes.side_by_side import remembered
from shoal.table.parts.engine import Dealt
from shoal.table.parts.pieces import piece_path, piece_writer, split
from shoal.vocabulary.errors import FileError, MissingDependency, ParameterError, ShoalError

Job = TypeVar("Job")
Result = TypeVar("Result")

TIMES = "spark.sql.parquet.outputTimestampType"
"""The setting of Spark by which it writes times; by default in a type of old, which not everybody reads."""


def is_spark(data: Any) -> bool:
    """True for a data frame of Spark, of a session here or of one that it is connected to."""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(data).mro())


def spark_session() -> Any:
    """The session that is there, or the one that Spark's own configuration asks for.

    Raises
    ------
    MissingDependency
        If PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingDependency("--engine spark", "pyspark", "spark") from None
    return SparkSession.builder.appName("shoal").getOrCreate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """The executors of the session that is there.

    Parameters
    ----------
    folder
        Of the run, which every executor sees by this name.
    """

    folder: Path
    name = "spark"
    far = True

    def each(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterable[Result]:
        return [result for _, result in self.as_finished(work, jobs, {})]

    def as_finished(
        self, work: Callable[[Job], Result], jobs: Sequence[Job], given: Mapping[str, Any]
    ) -> Iterator[tuple[Job, Result]]:
        if not jobs:
            return
        task = _Task(folder=self.folder, work=pickle.dumps((work, list(jobs), dict(given))))
        answers = spark_session().range(0, len(jobs), 1, len(jobs)).mapInArrow(task.done, "job long, answer binary")
        for number, result in sorted(_collected(answers), key=lambda answer: answer[0]):
            yield jobs[number], result

    def dealt(self, work: Callable[[Job], Dealt], jobs: Sequence[Job], count: int, folder: Path) -> list[Path]:
        folder.mkdir(mode=0o700, exist_ok=True)
        task = _Task(folder=self.folder, work=pickle.dumps((work, list(jobs), {})))
        pieces = spark_session().range(0, len(jobs), 1, len(jobs)).mapInArrow(task.pieces, PIECES)
        whole = pieces.repartition(count, "key").groupBy("key")
        gathering = _Gathering(run=self.folder, folder=folder)
        answers = whole.applyInArrow(lambda key, cells: gathering.written(key, cells), "job long, answer binary")
        written = sorted(number for number, _ in _collected(answers))
        return [piece_path(folder, number) for number in written]


PIECES = "key long, job long, cells binary"
FAILED = -1
"""The key of a job that failed; its piece tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """Work that is sent to executors.

    Parameters
    ----------
    work
        The function, all jobs, and what is given with them, pickled.
    """

    folder: Path
    work: bytes

    def done(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The results of the jobs with these numbers."""
        import pyarrow as pa

        work, jobs, given = pickle.loads(self.work)  # noqa: S301 - sent by the driver
        for number in _numbers(batches):
            remembered.clear()
            remembered.update(given)
            answer = pickle.dumps(_tried(self.folder, lambda: work(jobs[number])))  # noqa: B023 - is called at once
            yield pa.RecordBatch.from_pydict({"job": [number], "answer": pa.array([answer], pa.binary())})

    def pieces(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The records of jobs in pieces of one key each."""
        import pyarrow as pa

        work, jobs, _ = pickle.loads(self.work)  # noqa: S301 - sent by the driver
        for number in _numbers(batches):
            dealt = _tried(self.folder, lambda: list(split(*work(jobs[number]))))  # noqa: B023 - is called at once
            failed = isinstance(dealt, Exception)
            for key, piece in [(FAILED, pickle.dumps(dealt))] if failed else [(k, _as_bytes(t)) for k, t in dealt]:
                columns = {"key": [key], "job": [number], "cells": pa.array([piece], pa.binary())}
                yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gathering:
    """A file that is made of the pieces with one key."""

    run: Path
    folder: Path

    def written(self, key: tuple[Any, ...], pieces: Any) -> Any:
        """Write the file of a key from its pieces, in the order of the jobs that they come from."""
        import pyarrow as pa

        number = key[0].as_py()
        cells = pieces.sort_by("job")["cells"]
        if number == FAILED:
            answer = cells[0].as_py()
        else:
            answer = pickle.dumps(_tried(self.run, lambda: self._write(piece_path(self.folder, number), cells)))
        return pa.table({"job": pa.array([number], pa.int64()), "answer": pa.array([answer], pa.binary())})

    def _write(self, path: Path, cells: Iterable[Any]) -> None:
        import pyarrow as pa

        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            writer = None
            for piece in cells:
                table = pa.ipc.open_stream(piece.as_buffer()).read_all()
                writer = writer or piece_writer(temporary, table.schema)
                writer.write_table(table)
            if writer is not None:
                writer.close()
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _numbers(batches: Iterable[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _as_bytes(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _tried(folder: Path, work: Callable[[], Any]) -> Any:
    """The result of some work, or the error, ours or the system's, with which it ended."""
    try:
        if not folder.is_dir():
            raise FileError(
                f"The folder of the run, '{folder}', is not there on a machine of the cluster. Name an output "
                f"(for an audit TMPDIR) in a folder that all machines share."
            )
        return work()
    except MissingDependency as error:
        return FileError(f"On a machine of the cluster: {error}")
    except (ShoalError, OSError) as error:
        return error


def _collected(answers: Any) -> Iterator[tuple[int, Any]]:
    """The answers of executors; an error is raised here."""
    with _spark_errors():
        rows = answers.collect()
    for number, answer in rows:
        result = pickle.loads(answer)  # noqa: S301 - of executors that carry out what we send
        if isinstance(result, Exception):
            raise result
        yield number, result


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Errors of Spark in one sentence of ours, without what may stand in its own."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise FileError(
            f"Spark could not do the work ({type(error).__name__}). Its own log says why; shoal must be installed on "
            f"every machine of the cluster, in the same version."
        ) from None


def written_by_spark(data: Any, folder: Path) -> Path:
    """The records of a data frame of Spark as Parquet files in a folder, in the order of its partitions.

    Raises
    ------
    FileError
        If Spark cannot write them.
    """
    session = data.sparkSession
    before = session.conf.get(TIMES)
    session.conf.set(TIMES, "TIMESTAMP_MICROS")
    try:
        with _spark_errors():
            data.write.mode("overwrite").parquet(folder.absolute().as_uri())
    finally:
        session.conf.set(TIMES, before)
    if not any(folder.glob("*.parquet")):
        raise FileError(
            f"What Spark wrote to '{folder}' cannot be seen here. Name an output in a folder that all machines share."
        )
    return folder


def spark_engine(folder: Path, workers: int | None) -> Spark:
    """The executors of the session that is there, for a run in a folder.

    Raises
    ------
    MissingDependency
        If PySpark is not installed.
    ParameterError
        If a number of processes is given.
    """
    if workers is not None:
        raise ParameterError("workers counts processes of this machine; those of Spark are set in its configuration.")
    spark_session()
    return Spark(folder=folder)
