"""Files of a folder or a pattern that belong to a table, and those that look as if they did."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shoal.table.files.folders import files_of
from shoal.table.files.tables import read_table
from shoal.vocabulary.errors import FileError

LOG = {
    "_delta_log/00000000000000000000.json": "Delta Lake",
    "metadata/v3.metadata.json": "Iceberg",
    "metadata/00002-0f1e2d3c.metadata.json": "Iceberg",
    "metadata/00002-0f1e2d3c.gz.metadata.json": "Iceberg",
    ".hoodie/hoodie.properties": "Hudi",
    "_spark_metadata/0": "Spark's streams",
}


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    return path


def names_of(data: str | Path, folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in files_of(data)]


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """A folder in which two parts are complete, and a name above it that begins like those of parts that are not."""
    place = tmp_path / "_in"
    for name in ("_year=2023/part-0.parquet", "_year=2024/part-1.parquet"):
        file(place / name)
    return place


INCOMPLETE = {
    "_temporary/0/part-1.parquet": "_temp*/**/*.parquet",
    ".staging/part-1.parquet": ".*/*.parquet",
    "year=2024/_temporary/part-1.parquet": "year=*/_temporary/*.parquet",
    ".year=2024/part-1.parquet": ".year*/*.parquet",
    "_part-1.parquet": "_*.parquet",
    "._part=1.parquet": "._*.parquet",
}
"""Names of files that are not complete, and patterns that fit them."""


@pytest.mark.parametrize("name", INCOMPLETE)
def test_what_is_not_complete_is_left_out_of_a_folder(committed: Path, name: str) -> None:
    file(committed / name)
    assert names_of(committed, committed) == ["_year=2023/part-0.parquet", "_year=2024/part-1.parquet"]
    link = committed.parent / "link"
    link.symlink_to(committed)
    assert names_of(link, link) == ["_year=2023/part-0.parquet", "_year=2024/part-1.parquet"]


@pytest.mark.parametrize(("name", "pattern"), INCOMPLETE.items())
def test_a_pattern_that_fits_what_is_not_complete_is_refused(committed: Path, name: str, pattern: str) -> None:
    file(committed / name)
    with pytest.raises(FileError, match=r"fits 1 file below '.*_in' under names that begin with _ or \."):
        files_of(str(committed / pattern))


def test_two_stars_fit_what_is_not_complete(committed: Path) -> None:
    assert len(files_of(str(committed / "**/*.parquet"))) == 2
    file(committed / "_temporary/part-1.parquet")
    with pytest.raises(FileError, match="Name the folder, of which they are left out"):
        files_of(str(committed / "**/*.parquet"))


def test_a_folder_in_which_nothing_is_complete_holds_no_file(tmp_path: Path) -> None:
    file(tmp_path / "in/_temporary/part.parquet")
    with pytest.raises(FileError, match=r"what is below a folder under a name that begins with _ or \. is left out"):
        files_of(tmp_path / "in")


@pytest.mark.parametrize(
    "name", ["", "*", "**/*.parquet", "year=2020", "year=2020/*.parquet", "year=2020/part.parquet"]
)
@pytest.mark.parametrize("log", LOG)
def test_no_file_of_a_table_with_a_log_is_read(tmp_path: Path, log: str, name: str) -> None:
    """Whether the table, a partition or a file of it is named, by itself, by a link, or from a folder above."""
    table = tmp_path / "above" / "table"
    place = table / log
    file(table / "year=2020/part.parquet")
    file(table / "part.parquet")
    place.parent.mkdir()
    place.touch()
    (tmp_path / "link").symlink_to(table)
    (tmp_path / "linked.parquet").symlink_to(table / "part.parquet")
    for data in (
        table / name,
        tmp_path / "link" / name,
        tmp_path / "above",
        tmp_path / "*.parquet",
        tmp_path / "above/**",
    ):
        with pytest.raises(FileError, match=f"belongs to a table of {LOG[log]} in '.*', whose log says|fits . file"):
            files_of(str(data))
    for data in (table / "part.parquet", table / "year=2020/part.parquet", tmp_path / "linked.parquet"):
        with pytest.raises(FileError, match=f"belongs to a table of {LOG[log]}"):
            read_table(data)


def test_what_is_called_like_a_log_elsewhere_is_none(tmp_path: Path) -> None:
    part = file(tmp_path / "in/part.parquet")
    (tmp_path / "in/metadata").mkdir()
    (tmp_path / "in/metadata/survey.metadata.json").touch()
    (tmp_path / "beside/_delta_log").mkdir(parents=True)
    assert files_of(str(tmp_path / "in" / "*.parquet")) == [part]
    assert len(read_table(part).frame) == 1


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_with_two_names_is_not_read_twice(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    part = file(tmp_path / "in/part.parquet")
    link(part, tmp_path / "in/again.parquet")
    for data in (tmp_path / "in", tmp_path / "in/*.parquet"):
        with pytest.raises(FileError, match=r"one file under two names, '.*again\.parquet' and '.*part\.parquet'"):
            files_of(str(data))


def test_a_pattern_that_fits_a_file_in_two_ways_reads_it_once(tmp_path: Path) -> None:
    part = file(tmp_path / "in/a/part.parquet")
    assert files_of(str(tmp_path / "**/**/*.parquet")) == [part]


def test_a_pattern_may_begin_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path / "part.parquet")
    monkeypatch.chdir(tmp_path)
    assert files_of("*.parquet") == files_of("./*.parquet") == [Path("part.parquet")]
    file(tmp_path / "_part.parquet")
    with pytest.raises(FileError, match="names that begin with _"):
        files_of("*.parquet")


def test_folders_that_name_other_columns_are_no_one_table(tmp_path: Path) -> None:
    file(tmp_path / "in/year=2024/part.parquet")
    file(tmp_path / "in/part.parquet")
    with pytest.raises(FileError, match="in folders that name columns, as year=2024 does, and in others that do not"):
        files_of(tmp_path / "in")
