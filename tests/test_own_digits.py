"""Averages, and values moved by rules, have at most the decimals that their column came in with."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal

RNG = np.random.default_rng(1)
N = 60
A, B = RNG.integers(0, 9000, N) / 100, RNG.integers(0, 9000, N) / 100
FRAME = pl.DataFrame(
    {"a": A, "b": B, "total": np.round(A + B, 2), "age": RNG.integers(20, 80, N), "x": RNG.normal(size=N)}
)
COLUMNS = {"a": "quasi-identifier", "b": "quasi-identifier", "total": "other", "age": "quasi-identifier", "x": "other"}
MDAV = {"partition": "mdav", "k": 3}


def places(cells: pl.Series) -> int:
    """The most decimals of a column as it is written."""
    return max(-int(Decimal(repr(cell)).as_tuple().exponent) for cell in cells.to_list())


STEPS: dict[str, list[dict[str, Any]]] = {
    "centroid": [MDAV],
    "median": [{**MDAV, "replace": {"method": "centroid", "continuous": "median"}}],
    "by columns": [
        {
            "mask": "microaggregate-columns",
            "grouping": {"method": "mdav", "k": 3},
            "size": 1,
            "columns": ["a", "b", "age"],
        }
    ],
    "interval means": [{"mask": "recode", "bins": 4, "to": "mean", "columns": ["a", "b"]}],
}


@pytest.mark.parametrize("step", STEPS)
def test_averages(step: str) -> None:
    release = shoal.protect(FRAME, {"columns": COLUMNS, "steps": STEPS[step]}, seed=1).data
    assert places(release["a"]) <= 2
    assert places(release["b"]) <= 2
    assert release["a"].to_list() != FRAME["a"].to_list()


def test_means_of_whole_numbers_and_of_unrounded_ones_stay_as_they_are() -> None:
    columns = {**COLUMNS, "x": "quasi-identifier"}
    release = shoal.protect(FRAME, {"columns": columns, "steps": [MDAV]}, seed=1).data
    assert places(release["age"]) > 2
    assert places(release["x"]) > 10


@pytest.mark.parametrize(
    "steps", [[MDAV], [{"mask": "noise", "columns": ["a", "b"], "variance": 0.3}]], ids=["mdav", "noise"]
)
def test_repair(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    """Sums in cents hold to the cent, as the file writes them."""
    plan = {
        "columns": COLUMNS,
        "steps": steps,
        "constraints": ["a + b == total", "a >= 0", "b >= 0"],
        "output": {"format": "csv"},
    }
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out", unproved=True)
    for line in (out / "release" / "data.csv").read_text().splitlines()[1:]:
        a, b, total = map(Decimal, line.split(",")[:3])
        assert a + b == total
        assert max(-int(x.as_tuple().exponent) for x in (a, b, total)) <= 2


def test_rules_that_leave_no_such_value_are_kept_with_more_digits() -> None:
    """Thirds of cents: 3 a == total cannot hold in cents for every total in cents."""
    total = np.arange(30) * 0.03 + 0.3
    frame = pl.DataFrame({"a": np.round(total / 3, 2), "total": np.round(total, 2)})
    roles = {"a": "quasi-identifier", "total": "quasi-identifier"}
    plan = {"columns": roles, "steps": [{**MDAV, "columns": ["total"]}], "constraints": ["3 * a == total"]}
    released = shoal.protect(frame, plan, seed=1).data
    assert np.allclose(3 * released["a"], released["total"], rtol=1e-12)


def test_noise_without_rules_keeps_its_digits() -> None:
    steps = [{"mask": "noise", "columns": ["a"], "variance": 0.3}]
    assert places(shoal.protect(FRAME, {"columns": COLUMNS, "steps": steps}, seed=1).data["a"]) > 10
    later = shoal.protect(FRAME, {"columns": COLUMNS, "steps": [MDAV, *steps]}, seed=1).data
    assert places(later["a"]) > 10  # the last step made no average of it
    assert places(later["b"]) <= 2


def test_decimals_of_the_plan_come_first() -> None:
    columns = {
        **COLUMNS,
        "a": {"role": "quasi-identifier", "decimals": 4},
        "age": {"role": "quasi-identifier", "decimals": 1},
    }
    release = shoal.protect(FRAME, {"columns": columns, "steps": [MDAV]}, seed=1).data
    assert places(release["a"]) == 4
    assert places(release["age"]) == 1
