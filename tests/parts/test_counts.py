"""Cells are equal in SQL exactly where they are to the judges, whatever their type, and no name is in the way."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from parts.conftest import whole_plan
from shoal import DataError, FileError, Refused

NOON = datetime(2024, 2, 29, 12)
CELLS: dict[str, tuple[list[Any], Any]] = {
    "zeros of both signs": ([0.0, -0.0, 1.0, None], pl.Float64),
    "no number for a missing cell": ([0.0, -0.0, 1e-9, float("nan")], pl.Float64),
    "short numbers": ([0.0, -0.0, 1 / 3, None], pl.Float32),
    "numbers next to one another": ([0.1 + 0.2, 0.3, 1e70, None], pl.Float64),
    "integers": ([-1, 2**53 - 1, 2**53 - 2, None], pl.Int64),
    "bytes": ([-128, 127, 0, None], pl.Int8),
    "text": (["a", "A", "a ", "a\x00", "", "\u00e9", "e\u0301", None], pl.String),
    "categories": (["b", "a", "B", None], pl.Categorical),
    "truth values": ([True, False, None], pl.Boolean),
    "days": ([date(1, 1, 1), date(2024, 2, 29), None], pl.Date),
    "microseconds": ([NOON, NOON + timedelta(microseconds=1), None], pl.Datetime("us")),
    "milliseconds": ([NOON, NOON + timedelta(milliseconds=1), None], pl.Datetime("ms")),
    "times of a zone": ([NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC) + timedelta(hours=1), None], None),
    "times of day": ([time(0), time(23, 59, 59, 999999), None], pl.Time),
    "decimals": ([Decimal("0.10"), Decimal("0.11"), Decimal("-0.10"), None], pl.Decimal(20, 2)),
}


def drawn(kind: str, names: tuple[str, str], n: int = 400) -> pl.DataFrame:
    cells, dtype = CELLS[kind]
    rng = np.random.default_rng(len(kind))
    columns = [pl.Series(name, [cells[i] for i in rng.integers(0, len(cells), n)], dtype=dtype) for name in names]
    return pl.DataFrame([*columns, pl.Series("n", rng.integers(0, 3, n))])


def described(*names: str, role: str = "quasi-identifier") -> dict[str, Any]:
    return {name: {"role": role, "missing": "keep"} for name in names}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("kind", "level"), crossed(CELLS, [None, "nominal"]))
def test_cells_of_every_type_are_equal_as_in_memory(kind, level, folder_of):
    frame = drawn(kind, ("rowid", "class"))
    columns = described("rowid", "n") | described("class", role="confidential")
    columns |= {name: columns[name] | {"level": level} for name in ("rowid", "class")}
    required = [
        {"privacy": "k-anonymity", "k": 2},
        {"privacy": "k-anonymity", "k": 2, "columns": ["class", "rowid"]},
        {"privacy": "l-diversity", "l": 2, "kind": "entropy"},
        {"privacy": "t-closeness", "t": 0.1},
        {"privacy": "delta-disclosure", "delta": 1.0},
    ]
    plan = {"columns": columns, "requirements": required}
    parts, whole = shoal.audit(folder_of(frame), plan).verdicts, shoal.audit(frame, whole_plan(plan)).verdicts
    assert [verdict.private_form() for verdict in parts] == [verdict.private_form() for verdict in whole]
    classes = len(frame.with_columns(pl.col("rowid").cast(pl.String)).unique(["rowid", "n"]))
    assert parts[0].private_form()["facts"]["classes"] == classes  # as they are written


@pytest.mark.usefixtures("small_blocks")
def test_a_model_that_needs_more_memory_than_there_is_says_so(folder_of):
    frame = pl.DataFrame({"a": np.arange(700_000), "b": np.arange(700_000) % 7})
    plan = {
        "columns": {"a": "quasi-identifier", "b": "confidential"},
        "requirements": [{"privacy": "nt-closeness", "n": 10, "t": 0.5}],
    }
    with pytest.raises(Refused, match=r"nt-closeness looks at all classes at once, which takes about 0\.154 GB"):
        shoal.audit(folder_of(frame), plan, memory="128MB")


@pytest.mark.usefixtures("small_blocks")
def test_numbers_that_are_none_in_several_ways_are_left_to_memory(folder_of):
    strange = np.array([0x7FF8000000000000, 0x7FF8000000000001], dtype=np.int64).view(np.float64)
    frame = pl.DataFrame({"a": np.append(strange, np.ones(40))})
    plan = {"columns": described("a"), "requirements": [{"privacy": "k-anonymity", "k": 2}]}
    with pytest.raises(DataError, match="missing cells written in several ways"):
        shoal.audit(folder_of(frame), plan)


@pytest.mark.usefixtures("small_blocks")
def test_files_that_break_or_change_while_they_are_judged_are_named(folder_of):
    plan = {"columns": described("a"), "requirements": [{"privacy": "k-anonymity", "k": 2}]}
    place = folder_of(pl.DataFrame({"a": ["x", "y"] * 30_000}))
    one = place / "part-1.parquet"

    def changed(text: str, fraction: float) -> None:
        if text == "judging k-anonymity":
            pl.DataFrame({"a": ["z"]}).write_parquet(one)

    with pytest.raises(FileError, match=r"part-1.parquet' was changed while it was read"):
        shoal.audit(place, plan, stage=changed)
    whole = (place / "part-0.parquet").read_bytes()
    one.write_bytes(whole[:4] + bytes(40) + whole[44:])
    with pytest.raises(FileError, match="cannot be read to its end"):
        shoal.audit(place, plan)


@pytest.mark.usefixtures("small_blocks")
def test_signs_of_zero_are_counted_alike_where_a_file_lacks_a_column(tmp_path):
    """DuckDB's union by name gave the two zeros in another order each time, and t-closeness other distances."""
    frame = drawn("no number for a missing cell", ("rowid", "class")).with_columns(more=pl.lit(1.0))
    frame[:200].write_parquet(tmp_path / "a.parquet")
    frame[200:].drop("more").write_parquet(tmp_path / "b.parquet")
    whole = frame.with_columns(more=pl.when(pl.int_range(pl.len()) < 200).then(pl.col("more")))
    columns = described("rowid", "n", "more") | described("class", role="confidential")
    plan = {"columns": columns, "requirements": [{"privacy": "t-closeness", "t": 0.1}]}
    parts = shoal.audit(tmp_path, plan, reading={"absent": "missing"}).verdicts
    assert parts[0].private_form() == shoal.audit(whole, whole_plan(plan)).verdicts[0].private_form()
