"""A table as it was given: its size, its form in memory, its source in parts, and the engine that works on it."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw

from shoal.plan import Plan
from shoal.run.parts.admission import EXACT_CELLS, is_for_parts, whole_needed_to_judge
from shoal.table.files.checksums import sha256_of, unchanging
from shoal.table.files.csv_text import DELIMITERS
from shoal.table.files.database import Database
from shoal.table.files.folders import KINDS, files_of, kind_of
from shoal.table.files.json_text import Record
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.table.microdata import Microdata, eager
from shoal.table.parts import source as sources
from shoal.table.parts.csv_columns import csv_size
from shoal.table.parts.engine import Engine, Processes
from shoal.table.parts.session import half_of_memory, session, workers_for
from shoal.table.parts.source import Source, SourceFile
from shoal.table.parts.spark import is_spark, spark_engine, written_by_spark
from shoal.vocabulary.errors import FileError, ParameterError

BYTES_A_CELL = 205
"""Peak memory of a run on a whole table, per cell: 3.7 GB for a million records of 18 columns, as measured."""

FITS_ANYWHERE = 1 << 20
"""Cells of a table that is taken to fit into any memory."""

MAY_PART = tuple(mark.encode() for mark in (*DELIMITERS, "\n", "\r"))
"""Bytes that may end a cell of a text file."""

EngineName = Literal["processes", "spark"]
"""Engine that works on the parts of a table: processes of this machine, or executors of a Spark cluster."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """A table that is read only once it is known whether to hold it whole.

    Parameters
    ----------
    data
        A path or pattern of files, a `Database`, a table in memory, a DuckDB relation or a data frame of Spark.
    reading
        Options for reading a file: `delimiter`, `encoding`, `decimal`, `sheet`.
    judged
        True for a released table that is to be judged.
    """

    data: Any
    reading: Mapping[str, Any] = field(default_factory=dict)
    judged: bool = False

    @classmethod
    def of(cls, data: Any, reading: Mapping[str, Any] | None = None, *, judged: bool = False) -> "Given":
        """A given table; one that is `Given` already is returned as it is."""
        stated = {name: value for name, value in (reading or {}).items() if value is not None}
        return data if isinstance(data, Given) else cls(data=data, reading=stated, judged=judged)

    @property
    def _in_files(self) -> bool:
        return isinstance(self.data, (str, Path))

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        if self._in_files:
            return Path(self.data).name
        return self.data.name if isinstance(self.data, Database) else "the table"

    @property
    def whole(self) -> Any:
        """The table in memory, with what its file tells beside the cells; a relation as it is."""
        return self._in_memory[0]

    @property
    def table(self) -> Table:
        """The table in memory as polars cells, with what its file tells beside them."""
        if isinstance(self.whole, Table):
            return self.whole
        frame = self.whole.frame if isinstance(self.whole, Microdata) else eager(self.whole)[0]
        return Table(frame=frame.to_polars())

    @cached_property
    def _in_memory(self) -> tuple[Any, str]:
        """The table in memory, and the SHA-256 of the file that it was read from."""
        if isinstance(self.data, Database):
            return self.data.read(), ""
        if is_spark(self.data):
            return self.data.toArrow(), ""
        if not self._in_files:
            return self.data, ""
        path = Path(self.data)
        return unchanging(path, lambda: read_table(path, **self.reading, judged=self.judged))

    @property
    def origin(self) -> Record:
        """The origin of a whole table, for the record of a release."""
        if isinstance(self.data, Database):
            noted: Record = {"file": self.data.name, "query": self.data.query}
        elif not self._in_files:
            return {}
        elif Path(self.data).is_file():
            noted = {"file": Path(self.data).name, "sha256": self._in_memory[1]}
        else:
            noted = {"file": str(self.data), "sha256": {str(file): sha256_of(file) for file in files_of(self.data)}}
        return {**noted, "read as": self.whole.described, "notes": list(self.whole.notes.values())}

    @property
    def cells(self) -> int:
        """Records times columns."""
        records, columns = self.size
        return records * columns

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """The files that the table lies in, as they are now."""
        if not self._in_files:
            return ()
        return tuple(SourceFile.of(path) for path in self._files_in_parts() or [Path(self.data)])

    @cached_property
    def size(self) -> tuple[int, int]:
        """Numbers of records and columns; for text files of at most `EXACT_CELLS` cells, a bound on the cells and 1."""
        if is_spark(self.data):
            return int(self.data.count()), len(self.data.columns)
        if self._in_files and (files := self._files_in_parts()):
            return self._size_of(files)
        frame = self.whole.frame if isinstance(self.whole, (Microdata, Table)) else self.whole
        frame = nw.from_native(frame, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            return int(frame.select(nw.len()).collect().item()), len(frame.collect_schema())
        return frame.shape if isinstance(frame, nw.DataFrame) else (0, 0)  # its reader says what it is

    def _files_in_parts(self) -> list[Path]:
        """The files, if they can be read in parts."""
        path = Path(self.data)
        if path.is_file():
            return [path] if kind_of(path) in KINDS else []
        return files_of(self.data)

    def _size_of(self, files: Sequence[Path]) -> tuple[int, int]:
        kind = kind_of(files[0])
        in_folders = 0 if Path(self.data).is_file() else sum("=" in part for part in files[0].parent.parts)
        if kind == "parquet":
            records, columns = _size_of_parquet(files)
            return records, columns + in_folders
        if kind != "csv.gz" and not in_folders and (cells := _most_cells(files)) <= EXACT_CELLS:
            return cells, 1
        with tempfile.TemporaryDirectory(prefix="shoal-") as spill:
            connection = session(half_of_memory(), Path(spill))
            return csv_size(connection, files, self.reading, hive=in_folders > 0)

    def source(self, connection: Any, place: Callable[[], Path]) -> Source:
        """The source that reads the table in parts.

        Parameters
        ----------
        connection
            A DuckDB session.
        place
            Makes a folder for a table that lies in no file, and is written first.
        """
        if is_spark(self.data):
            folder, types_from_cells = written_by_spark(self.data, place()), False
        elif self._in_files and self._files_in_parts():
            return Source.of(self.data, connection, self.reading, judged=self.judged)
        elif type(self.data).__name__ == "DuckDBPyRelation":
            return Source.of(self.data, connection)
        else:
            folder, types_from_cells = _written(self.whole, place())
        source = Source.of(folder, connection, judged=self.judged)
        return replace(source, name="the table", files=(), types_from_cells=types_from_cells)

    def in_parts(self, plan: Plan) -> bool:
        """True if the table is worked on in parts (see `is_for_parts`); a released one only if all can be judged so."""
        if self.judged and whole_needed_to_judge(plan):
            return False
        return is_for_parts(plan, lambda: self.cells)

    def in_memory(self, memory: int, needed: Sequence[str]) -> Any:
        """The table in memory; refused if it may need more memory than is allowed.

        Parameters
        ----------
        memory
            Allowed memory, in bytes.
        needed
            Reasons, in sentences, why the plan needs the whole table; empty where it could be carried out in parts.

        Raises
        ------
        FileError
            If it may need more memory; the message names the ways out.
        """
        way = " ".join(needed) or (
            "Or give the plan a block_size, as in block_size: 100000: then it works in parts, and forms groups in "
            "blocks of near records."
        )
        check_fits(f"'{self.name}' may need {{}} held whole", self.cells, memory, way)
        return self.whole


def check_fits(need: str, cells: int, memory: int, way: str) -> None:
    """Refuse what may need more memory than may be used.

    Parameters
    ----------
    need
        The sentence that says what needs how much, with `{}` for how much.
    cells
        That are held at once.
    way
        What to do instead.
    """
    if cells > FITS_ANYWHERE and cells * BYTES_A_CELL > memory:
        raise FileError(
            f"{need.format(f'{cells * BYTES_A_CELL >> 20:,} MB')}, of which {memory >> 20:,} MB may be used. Allow "
            f"more with --memory. {way}"
        )


def _most_cells(files: Sequence[Path]) -> int:
    """An upper bound on the cells of text files: bytes that may end a cell are counted, even inside quotation marks."""
    cells = 0
    for path in files:
        with path.open("rb") as file:
            while cells <= EXACT_CELLS and (text := file.read(1 << 24)):
                cells += sum(map(text.count, MAY_PART))
    return cells


def _size_of_parquet(files: Sequence[Path]) -> tuple[int, int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footers = [pq.read_metadata(file) for file in files]
    except (pa.ArrowException, OSError):
        return 0, 0  # its reader says what is wrong with a file
    return sum(footer.num_rows for footer in footers), max(footer.num_columns for footer in footers)


def _written(table: Any, folder: Path) -> tuple[Path, bool]:
    """A folder with a table in memory as Parquet files, and True if its types were inferred from its cells."""
    frame = table.frame if isinstance(table, (Microdata, Table)) else table
    cells = nw.from_native(frame).lazy().collect("polars").to_native()
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, max(len(cells), 1), sources.CHUNK)):
        cells[start : start + sources.CHUNK].write_parquet(folder / f"part-{number:05d}.parquet")
    return folder, isinstance(table, Table) and table.types_from_cells


def engine_for(data: Any, engine: EngineName | None, place: Path, memory: int, workers: int | None) -> Engine:
    """The engine for the parts of a table in a folder; by default the executors of a data frame's own cluster.

    Raises ParameterError if no such engine is known.
    """
    if engine not in (None, "processes", "spark"):
        raise ParameterError(f"engine must be processes or spark; got {engine!r}.")
    if engine == "spark" or (engine is None and is_spark(data)):
        return spark_engine(place, workers)
    return Processes(workers=workers_for(memory, workers))
