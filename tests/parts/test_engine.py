"""Who works on parts changes nothing; what executors are sent does what is done here, tried without a cluster."""

import pickle
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shoal.desk.given
from parts.conftest import invented, released
from shoal import audit, protect
from shoal.table.parts.engine import Processes
from shoal.table.parts.pieces import gathered, scatter
from shoal.table.parts.session import session
from shoal.table.parts.source import Source
from shoal.table.parts.spark import FAILED, _collected, _Gathering, _Task, is_spark
from shoal.vocabulary.errors import DataError, FileError, MissingDependency, ParameterError

SEED = 1 << 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere(Processes):
    """Works as on other machines: each chunk is read by itself, and everything goes through a pickle."""

    far = True

    def each(self, work, jobs):
        return [pickle.loads(pickle.dumps(work))(pickle.loads(pickle.dumps(job))) for job in jobs]

    def dealt(self, work, jobs, count, folder):
        return scatter(self.each(work, jobs), count, folder)


def test_work_done_elsewhere_gives_the_same_bytes(small_blocks, folder_of, plan, tmp_path, monkeypatch):
    frame = invented(2_000).with_columns(home=pl.Series(np.random.default_rng(2).integers(0, 900, 2_000)))
    plan["columns"] = plan["columns"] | {"home": "household"}
    plan["steps"].insert(0, {"mask": "noise", "variance": 0.1, "columns": ["note"]})
    place = folder_of(frame)
    here = protect(place, plan, tmp_path / "here", seed=SEED, workers=1)
    monkeypatch.setattr("shoal.desk.given.Processes", Elsewhere)
    there = protect(place, plan, tmp_path / "there", seed=SEED, workers=1)
    assert released(tmp_path / "there").equals(released(tmp_path / "here"))
    assert there.evidence.as_mapping() == here.evidence.as_mapping()
    judged = audit(tmp_path / "there" / "release" / "data", plan, workers=1)
    assert [v.achieved for v in judged.verdicts] == [v.achieved for v in here.evidence.verdicts]


def counted(chunk: pl.DataFrame, number: int) -> tuple[int, pl.DataFrame]:
    return number, chunk


@pytest.mark.parametrize("name", ["a", "file_row_number"])
def test_chunks_read_by_their_rows_are_those_read_in_turn(name, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 7)
    for year, low, high in ((2023, 0, 5), (2024, 5, 24), (2025, 24, 30)):
        (tmp_path / f"year={year}").mkdir()
        part = pl.DataFrame({name: range(low, high), "t": [f"é{i}" for i in range(low, high)]})
        part.write_parquet(tmp_path / f"year={year}" / "x.parquet", row_group_size=4)
    with session(1 << 30, tmp_path / "spill") as connection:
        source = Source.of(tmp_path, connection)
        here = list(source.each(counted, Processes()))
        there = list(source.each(counted, Elsewhere()))
    assert [len(chunk) for _, chunk in here] == [7, 7, 7, 7, 2]
    assert [number for number, _ in there] == [0, 1, 2, 3, 4]
    assert pl.concat(chunk for _, chunk in there).equals(pl.concat(chunk for _, chunk in here))
    assert bool(source.ranges) == (name == "a")


def test_a_chunk_of_a_file_that_is_gone_is_an_error_that_names_it(tmp_path):
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    with session(1 << 30, tmp_path / "spill") as connection:
        source = Source.of(tmp_path / "x.parquet", connection)
        (tmp_path / "x.parquet").unlink()
        with pytest.raises(FileError, match=r"x\.parquet' cannot be read to its end .* every machine"):
            list(source.each(counted, Elsewhere()))


def by_remainder(job: int, count: int) -> tuple[pl.DataFrame, np.ndarray]:
    frame = pl.DataFrame({"job": [job] * 6, "a": np.arange(6), "t": ["é", None, "b", "", "c", "d"]})
    return frame, (np.arange(6) + job) % count


def test_pieces_that_went_through_a_shuffle_are_the_files_of_one_machine(tmp_path):
    work = partial(by_remainder, count=4)
    here = scatter(map(work, range(3)), 5, tmp_path / "here")
    task = _Task(folder=tmp_path, work=pickle.dumps((work, [0, 1, 2], {})))
    numbers = [pa.RecordBatch.from_pydict({"id": [n]}) for n in (2, 0, 1)]
    pieces = pa.Table.from_batches(task.pieces(iter(numbers)))
    (tmp_path / "there").mkdir()
    gathering = _Gathering(run=tmp_path, folder=tmp_path / "there")
    for key in range(4):
        gathering.written((pa.scalar(key),), pieces.filter(pa.compute.equal(pieces["key"], key)))
    there = sorted((tmp_path / "there").iterdir())
    assert [path.name for path in there] == [path.name for path in here] == [f"{n:06d}.arrow" for n in range(4)]
    assert all(gathered(one).equals(gathered(other)) for one, other in zip(here, there))


class Answers:
    """What executors answer, as a data frame that can be collected."""

    def __init__(self, batches) -> None:
        self.table = pa.Table.from_batches(list(batches)) if not isinstance(batches, pa.Table) else batches

    def collect(self):
        return list(zip(*(column.to_pylist() for column in self.table.columns)))


def failing(job: int) -> int:
    if job == 1:
        raise DataError("Column 'a' is strange.")
    if job == 2:
        raise MissingDependency("A table in parts", "duckdb", "scale")
    return job


def dealt_badly(job: int) -> tuple[pl.DataFrame, np.ndarray]:
    raise DataError(f"Column 'a' is strange in {job}.")


@pytest.mark.parametrize(("job", "said"), [(1, "Column 'a' is strange"), (2, "On a machine of the cluster: .*duckdb")])
def test_an_error_of_ours_on_another_machine_is_raised_here(job, said, tmp_path):
    task = _Task(folder=tmp_path, work=pickle.dumps((failing, [0, 1, 2], {})))
    numbers = [pa.RecordBatch.from_pydict({"id": [0, job]})]
    with pytest.raises((DataError, FileError), match=said):
        list(_collected(Answers(task.done(numbers))))


def test_an_error_while_records_are_dealt_out_is_raised_here(tmp_path):
    task = _Task(folder=tmp_path, work=pickle.dumps((dealt_badly, [0], {})))
    pieces = pa.Table.from_batches(task.pieces([pa.RecordBatch.from_pydict({"id": [0]})]))
    assert pieces["key"].to_pylist() == [FAILED]
    answer = _Gathering(run=tmp_path, folder=tmp_path).written((pa.scalar(FAILED),), pieces)
    with pytest.raises(DataError, match="strange in 0"):
        list(_collected(Answers(answer)))


def test_a_machine_that_does_not_see_the_folder_of_the_run_says_so(tmp_path):
    task = _Task(folder=tmp_path / "elsewhere", work=pickle.dumps((failing, [0], {})))
    with pytest.raises(FileError, match="is not there on a machine of the cluster"):
        list(_collected(Answers(task.done([pa.RecordBatch.from_pydict({"id": [0]})]))))


def test_engines_are_known_by_name(tmp_path: Path):
    with pytest.raises(ParameterError, match="engine must be processes or spark; got 'dask'"):
        shoal.desk.given.engine_for("x.parquet", "dask", tmp_path, 1 << 30, None)
    assert not is_spark(pl.DataFrame())
    assert not is_spark("x.parquet")
