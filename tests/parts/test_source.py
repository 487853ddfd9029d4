"""What large tables are read from, and one clear sentence for each thing that can be wrong with it."""

from contextlib import nullcontext
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

import shoal
from shoal import protect
from shoal.table.files.tables import read_table
from shoal.table.parts import csv_columns
from shoal.table.parts.session import session
from shoal.table.parts.source import Source
from shoal.vocabulary.errors import DataError, FileError, SchemaError

PLAN = {"columns": {"a": "quasi-identifier", "b": "confidential"}, "output": {"format": "parquet"}}


@pytest.fixture
def connection(tmp_path):
    with session(1 << 30, tmp_path / "spill") as opened:
        yield opened


def read(data, connection, **reading) -> pl.DataFrame:
    return pl.concat(Source.of(data, connection, reading).chunks())


def two_parts(place: Path) -> Path:
    place.mkdir()
    pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}).write_parquet(place / "one.parquet")
    pl.DataFrame({"a": [3], "b": [2.5]}).write_parquet(place / "two.parquet")
    return place


def test_a_file_a_folder_a_pattern_and_a_relation_are_one_table(connection, tmp_path):
    place = two_parts(tmp_path / "in")
    expected = pl.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    assert read(place, connection).equals(expected)
    assert read(str(place / "*.parquet"), connection).equals(expected)
    assert read(place / "one.parquet", connection).equals(expected[:2])
    assert read(connection.from_arrow(expected.to_arrow()), connection).equals(expected)


def test_names_of_folders_are_columns(connection, tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"in/year={year}").mkdir(parents=True)
        pl.DataFrame({"a": [year % 10]}).write_parquet(tmp_path / f"in/year={year}/part.parquet")
    assert read(tmp_path / "in", connection).rows() == [(3, 2023), (4, 2024)]


def test_folders_have_the_type_that_all_their_names_have(connection, tmp_path):
    for code in ("01", "AB"):
        (tmp_path / f"in/code={code}").mkdir(parents=True)
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / f"in/code={code}/part.parquet")
    assert read(tmp_path / "in", connection).rows() == [(1, "01"), (1, "AB")]


def test_csv_columns_have_the_types_that_small_files_get(connection, tmp_path):
    text = (
        "whole,real,code,date,text,gaps,signs,far,long,longer\n"
        "1,1.5,007,2024-01-02,a,NA,+1,-inf,9223372036854775807,9223372036854775808\n"
        "-2,2e3,010,2023-12-31,b,3,2,1e9,-12,1\n"
    )
    (tmp_path / "t.csv").write_text(text)
    large, small = read(tmp_path / "t.csv", connection), shoal.read(tmp_path / "t.csv")
    assert large.equals(small)
    assert large.schema == small.schema


HARD = [
    ["1", "-5", "+5", "1.5", ".5", "1e5", "1e400", "inf", "Infinity", "9223372036854775808", "1234567890123456789"],
    ["1", " 2", "3 ", "NA", "NA ", "  NA ", "nan", ".", "", " ", "007", "00", "+01", "1.5"],
    ["1", "\u0661", "\uff12", "\u00b2", "\u00a01", "\u22121", "1_000", "0x10"],
    ["2024-01-31", "2024-02-30", "2024-01-31 ", "NA", "2024-01-31 12:30:00"],
    ["2024-01-31 12:30:00", "2024-01-31 12:30:00.000", "2024-01-31 12:30:00.120", "2024-01-31 12:30:00.123456"],
]
"""Cells that one reader could take for something else than the other does."""


