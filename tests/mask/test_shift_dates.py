from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, ParameterError, Refused

ROLES = {"p": "person", "came": "other", "seen": {"role": "other", "missing": "keep"}}


def visits(seed: int = 0, n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    days = [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 300, n)]
    seen = [
        datetime(d.year, d.month, d.day, 8, 30, 7) + timedelta(hours=int(h))
        for d, h in zip(days, rng.integers(0, 99, n))
    ]
    return pl.DataFrame(
        {
            "p": [f"P{i}" for i in rng.integers(0, 12, n)],
            "came": days,
            "seen": [None if i % 7 == 0 else moment for i, moment in enumerate(seen)],
        }
    )


def shifted(table: pl.DataFrame, seed: int = 1, **given: Any) -> tuple[pl.DataFrame, Any]:
    before = Microdata.of(table, ROLES)
    result = shoal.ShiftDates(**given).apply(before.records, ["came", "seen"], np.random.default_rng(seed))
    return before.rebuild(result.records).native, result.facts


@given(seed=st.integers(0, 500), weeks=st.booleans(), bounded=st.booleans())
def test_one_shift_a_person_with_all_intervals_exact(seed: int, weeks: bool, bounded: bool) -> None:
    table = visits(seed)
    bounds = {"earliest": "2019-12-20", "latest": "2020-11-30"} if bounded else {}
    after, facts = shifted(table, seed, most=40, weeks=weeks, **bounds)
    shifts: dict[str, set[timedelta]] = {}
    for old, new in zip(table.rows(named=True), after.rows(named=True)):
        for name in ("came", "seen"):
            if old[name] is None:
                assert new[name] is None
            else:
                shifts.setdefault(old["p"], set()).add(new[name] - old[name])
        if bounded:
            assert date(2019, 12, 20) <= new["came"] <= date(2020, 11, 30)
            assert new["seen"] is None or date(2019, 12, 20) <= new["seen"].date() <= date(2020, 11, 30)
    assert all(len(one) == 1 for one in shifts.values()), "intervals and order stay exact"
    days = [next(iter(one)) for one in shifts.values()]
    assert all(
        abs(day) <= timedelta(days=40) and day % timedelta(days=7 if weeks else 1) == timedelta() for day in days
    )
    assert facts["persons"].n == len(shifts)


def test_all_shifts_are_as_likely() -> None:
    table = pl.DataFrame({"p": range(20_000), "came": [date(2020, 5, 5)] * 20_000, "seen": [None] * 20_000})
    table = table.with_columns(pl.col("seen").cast(pl.Datetime))
    after, _ = shifted(table, most=2, latest="2020-05-06")
    counts = (after["came"] - table["came"]).dt.total_days().value_counts(sort=True)
    assert sorted(counts["came"].to_list()) == [-2, -1, 0, 1]
    assert counts["count"].min() > 4_700  # 5 000 each, four standard deviations of 61


def test_who_has_no_room_is_counted_and_who_is_outside_refused() -> None:
    table = visits(1)
    _, facts = shifted(table, most=40, earliest=str(table["came"].min()), latest="2020-11-30", weeks=True)
    assert facts["persons without room for a shift"].n >= 0
    with pytest.raises(Refused, match=r"persons? ha(s|ve) dates before earliest or after latest"):
        shifted(table, most=40, earliest="2020-06-01")
    with pytest.raises(ParameterError, match="earliest must be a day such as 2020-01-31"):
        shoal.ShiftDates(most=3, earliest="soon")
    with pytest.raises(ParameterError, match="earliest must not be after latest"):
        shoal.ShiftDates(most=3, earliest="2020-02-01", latest="2020-01-01")
    with pytest.raises(ParameterError, match="at least 7 days for whole weeks; got 6"):
        shoal.ShiftDates(most=6, weeks=True)
    text = Microdata.of(pl.DataFrame({"p": [1], "q": ["x"]}), {"p": "person", "q": "quasi-identifier"})
    with pytest.raises(DataError, match="Column 'q' holds no dates"):
        shoal.ShiftDates(most=6).apply(text.records, ["q"], np.random.default_rng(0))


def test_no_folder_tells_the_shifts(tmp_path: Any) -> None:
    table = visits(3)
    plan = {
        "columns": {**ROLES, "p": {"role": "person", "release_key": False}},
        "steps": [{"mask": "shift-dates", "most": 400, "weeks": True, "columns": ["came", "seen"]}],
        "requirements": [],
    }
    out = shoal.protect(table, plan, seed=5).write(tmp_path / "out", unproved=True)
    text = "".join(f.read_text(errors="ignore") for f in (out / "release").rglob("*") if f.is_file())
    assert not any(f"P{i}" in text for i in range(12))
    assert "p" not in pl.read_csv(out / "release" / "data.csv").columns


def test_no_column_to_move_is_refused_in_a_sentence() -> None:
    records = Microdata.of(visits(1), ROLES).records
    with pytest.raises(DataError, match="no column is to be moved"):
        shoal.ShiftDates(most=5).apply(records, [], np.random.default_rng(1))
