"""The CSV reader beside Python's own: the same cells of whatever table, and one sentence for what is none."""

import csv
from io import StringIO

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.table.files.csv_text import read_csv
from shoal.vocabulary.errors import InputError

MARKS = ",;\t|"
"""Delimiters, in the order in which they are thought of."""
CELLS = st.text(alphabet=" ab,;\t|\"'é\u2028=0.\n", max_size=6)
PIECES = st.lists(
    st.sampled_from(
        ["a", "b,", ",", ";", "\t", "|", '"', '""', "\n", "\r\n", " ", "0", "1.5", "-", "NA", "nan", "2020-01-01"]
        + ["\x00", "é", "\ufeff", "1e400", "007", "x,y\n", '"q"\n', "1,2\n", "inf"]
    ),
    max_size=40,
).map("".join)


def rows_of(text: str, delimiter: str) -> list[list[str]] | None:
    """The cells as Python reads them, blank lines at the end left out; None where it finds no table."""
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    while rows and not rows[-1] and len(rows[0]) > 1:
        rows.pop()
    rows = [row or [""] for row in rows]
    return rows if rows and all(len(row) == len(rows[0]) for row in rows) else None


def same(cell: object, written: str) -> bool:
    """Whether a cell that was read is what is written: missing, a number, a date or the text as it stands."""
    if cell is None:
        return written.strip(" ") in ("", "NA", "NaN", "nan", "NULL", "null", ".")
    if isinstance(cell, (int, float)):
        return float(written) == cell
    return str(cell) in (written, written.strip(" "))


@given(
    rows=st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)),
    delimiter=st.sampled_from(MARKS),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_every_table_that_python_writes_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    delimiter: str,
    quoting: int,
    end: str,
    encoding: str,
) -> None:
    """A letter before every cell keeps it text; and so cells of text come back to the character."""
    cells = [["c" + cell for cell in row] for row in rows]
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerows([[f"n{j}" for j in range(len(cells[0]))], *cells])
    path = tmp_path_factory.mktemp("fuzzed") / "table.csv"
    path.write_bytes(file.getvalue().encode(encoding))
    frame = read_csv(path, delimiter=delimiter, encoding=encoding).frame
    assert [list(row) for row in frame.rows()] == cells


@given(text=PIECES, delimiter=st.sampled_from([None, ",", ";"]), judged=st.booleans())
@example(text='a,b\n"x"y,1\n', delimiter=None, judged=False)
@example(text='a,b\n"x\n', delimiter=None, judged=True)
@example(text="a\n\n\n1\n", delimiter=",", judged=False)
@example(text="\ufeff", delimiter=None, judged=False)
def test_any_text_is_the_table_that_python_reads_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str, delimiter: str | None, judged: bool
) -> None:
    path = tmp_path_factory.mktemp("fuzzed") / "any.csv"
    path.write_bytes(text.encode())
    frame, message = pl.DataFrame(), ""
    try:
        frame = read_csv(path, delimiter=delimiter, judged=judged).frame
    except InputError as refusal:
        message = str(refusal)
    if message:
        assert len(message.splitlines()) == 1
        return
    plain = text.removeprefix("\ufeff")
    plain = plain if "\n" in plain else plain.replace("\r", "\n")
    rows = rows_of(plain, delimiter or max(MARKS, key=plain.partition("\n")[0].count))
    assert rows is not None
    assert frame.columns == rows[0]
    assert len(frame) == len(rows) - 1
    for row, written in zip(frame.iter_rows(), rows[1:], strict=True):
        assert all(same(cell, text) for cell, text in zip(row, written, strict=True)), (row, written)
