"""An unchanged column that gives back a column which steps changed stops the release until somebody answers for it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal

RNG = np.random.default_rng(1)
N = 400
AGE = RNG.integers(18, 90, N)
FRAME = pl.DataFrame(
    {
        "age": AGE,
        "sex": RNG.choice(["f", "m"], N),
        "copy": AGE.astype(float),
        "near": AGE + RNG.normal(size=N) * 0.01,
        "born": 2020 - AGE,
        "months": 12 * AGE,
        "name": [f"n{code}" for code in (7 * AGE % 97)],
        "noisy": AGE + RNG.normal(size=N) * 3,
        "band": AGE // 10,
        "pay": RNG.lognormal(8, 1, N).round(2),
    }
)


def plan(column: str, **sections: Any) -> dict[str, Any]:
    columns = {"age": "quasi-identifier", "sex": "quasi-identifier", column: {"role": "confidential"}}
    steps = [{"partition": "mdav", "k": 5}]
    required = [{"privacy": "k-anonymity", "k": 5}]
    return {"columns": columns, "steps": steps, "requirements": required, **sections}


def release(column: str, **sections: Any) -> shoal.Release:
    return shoal.protect(FRAME.select("age", "sex", column), plan(column, **sections), seed=1)


@pytest.mark.parametrize("column", ["copy", "near", "months", "name"])
def test_a_copy_of_an_averaged_key_stops_the_release(column: str) -> None:
    """An exact copy, one within rounding, one in another unit, and one in other words."""
    way = "look-up" if column == "name" else "arithmetic"
    with pytest.raises(shoal.Refused, match=f"'{column}' gives 'age' back, by {way}, in 400 records") as refusal:
        release(column)
    assert str(refusal.value).endswith(f"answer for it in the plan: accept: [{column}].")
    assert refusal.value.reasons == {column: "gives 'age' back"}


@pytest.mark.parametrize("column", ["noisy", "band", "pay"])
def test_what_is_near_or_coarse_or_apart_gives_nothing_back(column: str) -> None:
    assert release(column).evidence.holds


def test_it_may_be_accepted_changed_alike_or_made_a_key() -> None:
    assert "copy" in release("copy", accept=["copy"]).account.accepted
    coarse = [{"partition": "mdav", "k": 5}, {"mask": "recode", "columns": ["copy"], "width": 10}]
    assert release("copy", steps=coarse).evidence.holds
    keys = dict.fromkeys(("age", "sex", "copy"), "quasi-identifier")
    assert release("copy", columns=keys).evidence.holds


@pytest.mark.parametrize("step", [{"mask": "noise", "variance": 1e-5}, {"mask": "top-code", "value": 85}])
def test_a_copy_that_is_nearly_unchanged_stops_it_too(step: dict[str, object]) -> None:
    steps = [{"partition": "mdav", "k": 5}, {**step, "columns": ["copy"]}]
    with pytest.raises(shoal.Refused, match="that leave unchanged, or nearly so, give back others"):
        release("copy", steps=steps)


def test_a_copy_that_changed_where_the_key_did_tells_nothing_of_it() -> None:
    """Both have their highest values cut off, so that those below stand in both as they came."""
    frame = FRAME.select(age=pl.col("age") % 20, copy=pl.col("age") % 20, sex=pl.lit("f"))
    steps = [{"mask": "top-code", "columns": ["age", "copy"], "value": 15}]
    assert shoal.protect(frame, plan("copy", steps=steps), seed=1).evidence.holds
    with pytest.raises(shoal.Refused, match="'copy' gives 'age' back"):
        shoal.protect(frame, plan("copy", steps=[{**steps[0], "columns": ["age"]}]), seed=1)


def test_a_copy_that_is_averaged_together_with_the_key_tells_no_more_than_it() -> None:
    steps = [{"partition": "mdav", "k": 5, "columns": ["age", "sex", "copy"]}]
    assert release("copy", steps=steps).evidence.holds


def test_two_columns_together_and_a_plan_that_changes_nothing() -> None:
    """Wages and other income give the whole back, of which groups have the mean; without a step there is none."""
    rng = np.random.default_rng(2)
    parts = pl.DataFrame({"wage": rng.integers(1000, 9000, 300), "more": rng.integers(0, 900, 300)})
    frame = parts.with_columns(income=pl.col("wage") + pl.col("more"))
    columns = {"income": "quasi-identifier", "wage": "confidential", "more": "confidential"}
    with pytest.raises(shoal.Refused, match=r"'wage', 'more' give 'income' back"):
        shoal.protect(frame, plan("wage", columns=columns), seed=1)
    same = frame.with_columns(income=pl.lit(1))
    assert shoal.protect(same, plan("wage", columns=columns, steps=[]), seed=1).evidence.holds


def test_a_table_in_parts_is_looked_at_too(tmp_path: Path) -> None:
    FRAME.select("age", "sex", "months").write_parquet(tmp_path / "t.parquet")
    described = {**plan("months", exact=False), "output": {"format": "parquet"}}
    with pytest.raises(shoal.Refused, match=re.escape("'months' gives 'age' back")):
        shoal.protect(tmp_path / "t.parquet", described, tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()
