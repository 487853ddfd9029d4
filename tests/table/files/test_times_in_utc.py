"""Times in UTC, as health records have them: read as times, written back as they were, no hour shifted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.table.files.tables import read_table

NOMINAL = {"role": "quasi-identifier", "level": "nominal"}
COLUMNS = {"id": "identifier", "at": "other", "sex": NOMINAL}
PLAN: dict[str, Any] = {
    "columns": COLUMNS,
    "accept": ["at"],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
    "output": {"shuffle": False},
}


def table(n: int, fraction: str = "") -> pl.DataFrame:
    rng = np.random.default_rng(0)
    parts = rng.integers(1, 1000, n) * {"": 0, "%.3f": 1000, "%.6f": 1}[fraction]
    at = pl.Series(rng.integers(-(10**9), 10**9, n) * 10**6 + parts).cast(pl.Datetime("us"))
    text = at.dt.to_string(f"%Y-%m-%dT%H:%M:%S{fraction}Z")
    return pl.DataFrame({"id": np.arange(n), "at": text, "sex": rng.choice(["f", "m"], n)})


@pytest.mark.parametrize("fraction", ["", "%.3f", "%.6f"])
def test_every_cell_comes_back_as_it_was_written(tmp_path: Path, fraction: str) -> None:
    table(200, fraction).write_csv(tmp_path / "in.csv")
    read = read_table(tmp_path / "in.csv").frame
    assert read["at"].dtype == pl.Datetime("us", "UTC")
    assert read["at"][0].isoformat(timespec="microseconds")[:19] == table(200, fraction)["at"][0][:19]
    shoal.protect(tmp_path / "in.csv", PLAN, tmp_path / "out", seed=1)
    released = pl.read_csv(tmp_path / "out/release/data.csv", infer_schema=False)
    assert released["at"].equals(table(200, fraction)["at"])


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "sav"])
def test_other_formats_keep_the_hours(tmp_path: Path, kind: str) -> None:
    table(60).write_csv(tmp_path / "in.csv")
    shoal.protect(tmp_path / "in.csv", {**PLAN, "output": {"shuffle": False, "format": kind}}, tmp_path / "out", seed=1)
    cells = read_table(tmp_path / f"out/release/data.{kind}").frame["at"]
    clock = cells if cells.dtype == pl.String else cells.dt.to_string("%Y-%m-%dT%H:%M:%SZ")
    assert clock.equals(table(60)["at"])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.str.replace("Z", "+01:00"),
        lambda text: text.str.replace("Z", "+00:00"),
        lambda text: (
            pl.select(pl.when(pl.int_range(len(text)) % 2 == 0).then(text).otherwise(pl.lit(None)))
            .to_series()
            .fill_null("2020-01-01T00:00:00+02:00")
        ),
        lambda text: text.str.replace("Z", "-0530"),
    ],
)
def test_other_offsets_stay_text_and_a_note_says_so(tmp_path: Path, change: Any) -> None:
    cells = change(table(40)["at"]).alias("at")
    cells.to_frame().write_csv(tmp_path / "in.csv")
    read = read_table(tmp_path / "in.csv")
    assert read.frame["at"].equals(cells)
    assert "holds times with an offset from UTC and is read as text, so that no hour shifts" in read.notes["at"]


@pytest.mark.parametrize("cells", [["2020-02-30T10:00:00Z"], ["2020-01-01T10:00:00.000Z"], ["2020-01-01T24:00:00Z"]])
def test_what_would_not_come_back_the_same_stays_text(tmp_path: Path, cells: list[str]) -> None:
    pl.DataFrame({"at": [*cells, *cells], "x": [1, 2]}).write_csv(tmp_path / "in.csv")
    assert read_table(tmp_path / "in.csv").frame["at"].to_list() == [*cells, *cells]


IN_PARTS = """
import sys, shoal
plan = {plan!r}
shoal.protect(sys.argv[1], {{**plan, "exact": False, "block_size": 10000}}, sys.argv[2], seed=1, workers=1)
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"][: by_night(1, 2)])
def test_in_parts_no_machine_shifts_an_hour(tmp_path: Path, kind: str) -> None:
    """The zone of the machine is New York's, in which no released hour may be."""
    file = tmp_path / f"in.{kind}"
    table(10_500).write_csv(tmp_path / "in.csv")
    if kind == "parquet":
        read_table(tmp_path / "in.csv").frame.write_parquet(file)
    program = IN_PARTS.format(plan=PLAN)
    there = {**os.environ, "TZ": "America/New_York"}
    subprocess.run([sys.executable, "-c", program, str(file), str(tmp_path / "out")], env=there, check=True)
    released = pl.read_csv(tmp_path / "out/release/data.csv", infer_schema=False)
    assert released["at"].equals(table(10_500)["at"])


