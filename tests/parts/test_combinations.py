"""Generalisation on distinct combinations: the release, the loss and the levels are those of the whole table."""

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from parts.conftest import released, whole_plan
from shoal import protect
from shoal.vocabulary.errors import Refused

TREE = {"nested": {"warm": ["red", "orange"], "cold": ["blue", "green"]}}
SEED = 1 << 70


def categories(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    return pl.DataFrame(
        {
            "colour": rng.choice(["red", "orange", "blue", "green"], n, p=[0.6, 0.3, 0.09, 0.01]),
            "age": rng.binomial(20, 0.4, n).astype(str),
            "region": rng.choice(["north", "south"], n),
            "illness": rng.choice(["flu", "none"], n),
        }
    )


def plan_with(**step: object) -> dict:
    ages = {"paths": [[str(a), f"{a // 5 * 5}s", "*"] for a in range(21)]}
    return {
        "columns": {
            "colour": {"role": "quasi-identifier", "hierarchy": TREE},
            "age": {"role": "quasi-identifier", "level": "nominal", "hierarchy": ages},
            "region": "quasi-identifier",
            "illness": "confidential",
        },
        "steps": [{"mask": "generalise", "k": 8, "columns": ["colour", "age"], **step}],
        "requirements": [{"privacy": "k-anonymity", "k": 8, "columns": ["colour", "age"]}],
        "accept": ["region", "illness"],
        "output": {"format": "parquet"},
    }


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("loss", "suppression", "strata"), crossed(["ncp", "precision", "entropy", "ncp"], [0.04, 0.0], [False, True, True])
)
def test_it_is_the_recoding_of_the_whole_table(folder_of, tmp_path, loss, suppression, strata):
    frame = categories(1500)
    plan = plan_with(suppression=suppression, loss=loss)
    if strata:
        plan["columns"]["region"] = "stratum"
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    keys = ["colour", "age", "region", "illness"]
    assert released(tmp_path / "out").sort(keys).equals(whole.table.frame.to_native().sort(keys))
    ours, theirs = made.record["steps"][0], whole.record["steps"][0]
    for label in ("levels", "records dropped", "nodes looked at"):
        assert ours[label] == theirs[label]
    bounds = ("no full-domain recoding loses less than", "no recoding with this k loses less than")
    for label in ("loss", *bounds):
        assert ours[label] == pytest.approx(theirs[label], rel=1e-12)
    assert made.evidence.verdicts[0].sentence == whole.evidence.verdicts[0].sentence


@pytest.mark.parametrize("parts", ["one", "many"])
def test_steps_after_groups_take_the_labels_that_these_were_given(folder_of, tmp_path, monkeypatch, parts):
    """A centroid is a common ancestor, no leaf, which every step after it must be able to read."""
    if parts == "many":
        monkeypatch.setattr("shoal.table.parts.source.CHUNK", 70)
    frame = categories(300).with_columns(income=np.random.default_rng(2).normal(size=300))
    plan = plan_with()
    plan["columns"] |= {"income": "other"}
    plan["steps"] = [
        {"partition": "mdav", "k": 3, "replace": "centroid", "columns": ["colour", "age"]},
        {"mask": "top-code", "value": 1.0, "columns": ["income"]},
        {"mask": "suppress-records", "k": 4, "limit": 1.0, "columns": ["colour", "age"]},
    ]
    plan["requirements"][0]["k"] = 4
    plan["accept"] = ["income"]
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED).table.frame.to_native()
    keys = ["colour", "age", "region", "illness", "income"]
    assert released(tmp_path / "out").sort(keys).equals(whole.sort(keys))
    labels = {*whole["colour"], *whole["age"]}
    assert labels & {"warm", "0s", "5s", "10s", "*"} and 0 < len(whole) < 300


def test_no_recoding_is_a_refusal(folder_of, tmp_path):
    plan = plan_with(levels={"colour": [0, 0], "age": [0, 0]})
    with pytest.raises(Refused, match="no combination of levels"):
        protect(folder_of(categories(300)), plan, tmp_path / "out", workers=1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("missing", "strata"), crossed(["equal", "wildcard", "nothing"], [False, True]))
def test_records_are_dropped_as_in_the_whole_table(folder_of, tmp_path, missing, strata):
    gaps = pl.Series(np.random.default_rng(4).random(2000) < 0.02)
    frame = categories(2000).with_columns(
        pl.when(gaps).then(None).otherwise("age").alias("age"),
        pay=pl.Series(np.random.default_rng(5).integers(0, 4, 2000) / 2),
    )
    grade = {"role": "quasi-identifier", "level": "ordinal", "order": ["red", "orange", "blue", "green"]}
    plan = plan_with() | {"steps": [{"mask": "suppress-records", "k": 6, "limit": 0.5, "missing": missing}]}
    plan["columns"] = {
        "colour": grade,
        "age": {"role": "quasi-identifier", "missing": "keep"},
        "region": "stratum" if strata else "other",
        "illness": "confidential",
        "pay": "quasi-identifier",
    }
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 1}]
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    keys = ["colour", "age", "region", "illness", "pay"]
    assert released(tmp_path / "out").sort(keys).equals(whole.table.frame.to_native().sort(keys))
    assert 0 < made.record["steps"][0]["records dropped"] < 1000
    assert made.record["steps"] == whole.record["steps"]


def test_dropping_too_many_is_a_refusal(folder_of, tmp_path):
    plan = plan_with() | {"steps": [{"mask": "suppress-records", "k": 200, "limit": 0.1}]}
    with pytest.raises(Refused, match=r"more than the limit of 0\.1"):
        protect(folder_of(categories(600)), plan, tmp_path / "out", workers=1)
