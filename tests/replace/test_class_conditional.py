import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.partition.latent_class import LatentClass
from shoal.partition.local_synthesis import LocalSynthesis
from shoal.replace.class_conditional import ClassConditional, balanced_draw
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.vocabulary.errors import DataError, ParameterError

QI = "quasi-identifier"


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    frame = pd.DataFrame({"x": rng.normal(size=n) + 6 * truth, "y": rng.normal(size=n)})
    frame["a"] = np.where(rng.random(n) < np.where(truth, 0.95, 0.05), "yes", "no")
    frame["b"] = rng.choice(["u", "v", "w"], n, p=[0.6, 0.3, 0.1])
    return frame


def records(frame, **roles):
    return Microdata.of(frame, {name: roles.get(name, QI) for name in frame}).records


def test_own_shares_by_hand():
    # Two groups of 4: "a" a a b and b b b b. Shares with one more record that is 3/8 a, 5/8 b:
    # (3.375, 1.625)/5 and (0.375, 4.625)/5; balanced: 4 p = (2.7, 1.3) and (0.3, 3.7).
    frame = pd.DataFrame({"c": list("aaab" + "bbbb")})
    data = records(frame)
    part = Partition(labels=np.repeat([0, 1], 4))
    counts = np.zeros((200, 2))
    for seed in range(200):
        drawn = (
            ClassConditional()
            .apply(data, data.quasi_identifiers, part, np.random.default_rng(seed))
            .records["c"]
            .values
        )
        counts[seed] = (drawn[:4] == 0).sum(), (drawn[4:] == 0).sum()
    assert set(counts[:, 0]) == {2.0, 3.0}
    assert set(counts[:, 1]) == {0.0, 1.0}
    assert counts.mean(axis=0) == pytest.approx([2.7, 0.3], abs=0.12)  # 4 standard errors: 4 sqrt(.21/200)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 50), st.integers(0, 100))
def test_balanced_draw_differs_from_expectation_by_less_than_one(weights, size, seed):
    shares = np.array(weights) + 1e-3
    shares /= shares.sum()
    codes = balanced_draw(shares, size, np.random.default_rng(seed))
    assert len(codes) == size
    counts = np.bincount(codes, minlength=len(shares))
    assert (np.abs(counts - size * shares) < 1 + 1e-6).all()


def test_after_latent_classes_each_group_draws_from_its_own_table():
    data = records(table())
    part = LatentClass(k=20, groups=2).partition(data, columns=["a", "b"], seed=0)
    change = ClassConditional().apply(data, ["a", "b"], part, np.random.default_rng(1))
    new = change.records["b"].values
    for g in (0, 1):
        expected = part.sizes[g] * part.model.tables[1][:, g]
        assert np.abs(np.bincount(new[part.labels == g], minlength=3) - expected).max() < 1 + 1e-6
    assert (change.records["x"].values == data["x"].values).all()
    json.dumps(change.details, allow_nan=False)


def test_after_local_synthesis_moments_are_exact_and_answers_follow_the_new_values():
    frame = table(400)
    data = records(frame)
    part = LocalSynthesis(k=50, groups=2, models=("VVI",)).partition(data, seed=0)
    new = ClassConditional().apply(data, data.quasi_identifiers, part, np.random.default_rng(1)).records
    for rows in part.members():
        assert new["x"].values[rows].mean() == pytest.approx(frame.x[rows].mean(), abs=1e-12)
        assert new["x"].values[rows].var() == pytest.approx(frame.x[rows].var(ddof=0), rel=1e-9)
    gap = frame.x[frame.a == "yes"].mean() - frame.x[frame.a == "no"].mean()
    yes = new["a"].values == 1
    assert new["x"].values[yes].mean() - new["x"].values[~yes].mean() == pytest.approx(gap, abs=0.5)


def test_rare_categories_are_reported_or_never_drawn():
    frame = table()
    frame.loc[[0, 1], "b"] = "rare"
    data = records(frame)
    part = Partition(labels=np.arange(120) // 30)
    reported = ClassConditional().apply(data, ["a", "b"], part, np.random.default_rng(0))
    assert reported.details["categories held by too few records"] == {
        "b": 2
    }  # "rare" 2 records, "w" some 12: both < 30
    enough = ClassConditional(rare_below=2).apply(data, ["a", "b"], part, np.random.default_rng(0))
    assert enough.details["categories held by too few records"].get("b", 0) == 0  # two records are not fewer than 2
    strict = ClassConditional(rare="suppress", rare_below=5).apply(data, ["a", "b"], part, np.random.default_rng(0))
    assert strict.details["categories held by too few records"] == {"b": 1}
    assert strict.details["these categories were"] == "never drawn"
    code = data["b"].categories.index("rare")
    assert (strict.records["b"].values != code).all()
    with pytest.raises(DataError, match="column 'a' has only categories held by fewer records than rare_below"):
        ClassConditional(rare="suppress", rare_below=1000).apply(data, ["a", "b"], part, np.random.default_rng(0))


def test_a_column_the_classes_do_not_describe():
    data = records(table())
    part = LatentClass(k=20, groups=2).partition(data, columns=["a"], seed=0)
    with pytest.raises(ParameterError, match="the partition's classes do not describe 'b'"):
        ClassConditional().apply(data, ["a", "b"], part, np.random.default_rng(0))


def test_continuous_replacement_can_be_chosen():
    data = records(table())
    part = Partition(labels=np.arange(120) // 30)
    change = ClassConditional(continuous="centroid").apply(data, data.quasi_identifiers, part, np.random.default_rng(0))
    assert len(np.unique(change.records["x"].values)) == 4
    assert shoal.ClassConditional is ClassConditional


def test_same_seed_same_draw_for_every_frame():
    frame = table()
    part = Partition(labels=np.arange(120) // 30)
    expected = (
        ClassConditional().apply(data := records(frame), data.quasi_identifiers, part, np.random.default_rng(5)).records
    )
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        got = (
            ClassConditional()
            .apply(data := records_of(other), data.quasi_identifiers, part, np.random.default_rng(5))
            .records
        )
        for name in frame:
            assert got[name].values.tolist() == expected[name].values.tolist()


def records_of(frame):
    names = frame.columns if isinstance(frame, pl.DataFrame) else frame.column_names
    return Microdata.of(frame, dict.fromkeys(names, QI)).records


def test_missing_cells_are_drawn_as_a_category_is():
    # A group of 8 with two missing, one of 12 with none: with one more record that is missing by 2/20, as often as
    # expected up to one: 8 * 2.1/9 = 1.87 and 12 * .1/13 = .09.
    frame = pl.DataFrame({"a": [None] * 2 + ["x"] * 6 + ["y"] * 12, "x": np.arange(20.0)})
    frame = frame.with_columns(pl.when(pl.col("x") == 3).then(None).otherwise(pl.col("x")).alias("x"))
    data = Microdata.of(frame, {name: {"role": QI, "missing": "keep"} for name in frame.columns}).records
    part = Partition(labels=np.repeat([0, 1], [8, 12]))
    seen = set()
    for seed in range(10):
        new = ClassConditional().apply(data, ("a", "x"), part, np.random.default_rng(seed)).records
        counts = [int(new["a"].missing[part.labels == g].sum()) for g in range(2)]
        assert counts[0] in (1, 2)
        assert counts[1] in (0, 1)
        assert new["x"].missing.sum() == 1
        seen.add(tuple(np.flatnonzero(new["a"].missing)))
    assert len(seen) > 3
