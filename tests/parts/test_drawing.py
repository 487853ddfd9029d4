"""A sample part by part: as many units as in memory, whole households, weights by stratum, records in their order."""

import numpy as np
import polars as pl
import pytest

import shoal
from parts.conftest import released, whole_plan
from shoal import protect
from shoal.vocabulary.errors import ParameterError

SEED = 1 << 70


def table(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    homes = rng.permutation(np.arange(n) // 3)
    return pl.DataFrame(
        {
            "row": np.arange(n),
            "age": rng.integers(18, 95, n),
            "region": np.where(homes % 10 < 7, "north", "south"),
            "weight": rng.integers(1, 5, n).astype(float),
            "home": homes,
        }
    )


def plan_of(step: dict, *, home: str = "other") -> dict:
    return {
        "columns": {"row": "other", "age": "quasi-identifier", "region": "stratum", "weight": "weight", "home": home},
        "steps": [{"mask": "sample", **step}],
        "accept": ["row", "region", "weight", "home"],
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
        "output": {"format": "parquet", "shuffle": False},
    }


@pytest.mark.usefixtures("small_blocks")
def test_one_table_gives_the_counts_and_weights_of_memory(folder_of, tmp_path):
    frame, plan = table(3000), plan_of({"fraction": 0.3})
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    assert made.record["steps"] == whole.record["steps"]
    ours, theirs = released(tmp_path / "out"), whole.table.frame.to_native()
    assert ours.schema == theirs.schema
    counts = [dict(f.group_by("region").len().rows()) for f in (ours, theirs)]
    assert counts[0] == counts[1]
    assert ours["row"].is_sorted()
    before = frame[ours["row"].to_list()]
    assert ours.drop("weight").equals(before.drop("weight"))
    for region, count in counts[0].items():
        factor = (frame["region"] == region).sum() / count
        inside = (ours["region"] == region).to_numpy()
        np.testing.assert_allclose(ours["weight"].to_numpy()[inside], before["weight"].to_numpy()[inside] * factor)


@pytest.mark.usefixtures("small_blocks")
def test_all_records_are_equally_likely(folder_of, tmp_path):
    frame = table(3000)
    protect(folder_of(frame), plan_of({"size": 1000}), tmp_path / "out", seed=SEED, workers=1, unproved=True)
    rows = released(tmp_path / "out")["row"].to_numpy()
    assert len(rows) == 1000
    assert np.bincount(rows // 500).min() > 120  # 167 in each of six parts, give or take four deviations


@pytest.mark.usefixtures("small_blocks")
def test_households_are_drawn_whole(folder_of, tmp_path):
    frame = table(3000)
    plan = plan_of({"fraction": 0.25}, home="household")
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out")
    homes = frame[out["row"].to_list()]["home"]
    assert homes.n_unique() == 250
    assert len(out) == 750
    sample = made.record["steps"][0]
    assert sample == shoal.protect(frame, whole_plan(plan), seed=SEED).record["steps"][0]
    assert (sample["unit"], sample["units"], sample["units kept"]) == ("household", 1000, 250)


def test_more_units_than_there_are_cannot_be_drawn(folder_of, tmp_path):
    with pytest.raises(ParameterError, match="size must be at most 300, the number of units"):
        protect(folder_of(table(300)), plan_of({"size": 301}), tmp_path / "out", workers=1, unproved=True)


@pytest.mark.usefixtures("small_blocks")
def test_groups_of_an_earlier_step_stay_with_their_records(folder_of, tmp_path):
    frame, plan = table(2000), plan_of({"fraction": 0.9})
    plan["columns"] = plan["columns"] | {"region": "other"}
    plan["steps"] = [{"partition": "mdav", "k": 5, "replace": "centroid"}, *plan["steps"]]
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out")
    groups = pl.read_parquet(tmp_path / "out" / "private" / "groups" / "*.parquet")
    assert groups["row"].to_list() == out["row"].to_list()
    assert out.with_columns(group=groups["group"]).group_by("group").agg(pl.col("age").n_unique())["age"].max() == 1
