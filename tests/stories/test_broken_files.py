"""A vendor's broken file: the right table, or one sentence that says what is wrong, through `init` and `protect`.

Each file is one small survey, broken in a way of its own. Where it can be read, the drafted plan runs on it unchanged
and the release has its columns; where it cannot, both commands end with one line and write nothing.
"""

import itertools
import re
import sys
import time
from collections.abc import Callable
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from by_night import only_by_night
from command_line import Run
from shoal.table.files.tables import read_table

N = 40
AREAS = ["Zürich", "Genf"]
ROWS = [(AREAS[i % 2], "mf"[i // 2 % 2], 1000 + 37 * i + 0.25) for i in range(N)]


def survey(
    mark: str = ",",
    income: Callable[[int, float], str] = lambda i, x: str(x),
    header: str = "area,sex,income",
    area: Callable[[int, str], str] = lambda i, a: a,
    end: str = "\n",
) -> str:
    """The survey as text; `income` and `area` say how record i writes its own."""
    lines = [header.replace(",", mark)]
    lines += [mark.join((area(i, a), s, income(i, x))) for i, (a, s, x) in enumerate(ROWS)]
    return "".join(line + end for line in lines)


def workbook() -> bytes:
    content = BytesIO()
    pl.DataFrame(ROWS, schema=["area", "sex", "income"], orient="row").write_excel(content)
    return content.getvalue()


NUMBERS = [x for _, _, x in ROWS]
DAYS = ["2020-01-{0:02d}", "{0:02d}.01.2020", "01/{0:02d}/2020"]
LONG = "a" * 300_000

READ: dict[str, tuple[str | bytes, list[str], list[Any], str]] = {
    "byte order mark": (survey().encode("utf-8-sig"), [], NUMBERS, ""),
    "latin-1": (survey().encode("latin-1"), [], NUMBERS, ""),
    "semicolons": (survey(";"), [], NUMBERS, ""),
    "decimal commas": (survey(";", lambda i, x: str(x).replace(".", ",")), ["--decimal", ","], NUMBERS, ""),
    "decimal commas unsaid": (
        survey(";", lambda i, x: str(x).replace(".", ",")),
        [],
        [str(x).replace(".", ",") for x in NUMBERS],
        "Column 'income' holds numbers with a comma and is read as text",
    ),
    "mixed types": (
        survey(income=lambda i, x: "unknown" if i == 6 else str(x)),
        [],
        ["unknown" if i == 6 else str(x) for i, x in enumerate(NUMBERS)],
        r"Column 'income' is read as text, because 1 of 40 cells is no number \(the first in record 7\)",
    ),
    "dates in three formats": (
        survey(income=lambda i, x: DAYS[i % 3].format(i % 28 + 1)),
        [],
        [DAYS[i % 3].format(i % 28 + 1) for i in range(N)],
        "Column 'income' looks like dates and is read as text, because only dates written YYYY-MM-DD",
    ),
    "leading zeros": (survey(income=lambda i, x: f"{i % 7:05d}"), [], [f"{i % 7:05d}" for i in range(N)], ""),
    "thousands separators": (
        survey(income=lambda i, x: f'"{x:,.2f}"'),
        [],
        [f"{x:,.2f}" for x in NUMBERS],
        "Column 'income' holds numbers whose thousands are set apart and is read as text. Take out what",
    ),
    "thousands or decimals": (
        survey(income=lambda i, x: f'"{x:,.0f}"'),
        [],
        [f"{x:,.0f}" for x in NUMBERS],
        "Column 'income' holds numbers with a comma and is read as text. .* Take the commas out if they set",
    ),
    "percent signs": (
        survey(income=lambda i, x: f"{i}%"),
        [],
        [f"{i}%" for i in range(N)],
        "Column 'income' holds numbers with a percent sign and is read as text. Take the signs out",
    ),
    "formulas": (
        survey(income=lambda i, x: f"=A{i}+1"),
        [],
        [f"=A{i}+1" for i in range(N)],
        r"Column 'income' has text that a spreadsheet would run as a formula. Set output: \{guard_formulas: true\}",
    ),
    "NUL": (
        survey(income=lambda i, x: f"class {i % 2}" + "\0" * (i == 4)),
        [],
        [f"class {i % 2}" + "\0" * (i == 4) for i in range(N)],
        r"Column 'income' has control characters in 1 cell \(the first in record 5\)\. Take them out",
    ),
    "quoted newlines": (
        survey(income=lambda i, x: f'"first\nof {i % 2}"'),
        [],
        [f"first\nof {i % 2}" for i in range(N)],
        "",
    ),
    "very long cell": (
        survey(income=lambda i, x: LONG if i == 3 else "b" if i % 2 else ""),
        [],
        [LONG if i == 3 else "b" if i % 2 else None for i in range(N)],
        "",
    ),
}
"""Content, options of reading, what the third column must be, and the note on it that must be given (none if '')."""

REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "duplicated names": ("t.csv", survey(header="area,sex,sex"), "'sex' occurs more than once"),
    "trailing delimiter": ("t.csv", survey(end=",\n"), r"Column 4 of file '.*' has no name .* or take it out"),
    "trailing delimiter of records": (
        "t.csv",
        survey(end=",\n").replace("income,", "income", 1),
        r"Record 1 of file '.*' \(line 2\) has 4 cells where the header has 3",
    ),
    "empty": ("t.csv", "", "is empty. A table needs a header row and records"),
    "blank": ("t.csv", "\n \n", "is empty. A table needs a header row and records"),
    "UTF-16 without a mark": ("t.csv", survey().encode("utf-16-le"), r"cannot be read as text .*Name its encoding"),
    "UTF-16 of plain letters": ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), r"cannot be read as text .*Name its enc"),
    "workbook named csv": ("t.csv", workbook(), r"File '.*' is no text but a file of Excel.*Give it the ending \.xlsx"),
    "text named xlsx": ("t.xlsx", survey(), r"is no readable Excel file .*Check that it is whole and of this kind"),
    "text named sav": ("t.sav", survey(), r"is no readable sav file .*Check that it is whole and of this kind"),
    "unknown ending": ("t.data", survey(), "Unknown kind of file 'data'"),
}


