"""What a file tells apart is apart: for each format, pairs of cells that are equal and yet written differently.

In every table eight records hold one value, and all that differs between the first four and the others is how the
file writes it. Where all are written in the first way, or all in the second, they are 8-anonymous; together they are
two classes of four, whatever the role of the column.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter

import shoal
from by_night import crossed
from shoal.table.files.tables import read_table
from shoal.vocabulary.errors import FileError, Refused

Writer = Callable[[Path, list[Any]], None]


def plan(k: int, role: str, missing: str) -> dict[str, Any]:
    """k-anonymity on one column, whether it is a quasi-identifier or not."""
    return {
        "columns": {"x": {"role": role, "missing": "keep"}, "n": "quasi-identifier"},
        "requirements": [{"privacy": "k-anonymity", "k": k, "columns": ["x"], "missing": missing}],
    }


def csv(path: Path, cells: list[str]) -> None:
    path.write_text("x,n\n" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8")


def parquet(path: Path, cells: list[float | None]) -> None:
    pq.write_table(pa.table({"x": pa.array(cells, pa.float64(), from_pandas=False), "n": [1] * len(cells)}), path)


def xlsx(path: Path, cells: list[Any]) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        sheet, day = book.add_worksheet(), book.add_format({"num_format": 14})
        sheet.write_row(0, 0, ["x", "n"])
        for row, cell in enumerate(cells, 1):
            sheet.write(row, 1, 1)
            match cell:
                case "#N/A":
                    sheet.write_formula(row, 0, "=NA()", None, "#N/A")
                case "=5":
                    sheet.write_formula(row, 0, "=2+3", None, 5)
                case ("day", number):
                    sheet.write_number(row, 0, number, day)
                case ("text", text):
                    sheet.write_string(row, 0, text)
                case bool():
                    sheet.write_boolean(row, 0, cell)
                case None:
                    pass
                case _:
                    sheet.write_number(row, 0, cell)


def sav(path: Path, cells: list[Any]) -> None:
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=float), "n": 1.0})
    pyreadstat.write_sav(frame, str(path), missing_ranges={"x": [97, {"lo": -9, "hi": -1}]})


def dta(path: Path, cells: list[Any]) -> None:
    letters = sorted({cell for cell in cells if isinstance(cell, str)})
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "n": 1.0})
    pyreadstat.write_dta(frame, str(path), missing_user_values={"x": letters} if letters else None)


def xpt(version: int) -> Writer:
    def write(path: Path, cells: list[Any]) -> None:
        """Missing numbers as SAS writes them: the first byte is the letter; 'unnormalised' is 1 with a spare zero."""
        numbers = [cell if isinstance(cell, float) else np.nan for cell in cells]
        pyreadstat.write_xport(pd.DataFrame({"x": numbers, "n": 1.0}), str(path), file_format_version=version)
        raw = bytearray(path.read_bytes())
        start = raw.index(b"HEADER RECORD*******OBS") + 80
        for row, cell in enumerate(cells):
            at = start + 16 * row
            if cell == "unnormalised":
                raw[at : at + 8] = b"\x42\x01" + bytes(6)
            elif isinstance(cell, str):
                raw[at : at + 8] = cell.encode() + bytes(7)
        path.write_bytes(raw)

    return write


PAYLOAD = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
PAIRS: list[tuple[str, Writer, Any, Any]] = [
    ("csv", csv, "", '""'),
    ("csv", csv, "5", '"5"'),
    ("csv", csv, "5", "5.0"),
    ("csv", csv, "5", " 5"),
    ("csv", csv, "5", "+5"),
    ("csv", csv, "5", "5e0"),
    ("csv", csv, "0", "-0"),
    ("csv", csv, "2020-01-31", '"2020-01-31"'),
    ("csv", csv, "a", '"a"'),
    ("csv", csv, "a", "a "),
    ("parquet", parquet, None, np.nan),
    ("parquet", parquet, np.nan, PAYLOAD),
    ("parquet", parquet, 0.0, -0.0),
    ("xlsx", xlsx, 5, ("text", "5")),
    ("xlsx", xlsx, 5, "=5"),
    ("xlsx", xlsx, 5, ("day", 5)),
    ("xlsx", xlsx, True, 1),
    ("xlsx", xlsx, None, "#N/A"),
    ("xlsx", xlsx, None, ("text", "")),
    ("sav", sav, None, 97.0),
    ("sav", sav, 97.0, -9.0),
    ("sav", sav, -8.0, -9.0),
    ("dta", dta, None, "a"),
    ("dta", dta, "a", "z"),
    *((f"xpt {v}", xpt(v), one, other) for v in (5, 8) for one, other in ((".", "A"), ("A", "Z"), (".", "_"))),
    ("xpt 5", xpt(5), 1.0, "unnormalised"),
]
IN_NUMBERS: list[tuple[str, Writer, Any, Any]] = [
    ("csv", csv, one, other) for one, other in (("", "NA"), ("NA", "NaN"), ("NaN", ""), (".", "NULL"), ('"NA"', "NA"))
]
"""Ways to be missing that are such in a column of numbers only, which the last two records make it."""


def missing_both(one: Any, other: Any) -> bool:
    return one in (None, "", '""') or (isinstance(one, float) and one != one) or one in (".", "A", "a", 97.0, -8.0)


@pytest.mark.parametrize(
    ("pair", "role"),
    crossed(PAIRS, ["quasi-identifier", "other", "confidential"]),
    ids=lambda it: it if isinstance(it, str) else f"{it[0]}: {it[2]!r} {it[3]!r}",
)
def test_equal_cells_that_are_written_differently_are_two_classes(
    pair: tuple[str, Writer, Any, Any], role: str, tmp_path: Path
) -> None:
    name, write, one, other = pair
    path = tmp_path / f"theirs.{name.split()[0]}"
    for cells, smallest in (([one] * 8, 8), ([other] * 8, 8), ([one] * 4 + [other] * 4, 4)):
        write(path, cells)
        for missing in ("equal", "wildcard") if smallest == 8 or not missing_both(one, other) else ("equal",):
            assert shoal.audit(path, plan(smallest, role, missing)).holds, (cells, missing)
        assert not shoal.audit(path, plan(smallest + 1, role, "equal")).holds


@pytest.mark.parametrize(("name", "write", "one", "other"), IN_NUMBERS, ids=[f"{a} {b}" for _, _, a, b in IN_NUMBERS])
def test_ways_to_be_missing_among_numbers(name: str, write: Writer, one: Any, other: Any, tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    for cells, smallest in (([one] * 8, 8), ([one] * 4 + [other] * 4, 4)):
        write(path, [*cells, *["7"] * 8])
        assert read_table(path).frame["x"].null_count() == 8
        assert shoal.audit(path, plan(smallest, "quasi-identifier", "equal")).holds
        assert not shoal.audit(path, plan(smallest + 1, "quasi-identifier", "equal")).holds


def test_of_several_ways_to_be_missing_one_matches_everything(tmp_path: Path) -> None:
    """A cell that says why it is missing is a cell like others; where none says more than another, all match all."""
    path = tmp_path / "theirs.csv"
    csv(path, ["NA", "NA", "1", "1"])
    assert shoal.audit(path, plan(4, "quasi-identifier", "wildcard")).holds
    csv(path, ["NA", "", "1", "1"])
    assert not shoal.audit(path, plan(4, "quasi-identifier", "wildcard")).holds


def test_the_spelling_of_a_household_makes_no_second_household(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("x,home\n1,7\n1,7.0\n1,+7\n", encoding="utf-8")
    asked = [{"privacy": "k-anonymity", "k": 2, "unit": "household"}]
    assert not shoal.audit(
        path, {"columns": {"x": "quasi-identifier", "home": "household"}, "requirements": asked}
    ).holds


def test_cells_are_values_whatever_their_spelling(tmp_path: Path) -> None:
    """Rules and what can be filled in speak of values: 5 and 5.0 add up alike."""
    path = tmp_path / "theirs.csv"
    path.write_text("a,b,s\n5,1,6\n5.0,1,6.0\n", encoding="utf-8")
    roles = dict.fromkeys("abs", "other")
    evidence = shoal.audit(path, {"columns": roles, "constraints": ["a + b == s"]})
    assert evidence.verdicts[0].holds


def test_a_file_that_cannot_be_read_so_finely_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.por").write_bytes(b"")
    with pytest.raises(FileError, match=r"Save it as \.sav"):
        shoal.audit(tmp_path / "old.por", plan(2, "other", "equal"))
    xlsx(tmp_path / "t.xlsx", [5, 5])
    with xlsxwriter.Workbook(str(tmp_path / "errors.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "n"])
        sheet.write_row(1, 0, [1, 1])
        sheet.write_formula(2, 0, "=NA()", None, "#N/A")
    with pytest.raises(FileError, match="hold no value but are not empty"):
        shoal.audit(tmp_path / "errors.xlsx", plan(1, "other", "equal"))


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_frame_tells_null_from_not_a_number(kind: str) -> None:
    frame = pl.DataFrame({"x": [None] * 4 + [float("nan")] * 4, "n": [1] * 8})
    table = frame if kind == "polars" else frame.to_pandas(use_pyarrow_extension_array=True)
    assert not shoal.audit(table, plan(5, "quasi-identifier", "equal")).holds


def test_what_protect_writes_is_judged_as_finely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that wrote one cell in another way would be found out before anything is released."""

    def careless(table: Any, path: Path, *, guard_formulas: bool) -> None:
        lines = table.frame.write_csv().splitlines()
        lines[1] = lines[1].replace("5,", "5.0,")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    numbered = {**plan(8, "quasi-identifier", "equal"), "accept": ["n"]}
    release = shoal.protect(pl.DataFrame({"x": [5] * 8, "n": range(8)}), numbered, seed=1)
    monkeypatch.setattr(sys.modules["shoal.release.publish"], "write_table", careless)
    with pytest.raises(Refused, match="the smallest holds 1"):
        release.write(tmp_path / "out")
