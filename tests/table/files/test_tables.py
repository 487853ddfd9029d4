"""Files: what is read is what was written, and codes stay codes."""

import csv
import datetime as dt
import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.files.atomic import atomic_directory, atomic_file
from shoal.table.files.table import Table
from shoal.table.files.tables import lost_columns, read, read_table, write_table
from shoal.vocabulary.errors import DataError, FileError


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


def test_a_number_among_texts_changes_none_of_them(tmp_path: Path) -> None:
    """Blanks and marks for missing cells are what they are, unless all that is left are numbers."""
    texts = {"blanks": ["1 ", "a", "a ", " 2"], "marks": ["1", "NA", "x", "NA"]}
    path = tmp_path / "t.csv"
    pl.DataFrame(texts).write_csv(path)
    assert read(path).to_dict(as_series=False) == texts
    pl.DataFrame({"blanks": ["1 ", "NA", " 2"], "marks": ["1", "NA", "2"]}).write_csv(path)
    assert read(path).to_dict(as_series=False) == {"blanks": [1, None, 2], "marks": [1, None, 2]}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_survive_a_round_trip_exactly(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("round") / "t.csv"
    write_table(Table(frame=pl.DataFrame({"x": values}), described=""), path)
    back = read(path)["x"].cast(pl.Float64).to_numpy()
    assert np.array_equal(back, np.array(values))


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", FileError, "is empty"),
        ("a,a\n1,2\n", DataError, "'a' occurs more than once"),
        (b"a\n\x81\xff\x00\n", FileError, "cannot be read as text"),
        ("a,b\n1,2,3\n", FileError, "Record 1 of file"),
        ("a,b\n1,2\n3\n", FileError, r"Record 2 of file .* \(line 3\) has 1 cell where the header has 2"),
        ("a,b\n1,2\n\n3,\n", FileError, r"Record 2 of file .* \(line 3\) has 0 cells where the header has 2"),
        ('a,b\n1,"x\n2,y\n', FileError, "quotation marks that do not pair, from record 1 on"),
        ('a,"b\n1,2\n', FileError, "quotation marks in its header row that do not pair"),
        ("a,\n1,2\n", DataError, "Column 2 of file .* has no name"),
        (b"\x1f\x8b\x08broken", FileError, "no whole gzip file"),
    ],
)
def test_bad_files_are_told_in_one_line(
    tmp_path: Path, content: str | bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        read(put(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_stray_quotation_marks_and_broken_names_are_cells_like_others(tmp_path: Path) -> None:
    frame = read(put(tmp_path, 'a,"b\nc"\n5" pipe,1\n"say ""no""",\n'))
    assert frame.columns == ["a", "b\nc"]
    assert frame.rows() == [('5" pipe', 1), ('say "no"', None)]
    assert read(put(tmp_path, 'a,b",c\n1,2,3\n4,5,6\n')).rows() == [(1, 2, 3), (4, 5, 6)]


def test_blank_lines_at_the_end_and_blanks_around_numbers(tmp_path: Path) -> None:
    assert read(put(tmp_path, "a,b\n 1 ,x\n2, y\n\n\r\n")).rows() == [(1, "x"), (2, " y")]
    assert read(put(tmp_path, "a\n1\n\n")).rows() == [(1,), (None,)]  # the one cell of the record is empty


def test_compressed_text(tmp_path: Path) -> None:
    assert read(put(tmp_path, gzip.compress(b"a\tb\n1\t2\n"), "t.tsv.gz")).rows() == [(1, 2)]
    with pytest.raises(FileError, match="Unknown kind of file 'gz'"):
        read(put(tmp_path, gzip.compress(b"x"), "t.sav.gz"))


def test_decimal_commas(tmp_path: Path) -> None:
    path = put(tmp_path, "a;b;c\n1,5;NA;x,y\n2;,25;z\n")
    assert read_table(path, decimal=",").frame.rows() == [(1.5, None, "x,y"), (2.0, 0.25, "z")]
    table = read_table(path)
    assert table.frame["a"].dtype == pl.String
    assert "Column 'a' holds numbers with a comma" in table.notes["a"]
    with pytest.raises(FileError, match="decimal mark must be"):
        read(path, decimal=";")


def test_a_column_of_numbers_that_became_text_is_told_without_its_cells(tmp_path: Path) -> None:
    path = put(tmp_path, "age,day,code\n31,03/04/2020,7a\n3z2,04/04/2020,7b\n33,05/04/2020,8\n,06/04/2020,9c\n35,,1\n")
    with pytest.warns(UserWarning, match="is read as text") as caught:
        read(path)
    sentences = [str(warning.message) for warning in caught]
    assert sentences == [
        "Column 'age' is read as text, because 1 of 4 cells is no number (the first in record 2). Mend what is wrong, "
        "leave missing values empty, or say level: nominal in the plan if these are codes.",
        "Column 'day' looks like dates and is read as text, because only dates written YYYY-MM-DD, "
        "and date-times YYYY-MM-DD hh:mm:ss, YYYY-MM-DDThh:mm:ss or, in UTC, YYYY-MM-DDThh:mm:ssZ, are read as such.",
    ]  # a column with more letters than numbers, as 'code', holds codes


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no file"):
        read(tmp_path)
    with pytest.raises(FileError, match=r"'-' is no regular file. .*: save it first"):
        read("-")
    with pytest.raises(FileError, match="There is no encoding 'klingon'"):
        read(put(tmp_path, "a\n1\n"), encoding="klingon")


def test_sheets(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, cell in (("notes", "hello"), ("data", 7)):
            sheet = book.add_worksheet(name)
            sheet.write(0, 0, "a")
            sheet.write(1, 0, cell)
    assert read_table(path).notes[""].endswith("has 2 sheets: 'notes', 'data'; 'notes' is read.")
    assert read_table(path, sheet="data").frame.rows() == [(7,)]
    with pytest.raises(FileError, match="Unknown sheet 'dat'; did you mean 'data'"):
        read(path, sheet="dat")


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "sav", "dta"])
def test_bytes_of_another_kind(tmp_path: Path, ending: str) -> None:
    with pytest.raises(FileError, match="no readable"):
        read(put(tmp_path, b"this is something else", f"t.{ending}"))


def test_unknown_and_absent_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(FileError, match="Unknown kind of file 'parket'; did you mean 'parquet'"):
        read(put(tmp_path, "x", "t.parket"))


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds"])
def test_cells_survive_every_format(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"n": [1, 2, 3], "x": [1.5, None, -2.25], "s": ["a", "b", "ü"]})
    write_table(Table(frame=frame, described="", labels={"n": "a number"}), tmp_path / f"t.{ending}")
    table = read_table(tmp_path / f"t.{ending}")
    assert table.frame.rows() == frame.rows()
    if ending in ("sav", "dta", "xpt", "rds"):
        assert table.labels["n"] == "a number"


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds"])
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


def test_a_missing_cell_of_a_sole_column_is_no_blank_line(tmp_path: Path) -> None:
    """Many programs skip blank lines, and would read fewer records than were proved."""
    for frame in (pl.DataFrame({"s": ["x", None, "y", None]}), pl.DataFrame({"n": [None, 7, None]})):
        write_table(Table(frame=frame), tmp_path / "t.csv")
        with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.DictReader(file))) == len(frame)
        assert read(tmp_path / "t.csv").equals(frame)