@pytest.mark.parametrize("kind", READ)
def test_the_right_table_comes_out(kind: str, run: Run, tmp_path: Path) -> None:
    content, options, third, note = READ[kind]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame = read_table(path, decimal="," if options else ".").frame
    assert frame.columns == ["area", "sex", "income"]
    assert frame["area"].to_list() == [area for area, _, _ in ROWS]
    assert frame["income"].to_list() == third
    status, plan, err = run("init", path, *options)
    assert (status, len(err.splitlines())) == (0, bool(note))
    assert re.search(note, err)
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    status, _, err = run("protect", path, *options, "--plan", tmp_path / "plan.yaml", "--out", tmp_path / "out")
    assert status == 0, err
    released = read_table(tmp_path / "out" / "release" / "data.csv").frame
    assert set(released.columns) <= {"area", "sex", "income"}
    assert set(released["area"].drop_nulls()) == set(AREAS)
    if isinstance(third[0], float):
        assert released["income"].sum() == pytest.approx(sum(third))  # averages of groups: most incomes are unique


@pytest.mark.parametrize("kind", REFUSED)
def test_one_sentence_says_what_is_wrong(kind: str, run: Run, tmp_path: Path) -> None:
    name, content, sentence = REFUSED[kind]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    plan = tmp_path / "plan.yaml"
    plan.write_text("columns: {area: quasi-identifier, sex: quasi-identifier, income: confidential}", encoding="utf-8")
    for command in (["init"], ["protect", "--plan", plan, "--out", tmp_path / "out"]):
        status, out, err = run(command[0], tmp_path / name, *command[1:])
        assert (status, out, len(err.splitlines())) == (2, "", 1), err
        assert re.search(sentence, err), err
        assert "Genf" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["plan.yaml", name])


@pytest.mark.parametrize(
    ("records", "status", "sentence"),
    [("", 2, "The table has no records"), ("Genf,m,1000.5\n", 3, "Nothing was written: the plan requires nothing")],
    ids=["header only", "one row"],
)
def test_of_one_record_or_none_nothing_is_released(
    records: str, status: int, sentence: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("area,sex,income\n" + records, encoding="utf-8")
    assert read_table(path).frame.rows() == [("Genf", "m", 1000.5)] * bool(records)
    drafted, plan, _ = run("init", path)
    assert drafted == 0
    assert "Nothing here can be protected" in plan
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    ended, _, err = run("protect", path, "--plan", tmp_path / "plan.yaml", "--out", tmp_path / "out")
    assert (ended, len(err.splitlines())) == (status, 1), err
    assert sentence in err
    assert not (tmp_path / "out").exists()


def test_hundreds_of_columns_take_calls_in_proportion(run: Run, tmp_path: Path) -> None:
    """Reading and drafting four times as many columns calls no more than five times as many functions."""
    calls = dict.fromkeys((100, 400), 0)
    for width in (100, *calls):  # the first time all is imported
        path = tmp_path / "t.csv"
        path.write_text(
            "\n".join([",".join(f"c{j}" for j in range(width))] + [",".join("012"[i % 3] * width) for i in range(6)])
        )
        counted = itertools.count()
        sys.setprofile(lambda frame, event, argument, counted=counted: next(counted))
        try:
            run("init", path)
        finally:
            sys.setprofile(None)
        calls[width] = next(counted)
    assert 10_000 < calls[100] < calls[400] < 5 * calls[100]


@only_by_night
def test_thousands_of_columns_take_a_bounded_time(run: Run, tmp_path: Path) -> None:
    """Reading and drafting are linear in the columns: eight times as many take no more than eleven times as long.

    A machine that does other things may take longer once; what is not linear takes longer each time.
    """
    seconds = {1_000: inf, 8_000: inf}
    for width in (1_000, 8_000) * 3:
        path = tmp_path / "t.csv"
        lines = [",".join(f"c{j}" for j in range(width))] + [
            ",".join(str((i * j) % 3) for j in range(width)) for i in range(6)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        began = time.process_time()
        status, plan, err = run("init", path)
        seconds[width] = min(seconds[width], time.process_time() - began)
        assert (status, err) == (0, "")
        assert plan.count("role:") == width
        if seconds[8_000] < 11 * max(seconds[1_000], 0.1):
            return
    pytest.fail(f"seconds by columns: {seconds}")
