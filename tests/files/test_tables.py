"""Files: what is read is what was written, and codes stay codes."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, FileError
from shoal.files.atomic import atomic_directory, atomic_file
from shoal.files.tables import Table, lost_columns, read, read_table, write_table


def put(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_types_are_found_and_codes_kept(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "a,b,c,d,e\n1,007,2025-01-31,1.10,x\n2,010,2025-02-01,2e3,\n"))
    assert frame.dtypes == [pl.Int64, pl.String, pl.Date, pl.Float64, pl.String]
    assert frame["b"].to_list() == ["007", "010"]
    assert frame["e"].to_list() == ["x", None]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, mark: str) -> None:
    assert read(put(tmp_path, f"a{mark}b\n1{mark}2\n")).row(0) == (1, 2)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_the_encoding_is_found_and_told(tmp_path: Path, encoding: str) -> None:
    table = read_table(put(tmp_path, "név,x\nÅsa,1\n".replace("é", "e").encode(encoding)))
    assert table.frame["nev"].to_list() == ["Åsa"]
    assert "comma-separated" in table.described


def test_missing_marks_among_numbers_and_numbers_too_long(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "a,b\n1,12345678901234567890\nNA,12345678901234567891\n"))
    assert frame["a"].to_list() == [1, None]
    assert frame["b"].dtype == pl.String


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_survive_a_round_trip_exactly(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("round") / "t.csv"
    write_table(Table(frame=pl.DataFrame({"x": values}), described=""), path)
    back = read(path)["x"].cast(pl.Float64).to_numpy()
    assert np.array_equal(back, np.array(values))


@pytest.mark.parametrize(("content", "error", "message"), [
    ("", FileError, "is empty"), ("a,a\n1,2\n", DataError, "'a' occur more than once"),
    (b"a\n\x81\xff\x00\n", FileError, "cannot be read as text"), ("a,b\n1,2,3\n", FileError, "not a comma-separated"),
])
def test_bad_files_are_told_in_one_line(
    tmp_path: Path, content: str | bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as told:
        read(put(tmp_path, content))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "sav", "dta"])
def test_bytes_of_another_kind(tmp_path: Path, ending: str) -> None:
    with pytest.raises(FileError, match="no readable"):
        read(put(tmp_path, b"this is something else", f"t.{ending}"))


def test_unknown_and_absent_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(FileError, match="Unknown kind of file 'parket'; did you mean 'parquet'"):
        read(put(tmp_path, "x", "t.parket"))


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
def test_cells_survive_every_format(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"n": [1, 2, 3], "x": [1.5, None, -2.25], "s": ["a", "b", "ü"]})
    write_table(Table(frame=frame, described="", labels={"n": "a number"}), tmp_path / f"t.{ending}")
    table = read_table(tmp_path / f"t.{ending}")
    assert table.frame.rows() == frame.rows()
    if ending in ("sav", "dta", "xpt"):
        assert table.labels["n"] == "a number"


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
def test_dates_survive_every_format(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"d": [dt.date(2025, 1, 31), dt.date(1961, 7, 4)], "x": [1.25, 2.5]})
    write_table(Table(frame=frame, described=""), tmp_path / f"t.{ending}")
    assert read_table(tmp_path / f"t.{ending}").frame.equals(frame)


def test_columns_that_a_file_does_not_give_back_are_found() -> None:
    frame = pl.DataFrame({"n": [1, None], "s": ["a", None], "d": [dt.date(2025, 1, 31), None], "b": [True, False]})
    assert lost_columns(frame, frame) == []
    damaged = frame.with_columns(n=pl.lit(2), s=pl.lit("b"), d=pl.lit(dt.date(1970, 1, 1))).drop("b")
    assert lost_columns(frame, damaged) == ["n", "s", "d", "b"]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_value_labels_survive(tmp_path: Path, ending: str) -> None:
    labels = {"sex": {1: "male", 2: "female"}}
    path = tmp_path / f"t.{ending}"
    write_table(Table(frame=pl.DataFrame({"sex": [1, 2, 1]}), described="", value_labels=labels), path)
    assert read_table(path).value_labels == labels


def test_dates_in_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame({"d": [dt.date(2025, 1, 31), None]})
    write_table(Table(frame=frame, described=""), tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").equals(frame)


def test_formulas_are_defused_on_request(tmp_path: Path) -> None:
    table = Table(frame=pl.DataFrame({"s": ["=1+1", "@x", "plain", None], "n": [-1, 2, 3, 4], "t": ["-"] * 4}),
                  described="")
    write_table(table, tmp_path / "t.csv", guard_formulas=True)
    assert (tmp_path / "t.csv").read_text() == "s,n,t\n'=1+1,-1,'-\n'@x,2,'-\nplain,3,'-\n,4,'-\n"


def test_an_exception_leaves_the_old_file_and_the_old_directory(tmp_path: Path) -> None:
    old = put(tmp_path, "old", "f")
    with pytest.raises(RuntimeError), atomic_file(old) as new:
        new.write_text("half")
        raise RuntimeError
    assert old.read_text() == "old"
    (tmp_path / "d").mkdir()
    put(tmp_path / "d", "old", "f")
    with pytest.raises(RuntimeError), atomic_directory(tmp_path / "d", overwrite=True) as folder:
        put(folder, "half", "f")
        raise RuntimeError
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["d", "f", "f"]
    with atomic_directory(tmp_path / "d", overwrite=True) as folder:
        put(folder, "new", "g")
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["g"]
