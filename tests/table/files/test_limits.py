"""Tables at the limits of formats are written and come back; beyond them nothing is written, and one sentence says why.

Expected figures are those of the programs (see `shoal.table.files.limits`).
"""

from pathlib import Path

import polars as pl
import pytest

from shoal.table.files import limits
from shoal.table.files.limits import FormatLimits
from shoal.table.files.table import Table
from shoal.table.files.tables import lost_columns, read_table, write_table
from shoal.vocabulary.errors import FileError

ENDINGS = ("xlsx", "sav", "dta", "xpt")


def written(frame: pl.DataFrame, path: Path, **others: dict) -> Table:
    write_table(Table(frame=frame, **others), path)
    return read_table(path)


@pytest.mark.parametrize("ending", ["xlsx", "sav", "xpt"])
@pytest.mark.parametrize("length", [32_768, 65_536, 70_000])
def test_a_text_is_as_long_as_a_format_holds(tmp_path: Path, ending: str, length: int) -> None:
    fits = pl.DataFrame({"a": ["x" * 32_767, "y"], "n": [1, 2]})
    assert lost_columns(fits, written(fits, tmp_path / f"fits.{ending}").frame) == []
    path = tmp_path / f"long.{ending}"
    with pytest.raises(
        FileError, match=rf"format {ending} holds texts of at most 32,767 \w+, and 'a' has more"
    ) as raised:
        write_table(Table(frame=pl.DataFrame({"a": ["x" * length, None], "n": [1, 2]})), path)
    assert "\n" not in str(raised.value)
    assert [left.name for left in tmp_path.iterdir()] == [f"fits.{ending}"]


def test_bytes_count_in_formats_that_have_bytes(tmp_path: Path) -> None:
    umlauts = pl.DataFrame({"a": ["ä" * 20_000, "y"]})
    assert written(umlauts, tmp_path / "a.xlsx").frame.equals(umlauts)
    assert written(umlauts, tmp_path / "a.dta").frame.equals(umlauts)
    for ending in ("sav", "xpt"):
        with pytest.raises(FileError, match=f"format {ending} holds texts of at most 32,767 bytes"):
            written(umlauts, tmp_path / f"a.{ending}")


def test_a_sheet_has_so_many_records_and_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = pl.DataFrame({f"c{i}": [1] for i in range(16_385)})
    long = pl.DataFrame({"a": pl.zeros(1_048_576, eager=True)})
    for frame, says in ((wide, "1 record of 16385 columns"), (long, "1048576 records of 1 column")):
        with pytest.raises(FileError, match="holds 1,048,575 records of 16,384 columns at most") as raised:
            write_table(Table(frame=frame), tmp_path / "a.xlsx")
        assert says in str(raised.value).replace(",", "")
    monkeypatch.setitem(limits.LIMITS, "xlsx", FormatLimits(records=2, columns=2))
    full = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert written(full, tmp_path / "full.xlsx").frame.equals(full)


def test_names_that_differ_in_capitals_are_one_to_excel(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1], "b": [2], "A": [3]})
    with pytest.raises(FileError, match="The names 'a', 'A' differ in capital letters only"):
        write_table(Table(frame=frame), tmp_path / "a.xlsx")
    assert written(frame, tmp_path / "a.sav").frame.equals(frame)


@pytest.mark.parametrize(("ending", "most"), [("dta", "8.988e+307"), ("xpt", "7e+74")])
def test_numbers_beyond_those_of_a_format(tmp_path: Path, ending: str, most: str) -> None:
    fits = pl.DataFrame({"a": [float(most), -1.5, None, float("inf")]})
    assert written(fits[:3], tmp_path / f"fits.{ending}").frame["a"][0] == pytest.approx(float(most))
    for number in (1.1 * float(most), -1.1 * float(most)):
        with pytest.raises(FileError, match=rf"format {ending} holds numbers up to .*, and 'a' has more"):
            write_table(Table(frame=pl.DataFrame({"a": [number, 1.0]})), tmp_path / f"far.{ending}")


@pytest.mark.parametrize("sign", ["x", "ä"])
@pytest.mark.parametrize(("ending", "most", "of_code"), [("sav", 256, 120), ("dta", 80, 32_000), ("xpt", 256, None)])
def test_labels_are_cut_to_what_a_format_holds(
    tmp_path: Path, ending: str, most: int, of_code: int | None, sign: str
) -> None:
    width = 1 if ending == "dta" else len(sign.encode())
    frame, long = pl.DataFrame({"a": [1, 2]}), sign * 40_000
    back = written(frame, tmp_path / f"a.{ending}", labels={"a": long}, value_labels={"a": {1: long}})
    assert back.labels == {"a": sign * (most // width)}
    if of_code is not None:
        assert back.value_labels["a"] == {1: sign * (of_code // len(sign.encode()))}