@pytest.mark.parametrize("at_once", [2, 2_000_000])
def test_hard_columns_of_csv_are_read_alike_whole_and_in_parts(connection, tmp_path, monkeypatch, at_once):
    """All pairs of hard cells, and some longer columns; the forms of cells are seen in one batch, or in many."""
    monkeypatch.setattr(csv_columns, "CELLS_AT_ONCE", at_once)
    pairs = [[*pair, first] for cells in HARD for first in cells for pair in product(cells, repeat=2)]
    chosen = np.random.default_rng(4).permutation(len(pairs))[:90]
    lines = zip(*(pairs[number] for number in chosen))
    rows = ["id," + ",".join(f"c{number}" for number in chosen), *("x," + ",".join(line) for line in lines)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    large, small = read(tmp_path / "t.csv", connection), read_table(tmp_path / "t.csv").frame
    assert large.schema == small.schema
    assert large.equals(small)


def test_csv_parts_are_read_with_the_delimiter_of_their_header(connection, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.csv").write_text("a;b\n1;x\n")
    (tmp_path / "in/2.csv").write_text("a;b\n2;'y'\n")
    assert read(tmp_path / "in", connection).rows() == [(1, "x"), (2, "'y'")]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda p: p.mkdir(), FileError, "holds no file"),
        (lambda p: None, FileError, "There is no file"),
        (lambda p: (p.mkdir(), (p / "a.txt").write_text("x")), FileError, "of the kinds 'txt'"),
        (
            lambda p: (two_parts(p), (p / "two.parquet").write_bytes(b"PAR1 cut off")),
            FileError,
            "two.parquet' is no readable parquet file",
        ),
        (
            lambda p: (two_parts(p), pl.DataFrame({"a": [1], "c": [2.0]}).write_parquet(p / "two.parquet")),
            FileError,
            "'b' is lacking in 'two.parquet'; 'c' is lacking in 'one.parquet'. Say absent: missing",
        ),
        (
            lambda p: (two_parts(p), pl.DataFrame({"a": ["1"], "b": [2.0]}).write_parquet(p / "two.parquet")),
            FileError,
            "'a' has the types 'int64', 'large_string'. Give all files one type of each column",
        ),
        (
            lambda p: (two_parts(p), pl.DataFrame({"a": [1], "b": [float("nan")]}).write_parquet(p / "two.parquet")),
            DataError,
            "Column 'b' has 1 missing value; a column with the role confidential must be complete",
        ),
        (
            lambda p: (p.mkdir(), pl.DataFrame({"a": [1], "z": [2.0]}).write_parquet(p / "t.parquet")),
            SchemaError,
            "'z'",
        ),
        (
            lambda p: (p.mkdir(), pl.DataFrame(schema={"a": pl.Int64, "b": pl.Float64}).write_parquet(p / "t.parquet")),
            DataError,
            "The table has no records",
        ),
        (
            lambda p: (p.mkdir(), (p / "1.csv").write_text("a,b\n1,2\n"), (p / "2.csv").write_text("a,c\n1,2\n")),
            FileError,
            "'b' is lacking in '2.csv'; 'c' is lacking in '1.csv'. Give all CSV files the same columns",
        ),
        (lambda p: (p.mkdir(), (p / "1.csv").write_text("a,b\n1,2,3\n1,2\n")), FileError, "cannot be read as CSV"),
        (lambda p: (p.mkdir(), (p / "1.csv").write_text("1,2\n3,4\n")), FileError, "numbers where names of columns"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_one_sentence(tmp_path, make, error, says):
    make(tmp_path / "in")
    with pytest.raises(error, match=says) as raised:
        protect(tmp_path / "in", PLAN, tmp_path / "out", unproved=True, workers=1)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_part_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def read_schema(path: Path) -> object:
        if path.name == "two.parquet":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    plain = pyarrow.parquet.read_schema
    monkeypatch.setattr("pyarrow.parquet.read_schema", read_schema)
    with pytest.raises(FileError, match=r"two\.parquet' is no readable parquet file \(PermissionError\)"):
        protect(two_parts(tmp_path / "in"), PLAN, tmp_path / "out", unproved=True, workers=1)


def test_a_part_that_changes_during_the_run_is_noticed(tmp_path, monkeypatch):
    place = two_parts(tmp_path / "in")

    def stage(text: str, fraction: float) -> None:
        if text == "reading":
            pl.DataFrame({"a": [9], "b": [9.5]}).write_parquet(place / "two.parquet")

    with pytest.raises(FileError, match="was changed while it was read"):
        protect(place, PLAN, tmp_path / "out", unproved=True, workers=1, stage=stage)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.run.parts.finishing.write_part", full)
    with pytest.raises(FileError, match=r"No space left on device\). Make room"):
        protect(two_parts(tmp_path / "in"), PLAN, tmp_path / "out", unproved=True, workers=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("small_blocks")
def test_equal_records_are_one_block_and_one_group_can_hold_them(tmp_path):
    (tmp_path / "in").mkdir()
    pl.DataFrame({"a": [1.0] * 2000, "b": [2.0] * 2000}).write_parquet(tmp_path / "in" / "t.parquet")
    plan = PLAN | {
        "steps": [{"partition": "mdav", "k": 5, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    made = protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    assert made.evidence.verdicts[0].achieved == 2000


@pytest.mark.usefixtures("small_blocks")
def test_a_block_without_a_number_is_counted_or_dropped(tmp_path):
    (tmp_path / "in").mkdir()
    numbers = pl.DataFrame({"a": [float(i % 90) for i in range(1400)], "b": [1.0] * 1400})
    numbers.write_parquet(tmp_path / "in" / "1.parquet")
    strange = numbers[:700].with_columns(a=pl.lit(float("nan")))  # a whole chunk
    strange.write_parquet(tmp_path / "in" / "2.parquet")
    plan = PLAN | {
        "steps": [{"partition": "mdav", "k": 5, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    with pytest.raises(DataError, match="Column 'a' has 700 missing values"):
        protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    plan["columns"] = {"a": {"role": "quasi-identifier", "missing": "drop"}, "b": "confidential"}
    made = protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    assert made.account.missing["records dropped"] == 700
    assert made.records == 1400


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("stage", ["table.parts.intake", "run.parts.part_work", "run.parts.finishing"])
def test_a_disk_that_is_full_at_any_stage_leaves_what_can_go_on(tmp_path, monkeypatch, stage):
    (tmp_path / "in").mkdir()
    pl.DataFrame({"a": [float(i % 90) for i in range(1600)], "b": [1.0] * 1600}).write_parquet(
        tmp_path / "in/1.parquet"
    )
    plan = PLAN | {
        "steps": [{"partition": "mdav", "k": 5, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }

    def full(frame: pl.DataFrame, path: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"shoal.{stage}.write_part", full)
        with pytest.raises(FileError, match=r"No space left on device\). Make room, and start again") as raised:
            protect(tmp_path / "in", plan, tmp_path / "out", workers=1, seed=7)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()
    made = protect(tmp_path / "in", plan, tmp_path / "out", workers=1)
    assert made.account.seed == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_signs_of_patterns_in_names_of_files_are_signs(tmp_path, ending):
    """To DuckDB and polars `people[1]` is a pattern that `people1` fits, and the table of others would be released."""
    place = tmp_path / "in[1]"
    for folder, cell in (("in1", "wrong"), ("in[1]", "right")):
        (tmp_path / folder).mkdir()
        for name in ("people1", "people[1]"):
            frame = pl.DataFrame({"q": [cell if "[" in name else "wrong"] * 4})
            getattr(frame, f"write_{ending}")(tmp_path / folder / f"{name}.{ending}")
    plan = {
        "columns": {"q": "quasi-identifier"},
        "requirements": [{"privacy": "k-anonymity", "k": 4}],
        "output": {"format": ending},
    }
    out = tmp_path / "out[1]*"
    made = protect(place / f"people[1].{ending}", plan, out, seed=1, workers=1)
    assert made.records == 4
    written = out / "release" / ("data.csv" if ending == "csv" else "data/part-00001.parquet")
    assert read_table(written).frame["q"].to_list() == ["right"] * 4


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        ({"encoding": "latin-1"}, "those of a folder are, must be in utf-8; got the encoding 'latin-1'. Convert them"),
        ({"decimal": ","}, "those of a folder are, must have the decimal mark '.'. Convert them"),
        ({}, r"a.csv' cannot be read as text in utf-8 \(UnicodeDecodeError\). Convert it first"),
    ],
)
def test_what_a_folder_of_csv_files_must_be_is_told(tmp_path, reading, says):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("town;size\nKöln;1,5\n", encoding="latin-1")
    with pytest.raises(FileError, match=says):
        shoal.read(tmp_path, **reading)


def test_too_little_memory_is_named_as_such(connection, tmp_path):
    frame = pl.DataFrame({f"c{i}": range(20_000) for i in range(40)})
    frame.write_csv(tmp_path / "wide.csv")
    connection.execute("SET memory_limit = '2MB'")
    with pytest.raises(FileError, match=r"wide\.csv' cannot be read in so little memory\. Allow more"):
        read(tmp_path / "wide.csv", connection)


@pytest.mark.parametrize("short_of", ["count(DISTINCT", "TRY_CAST"])
def test_too_little_memory_for_a_judged_file_is_named_as_such(connection, tmp_path, monkeypatch, short_of):
    """Cells are counted only of files that are judged, as a release is when it is read back."""
    import duckdb

    def aggregate(cells, text, plain=duckdb.DuckDBPyRelation.aggregate):
        if short_of in text:
            raise duckdb.OutOfMemoryException("no memory")
        return plain(cells, text)

    monkeypatch.setattr(duckdb.DuckDBPyRelation, "aggregate", aggregate)
    pl.DataFrame({"a": ["1.50", "2"], "b": ["2020-01-01", "2020-01-02"]}).write_csv(tmp_path / "in.csv")
    with pytest.raises(FileError, match=r"in\.csv' cannot be read in so little memory\. Allow more"):
        Source.of(tmp_path / "in.csv", connection, judged=True)


def test_where_memory_lacks_fewer_columns_are_counted_at_once(connection, tmp_path, monkeypatch):
    import duckdb

    counted = []

    def aggregate(cells, text, plain=duckdb.DuckDBPyRelation.aggregate):
        counted.append(text.count("count(DISTINCT") // 2)
        if counted[-1] > 2:
            raise duckdb.OutOfMemoryException("no memory")
        return plain(cells, text)

    monkeypatch.setattr(duckdb.DuckDBPyRelation, "aggregate", aggregate)
    frame = pl.DataFrame({f"c{i}": ["1.50", "2"] for i in range(7)})  # as DuckDB would not write it
    frame.write_csv(tmp_path / "in.csv")
    assert Source.of(tmp_path / "in.csv", connection, judged=True).columns == tuple(frame.columns)
    assert [n for n in counted if n] == [7, 3, *[1] * 7]
    frame.with_columns(c6=pl.Series(["1", "1.0"])).write_csv(tmp_path / "in.csv")
    with pytest.raises(FileError, match="one value of 'c6' in several ways"):
        Source.of(tmp_path / "in.csv", connection, judged=True)


@pytest.mark.parametrize(
    ("cells", "several"),
    [
        (["34", "35"], False),
        (["34", "34.0"], True),
        (["1.5", "2.25"], False),
        (["1.50", "2.25"], False),
        (["1.5", "1.50"], True),
        (["1", " 1"], True),
        (["1", "NA"], False),
        (["1", "NA", "."], True),
        (["1e3", "1000"], True),
        (["007", "07"], False),
        (["0.0", "-0.0", "1.5"], True),
    ],
)
def test_a_value_that_is_written_in_two_ways_is_seen(connection, tmp_path, cells, several):
    """Whether a cell is as DuckDB writes its value decides only about who is looked at closely."""
    pl.DataFrame({"a": cells, "b": cells}).write_csv(tmp_path / "in.csv")
    with pytest.raises(FileError, match="one value of 'a', 'b' in several ways") if several else nullcontext():
        Source.of(tmp_path / "in.csv", connection, judged=True)


def test_types_of_hundreds_of_columns_are_told_in_little_memory(tmp_path):
    """Each of them was once a join of its own, for which DuckDB took gigabytes beyond its limit."""
    pl.DataFrame({f"c{i}": ["1", "NA", "2.5"] for i in range(300)}).write_csv(tmp_path / "wide.csv")
    with session(128 << 20, tmp_path / "spill") as connection:
        source = Source.of(tmp_path / "wide.csv", connection)
        assert source.records == 3
        assert "HASH_JOIN" not in source.query.explain().upper().replace(" ", "_")
        assert pl.concat(source.chunks()).dtypes == [pl.Float64] * 300
