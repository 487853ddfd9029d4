"""What a reader of a file tells apart: judging part by part never takes for equal what judging in memory does not."""

import datetime as dt
import gzip
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from parts.conftest import whole_plan
from shoal import audit, protect
from shoal.table.parts import csv_quotes
from shoal.vocabulary.errors import DataError, FileError

PLAN = {
    "columns": {"a": "quasi-identifier", "b": "confidential"},
    "requirements": [{"privacy": "k-anonymity", "k": 2}],
    "output": {"format": "csv"},
}
MARKS = "'a' with quotation marks and others without"


def smallest_class(path) -> float | None:
    return audit(path, PLAN, workers=1).verdicts[0].achieved


@pytest.mark.parametrize(
    "text",
    ['a,b\n"",1\n,2\nx,3\nx,4\n', 'a,b\n"x",1\nx,2\n', 'a,b\n"34",1\n34,2\n', 'a,b\n5,1\n"NA",2\nNA,3\n5,4\n'],
    ids=["empty", "text", "number", "missing number"],
)
def test_cells_that_differ_in_their_marks_alone_are_left_to_memory(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert shoal.audit(path, whole_plan(PLAN)).verdicts[0].achieved == 1
    with pytest.raises(FileError, match=MARKS):
        audit(path, PLAN, workers=1)


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n"x",1\n"x",2\n',  # all of a column, as R and others write text
        'a,b\n"x,y",1\n"x,y",2\nz,3\nz,4\n',  # those that could not be read without
        'a,b\n"l\r\nm",1\n"l\r\nm",2\n"say ""x""",3\n"say ""x""",4\n',
        '"a","b"\n"x",1\n"x",2\nNA,3\nNA,4\n',
        'a,b\r\n"x",1\r\n"x",2\r\n',
    ],
)
def test_marks_that_follow_from_the_cells_tell_nothing(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    assert smallest_class(path) == shoal.audit(path, whole_plan(PLAN)).verdicts[0].achieved == 2


def test_marks_are_looked_for_in_all_pieces_of_all_files(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_quotes, "PIECE", 16)
    (tmp_path / "in").mkdir()
    lines = [f'"x,\n{i % 2}",{i}\n' for i in range(40)]
    (tmp_path / "in" / "1.csv").write_text("a,b\n" + "".join(lines))
    assert smallest_class(tmp_path / "in") == 20
    (tmp_path / "in" / "2.csv").write_text('a,b\n"y",1\ny,2')
    with pytest.raises(FileError, match=MARKS):
        audit(tmp_path / "in", PLAN, workers=1)
    (tmp_path / "in" / "2.csv").write_text("a,b\ny,1\ny,2\n")
    assert smallest_class(tmp_path / "in") == 2
    (tmp_path / "in" / "3.csv").write_text('a,b\n"y",1\n"y",2\n')
    with pytest.raises(FileError, match=MARKS):
        audit(tmp_path / "in", PLAN, workers=1)


def test_a_compressed_file_is_looked_into(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write('a,b\n"x",1\nx,2\n')
    with pytest.raises(FileError, match=MARKS):
        audit(tmp_path / "t.csv.gz", PLAN, workers=1)


def test_a_mark_inside_a_bare_cell_is_left_to_memory(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\nx"y,1\nx"y,2\n')
    with pytest.raises(FileError, match="marks inside cells without them"):
        audit(tmp_path / "t.csv", PLAN, workers=1)


def test_a_released_csv_that_writes_empty_text_and_nothing_differently_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    frame = pl.DataFrame({"a": ["", None, "x", "x"] * 2, "b": range(8)})
    frame.write_parquet(tmp_path / "in" / "t.parquet")
    plan = PLAN | {"columns": {"a": {"role": "quasi-identifier", "missing": "keep"}, "b": "confidential"}}
    with pytest.raises(FileError, match=MARKS):
        protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_lines_that_begin_with_a_hash_are_records(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n#x,1\n#x,2\n#y,3\n")
    assert smallest_class(tmp_path / "t.csv") == 1


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("a,a", "Column names must differ; 'a' occurs more than once"),
        ("a,A", "'a', 'A' differ in capital letters only"),
        ("a,", r"Column 2 of file .* has no name"),
    ],
)
def test_names_that_are_not_told_apart_are_refused(tmp_path, header, says):
    (tmp_path / "t.csv").write_text(f"{header}\n1,2\n")
    with pytest.raises(DataError, match=says):
        audit(tmp_path / "t.csv", PLAN, workers=1)


@pytest.mark.parametrize("names", [["a", "a"], ["a", "A"]])
def test_names_in_parquet_as_well(tmp_path, names):
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=names), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="names"):
        audit(tmp_path / "t.parquet", PLAN, workers=1)


def test_times_that_would_be_read_less_finely_are_left_to_memory(tmp_path):
    times = pa.array([1, 2], pa.timestamp("ns"))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": times, "b": [1, 2]}), path, use_deprecated_int96_timestamps=True, store_schema=False)
    with pytest.raises(FileError, match="to the nanosecond in 'a'"):
        audit(path, PLAN, workers=1)
    pq.write_table(pa.table({"a": times, "b": [1, 2]}), path)
    for plan in (whole_plan(PLAN), PLAN):
        with pytest.raises(DataError, match="times finer than a microsecond"):
            audit(path, plan)


def test_times_of_a_table_to_protect_are_read(tmp_path):
    (tmp_path / "in").mkdir()
    table = pa.table({"a": pa.array([dt.datetime(2020, 1, 1, 1)] * 2, pa.timestamp("us")), "b": [1, 2]})
    pq.write_table(table, tmp_path / "in" / "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    plan = PLAN | {"output": {"format": "parquet"}}
    protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    out = pl.read_parquet(tmp_path / "out" / "release" / "data" / "*.parquet")
    assert out["a"].to_list() == [dt.datetime(2020, 1, 1, 1)] * 2


def test_numbers_of_too_many_digits_are_refused(tmp_path):
    digits = pa.array([Decimal("1" * 40), Decimal("1" * 39 + "2")], pa.decimal256(45, 0))
    pq.write_table(pa.table({"a": digits, "b": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(FileError, match="more than 38 digits in 'a'"):
        audit(tmp_path / "t.parquet", PLAN, workers=1)


def test_kinds_of_not_a_number_and_signs_of_zero_are_told_apart(tmp_path):
    bits = np.array([0x7FF8000000000000, 0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    pq.write_table(pa.table({"a": bits, "b": [1, 2]}), tmp_path / "t.parquet")
    assert shoal.audit(tmp_path / "t.parquet", whole_plan(PLAN)).verdicts[0].achieved == 1
    with pytest.raises(DataError, match="missing cells written in several ways"):
        audit(tmp_path / "t.parquet", PLAN, workers=1)
    pq.write_table(pa.table({"a": [-0.0, 0.0], "b": [1, 2]}), tmp_path / "t.parquet")
    assert (
        smallest_class(tmp_path / "t.parquet")
        == shoal.audit(tmp_path / "t.parquet", whole_plan(PLAN)).verdicts[0].achieved
        == 1
    )