def test_formulas_are_defused_on_request(tmp_path: Path) -> None:
    table = Table(
        frame=pl.DataFrame({"s": ["=1+1", "@x", "plain", None], "n": [-1, 2, 3, 4], "t": ["-"] * 4}), described=""
    )
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


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "xpt", "rds"])
@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 + 5])
def test_whole_numbers_that_a_format_would_change_are_refused(tmp_path: Path, ending: str, number: int) -> None:
    frame = pl.DataFrame({"code": pl.Series([number, 1], dtype=pl.Int128), "n": [2**53, 1]})
    with pytest.raises(FileError, match=r"up to 2\^53 only, and 'code' has larger ones"):
        write_table(Table(frame=frame), tmp_path / f"t.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_a_column_without_values_is_read_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_table(Table(frame=pl.DataFrame({"a": [1, 2], "b": [None, None]})), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").frame["b"].null_count() == 2
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows limits no sizes of files")
def test_a_full_disk_is_called_that_wherever_the_file_is_cut(tmp_path: Path) -> None:
    """A Parquet file ends with a table of its own parts, which a library may fail to write in words of its own."""
    program = """
import resource, sys
from pathlib import Path
import polars as pl
from shoal.vocabulary.errors import FileError
from shoal.table.files.table import Table
from shoal.table.files.tables import write_table
path = Path(sys.argv[1]) / "t.parquet"
table = Table(frame=pl.DataFrame({f"c{j}": [float(i * j) for i in range(300)] for j in range(20)}))
write_table(table, path)
size = path.stat().st_size
for limit in range(size - 1, size - 6000, -199):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_table(table, path)
    except FileError as error:
        assert "free some space" in str(error), error
    else:
        raise AssertionError(limit)
assert [p.name for p in path.parent.iterdir()] == ["t.parquet"] and path.stat().st_size == size
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=environment)


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_missing_text_comes_back_as_missing_from_formats_that_write_it_empty(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    write_table(Table(frame=pl.DataFrame({"a": ["x", None, "y"], "b": [1, 2, None]})), path)
    for judged in (False, True):
        assert read_table(path, judged=judged).frame.rows() == [("x", 1), (None, 2), ("y", None)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds"])
def test_signs_of_patterns_in_a_name_are_signs(tmp_path: Path, ending: str) -> None:
    """`people[1]` is no pattern that `people1` fits; both are read, and written, as they are called."""
    place = tmp_path / "of [a-c]*"
    place.mkdir()
    for name, cells in {"people1": ["wrong"] * 2, "people[1]": ["right"] * 2, "peopl?*": ["last"] * 2}.items():
        write_table(Table(frame=pl.DataFrame({"q": cells})), place / f"{name}.{ending}")
    assert read_table(place / f"people[1].{ending}").frame["q"].to_list() == ["right"] * 2
    assert read_table(place / f"peopl?*.{ending}").frame["q"].to_list() == ["last"] * 2


def test_a_parquet_file_that_cannot_be_computed_with_says_why(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    long = arrow.array([10**40, 3], arrow.decimal256(45, 0))
    parquet.write_table(arrow.table({"long": long, "b": [1, 2]}), tmp_path / "long.parquet")
    with pytest.raises(FileError, match=r"long\.parquet' has numbers of more than 38 digits in 'long'"):
        read_table(tmp_path / "long.parquet")
    twice = arrow.Table.from_arrays([arrow.array([1]), arrow.array([2])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match=r"Column names must differ; .*twice\.parquet' has one more than once"):
        read_table(tmp_path / "twice.parquet")


def test_date_times_as_pandas_writes_them(tmp_path: Path) -> None:
    """They are read as such, in memory and by parts, and written as they were; other forms stay text."""
    import duckdb
    import pandas as pd

    from shoal.table.parts.csv_columns import csv_queries

    seconds = pd.to_datetime(["2024-01-31 12:30:00", "2024-02-01 00:00:05"])
    frame = pd.DataFrame(
        {
            "whole": seconds,
            "milli": seconds + pd.to_timedelta([0, 250_000], unit="us"),
            "micro": seconds + pd.to_timedelta([0, 250_001], unit="us"),
            "zone": seconds.tz_localize("UTC"),
            "even": ["2024-01-31 12:30:00.000000"] * 2,
            "wrong": ["2024-01-31 12:30:00", "2024-02-30 00:00:05"],
        }
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    back = read_table(path).frame
    stamps = [name for name in back.columns if back[name].dtype == pl.Datetime("us")]
    assert stamps == ["whole", "milli", "micro"]
    assert back["milli"][1] == dt.datetime(2024, 2, 1, 0, 0, 5, 250_000)
    large = csv_queries(duckdb.connect(), [path], {}, hive=False)[0].pl()
    assert large.equals(back)
    write_table(Table(frame=back), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()
