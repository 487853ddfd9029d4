"""Rare tables and steps: right, or one sentence."""

import datetime as dt
import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.schema import Schema
from shoal.vocabulary.errors import FileError, Refused

N = 40
RNG = np.random.default_rng(2)
FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds")
TABLE = pl.DataFrame(
    {"a": RNG.integers(1, 9, N), "b": RNG.choice(list("xyz"), N), "c": np.round(RNG.lognormal(2, 1, N), 2)}
)
ROLES: dict[str, Any] = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"}
STAMPS = [dt.datetime(2020, 1, 1, 8, i) for i in range(N)]


@pytest.mark.parametrize("later", [{"partition": "mdav", "k": 3, "replace": "centroid"}, {"mask": "suppress", "k": 3}])
@pytest.mark.parametrize("requirements", [[], [{"privacy": "k-anonymity", "k": 3}]])
def test_a_step_that_leaves_no_record(later: dict[str, Any], requirements: list[Any]) -> None:
    steps = [{"mask": "suppress-records", "k": 3, "limit": 1.0}, later]
    unique = TABLE.with_columns(a=pl.int_range(N))
    with pytest.raises(Refused, match="The step suppress-records left no record"):
        shoal.protect(unique, {"columns": ROLES, "steps": steps, "requirements": requirements}, seed=1)


def test_centroids_of_a_nominal_column_with_missing_cells() -> None:
    """By hand: the mode of the known cells of each group; a group without any is missing."""
    frame = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2, 9, 9, 9], "b": ["x", "x", None, None, "y", "x", None, None, None]})
    plan = {
        "columns": {"a": "quasi-identifier", "b": {"role": "quasi-identifier", "missing": "keep"}},
        "steps": [{"partition": "mdav", "k": 3, "replace": "centroid", "by": ["a"], "columns": ["a", "b"]}],
        "output": {"shuffle": False},
    }
    assert shoal.protect(frame, plan, seed=1).data["b"].to_list() == ["x"] * 6 + [None] * 3


@pytest.mark.parametrize("steps", [[], [{"mask": "generalise", "k": 1, "columns": ["a"]}]])
def test_numbers_whose_intervals_are_not_generalised(steps: list[Any], tmp_path: Path) -> None:
    columns = ROLES | {"a": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}}}
    plan = {"columns": columns, "steps": steps, "output": {"shuffle": False}}
    out = shoal.protect(TABLE, plan, seed=1).write(tmp_path / "out", unproved=True)
    assert pl.read_csv(out / "release" / "data.csv")["a"].to_list() == TABLE["a"].to_list()


def protected(column: pl.Series, ending: str, out: Path) -> Path:
    plan = {"columns": ROLES | {"d": "other"}, "output": {"format": ending, "shuffle": False}}
    return (
        shoal.protect(TABLE.with_columns(d=column), plan, seed=1).write(out, unproved=True)
        / "release"
        / f"data.{ending}"
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_large_whole_numbers_among_missing_cells(ending: str, tmp_path: Path) -> None:
    large = pl.Series([None, *(2**31 + i for i in range(N - 1))], dtype=pl.Int64)
    assert shoal.read(protected(large, ending, tmp_path / "out"))["d"].to_list() == large.to_list()


@pytest.mark.parametrize("ending", FORMATS[2:] + FORMATS[:1])
@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([dt.timedelta(seconds=i) for i in range(N)]),
        pl.Series([dt.time(8, i) for i in range(N)]),
        pl.Series(STAMPS).dt.replace_time_zone("Europe/Berlin"),
    ],
    ids=["span", "clock", "zone"],
)
def test_times_are_kept_or_their_column_is_named(cells: pl.Series, ending: str, tmp_path: Path) -> None:
    kept = (ending != "xlsx" and cells.dtype == pl.Time) or ending == "csv"
    if kept and cells.dtype != pl.Duration:
        assert protected(cells, ending, tmp_path / "out").is_file()
        return
    with pytest.raises(FileError, match="'d'") as refusal:
        protected(cells, ending, tmp_path / "out")
    assert "'c'" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", FORMATS)
def test_no_clock_goes_into_a_file(ending: str, tmp_path: Path) -> None:
    """The same bytes a minute or a year later."""
    plan = {"columns": ROLES, "output": {"format": ending}}
    digests = set()
    for number in range(2):
        out = shoal.protect(TABLE, plan, seed=1).write(tmp_path / str(number), unproved=True)
        digests.add(hashlib.sha256((out / "release" / f"data.{ending}").read_bytes()).hexdigest())
        if number == 0:
            pause()
    assert len(digests) == 1
    noted = {"sav": b"01 Jan 8000:00:00", "dta": b"01 Jan 1980 00:00", "xpt": b"01JAN80:00:00:00"}
    assert noted.get(ending, b"") in (out / "release" / f"data.{ending}").read_bytes()


def pause() -> None:
    """Until the second changes: no format notes anything finer."""
    began = dt.datetime.now(dt.UTC).replace(microsecond=0)
    while dt.datetime.now(dt.UTC).replace(microsecond=0) == began:
        time.sleep(0.01)


def test_a_small_seed_is_named_in_the_private_report(tmp_path: Path) -> None:
    for seed, named in ((7, True), (2**64 - 1, True), (2**64, False), (None, False)):
        out = shoal.protect(TABLE, {"columns": ROLES}, seed=seed).write(tmp_path / str(seed), unproved=True)
        assert ("seed is so small" in (out / "private" / "report.html").read_text()) is named
        assert "seed is so small" not in (out / "release" / "report.html").read_text()


def test_a_hundred_thousand_columns() -> None:
    """What looks at each column may not look at all of them for it; the time of drafting is measured elsewhere."""
    names = [f"c{i}" for i in range(100_000)]
    Schema.of(dict.fromkeys(names, "other")).check_covers(names)