def test_shifted_dates_keep_the_time_of_day(tmp_path: Path) -> None:
    visits = table(60).with_columns(id=pl.int_range(60) // 3)
    visits.write_csv(tmp_path / "in.csv")
    plan = {
        "columns": {"id": "person", "at": "other", "sex": "identifier"},
        "steps": [{"mask": "shift-dates", "columns": ["at"], "most": 30}],
        "output": {"shuffle": False},
    }
    release = shoal.protect(tmp_path / "in.csv", plan, seed=1, unproved=True)
    moved = release.to_frame()["at"].dt.to_string("%Y-%m-%dT%H:%M:%SZ")
    assert moved.str.slice(10).equals(visits["at"].str.slice(10))
    assert not moved.equals(visits["at"])


@pytest.mark.parametrize("fraction", ["", "%.3f", "%.6f"])
def test_local_times_with_a_t_are_times_too(tmp_path: Path, fraction: str) -> None:
    """Exports of other systems write 2020-01-03T10:15:00: the release has the same times, with a blank."""
    cells = table(120, fraction).with_columns(pl.col("at").str.strip_chars_end("Z"))
    cells.write_csv(tmp_path / "in.csv")
    assert read_table(tmp_path / "in.csv").frame["at"].dtype == pl.Datetime("us")
    shoal.protect(tmp_path / "in.csv", PLAN, tmp_path / "out", seed=1)
    released = pl.read_csv(tmp_path / "out/release/data.csv", infer_schema=False)
    assert released["at"].equals(cells["at"].str.replace("T", " "))
    assert shoal.audit(tmp_path / "out/release/data.csv", PLAN).holds
    mixed = cells.with_columns(at=pl.when(pl.int_range(120) == 5).then(pl.lit("2020-01-03 10:15:00")).otherwise("at"))
    mixed.write_csv(tmp_path / "mixed.csv")
    assert read_table(tmp_path / "mixed.csv").frame["at"].equals(mixed["at"]), "two forms stay text"


def test_local_times_are_read_alike_in_parts(tmp_path: Path) -> None:
    cells = table(50).with_columns(pl.col("at").str.strip_chars_end("Z"))
    (tmp_path / "parts").mkdir()
    for number, half in enumerate((cells[:20], cells[20:])):
        half.write_csv(tmp_path / f"parts/{number}.csv")
    cells.write_csv(tmp_path / "in.csv")
    whole, parts = (read_table(tmp_path / name).frame for name in ("in.csv", "parts"))
    assert whole.equals(parts)
    assert parts["at"].dtype == pl.Datetime("us")
    wrong = cells.with_columns(at=pl.lit("2020-02-30T10:00:00"))
    wrong.write_csv(tmp_path / "parts/0.csv")
    wrong.write_csv(tmp_path / "parts/1.csv")
    assert read_table(tmp_path / "parts").frame["at"].dtype == pl.String, "no such day"


CHUNK_READ = """
import sys, pathlib
from shoal.table.parts.row_ranges import Chunk, RowRange
rows = RowRange(path=pathlib.Path(sys.argv[1]), options="hive_partitioning = false", cells="moment", low=0, high=2)
print(Chunk(number=0, rows=(rows,)).records["moment"].dtype.time_zone)
"""


def test_rows_of_a_file_have_no_hours_of_the_machine_that_reads_them(tmp_path: Path) -> None:
    """Cursors of a session have its zone, and not New York's."""
    pl.DataFrame({"moment": pl.Series([0, 1]).cast(pl.Datetime("us", "UTC"))}).write_parquet(tmp_path / "in.parquet")
    there = {**os.environ, "TZ": "America/New_York"}
    read = [sys.executable, "-c", CHUNK_READ, str(tmp_path / "in.parquet")]
    assert subprocess.run(read, env=there, check=True, capture_output=True, text=True).stdout.strip() == "UTC"
