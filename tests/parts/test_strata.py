"""Noise part by part: the moments of the whole of each stratum, whatever a part happens to hold."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_night import by_night
from parts.conftest import released
from shoal import protect
from shoal.mask.noise import Noise
from shoal.table.joint_moments import JointMoments
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError

SEED = 1 << 70
COLUMNS = {"x": "quasi-identifier", "y": "quasi-identifier", "region": "stratum", "row": "other"}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(1, 4), st.sampled_from([0.0, 1e7]))
def test_moments_of_parts_are_those_of_the_whole(sizes, d, offset):
    parts = [np.random.default_rng([n, d]).standard_normal((n, d)) + offset for n in sizes]
    moments, whole = JointMoments.of_columns(d), np.vstack(parts)
    for part in parts:
        moments.join(JointMoments.of(part))
    assert moments.count == len(whole)
    if len(whole) < 2:
        with pytest.raises(DataError, match="at least 2 records"):
            _ = moments.covariance
        return
    np.testing.assert_allclose(moments.mean, whole.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(whole.T).reshape(d, d), rtol=1e-6, atol=1e-7)
    assert (moments.low == whole.min(axis=0)).all()
    assert (moments.high == whole.max(axis=0)).all()


def table(n: int) -> pl.DataFrame:
    """Sorted, so that each part spreads much less than the whole; the south spreads ten times as much."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.standard_normal(n))
    y = 0.8 * x + 0.6 * rng.standard_normal(n)
    region = rng.choice(["north", "south"], n)
    factor = np.where(region == "south", 10.0, 1.0)
    return pl.DataFrame({"x": x * factor, "y": y * factor, "region": region, "row": np.arange(n)})


KINDS = ["uncorrelated", "correlated", "kim", "restricted", "multiplicative"]


@pytest.mark.parametrize("kind", KINDS)
def test_with_the_moments_of_the_whole_a_part_is_masked_as_the_whole(kind):
    frame = table(400)
    records = Microdata.of(frame, COLUMNS).records
    stratum = (frame["region"] == "south").to_numpy().astype(np.int64)
    moments = []
    for number in (0, 1):
        moments.append(JointMoments.of(frame.select("x", "y").to_numpy()[stratum == number]))
    method = Noise(kind=kind, variance=0.2)
    whole = method.apply(records, ("x", "y"), np.random.default_rng(3)).records
    part = method.apply_to_part(records, ("x", "y"), np.random.default_rng(3), stratum, moments).records
    np.testing.assert_allclose(part.raw(["x", "y"]), whole.raw(["x", "y"]), rtol=1e-9, atol=1e-9)


def plan_of(**noise: object) -> dict:
    return {
        "columns": COLUMNS,
        "steps": [{"mask": "noise", "variance": 0.25, **noise}],
        "accept": ["row", "region"],
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
        "output": {"format": "parquet"},
    }


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["correlated", "kim", "uncorrelated"][: by_night(2, 3)])
def test_noise_is_as_large_as_the_whole_stratum_asks(folder_of, tmp_path, kind):
    frame = table(6000)
    protect(folder_of(frame), plan_of(kind=kind), tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out").sort("row")
    for region in ("north", "south"):
        before, after = (f.filter(pl.col("region") == region).select("x", "y").to_numpy() for f in (frame, out))
        own = np.cov(before.T)
        noise = {"uncorrelated": own + np.diag(0.25 * np.diag(own)), "correlated": 1.25 * own, "kim": own}[kind]
        np.testing.assert_allclose(np.cov(after.T) / own, noise / own, atol=0.06)
        if kind != "kim":  # kim draws towards the mean; the others move no more than they say
            assert (after - before).std(axis=0) == pytest.approx(0.5 * before.std(axis=0), rel=0.05)


@pytest.mark.usefixtures("small_blocks")
def test_values_keep_inside_the_range_of_the_whole(folder_of, tmp_path):
    frame = table(3000)
    protect(folder_of(frame), plan_of(kind="restricted"), tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out")
    for name in ("x", "y"):
        assert frame[name].min() <= out[name].min()
        assert out[name].max() <= frame[name].max()
    assert out["x"].n_unique() == 3000


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["uncorrelated", "kim", "correlated"][: by_night(1, 3)])
def test_known_cells_get_the_noise_that_the_whole_stratum_asks_for(folder_of, tmp_path, kind):
    """Parts without a known cell of a column, and with few, among them."""
    gap = (pl.col("row") % 5 == 0) | (pl.col("row") < 1500)
    frame = table(6000).with_columns(pl.when(gap).then(None).otherwise("x").alias("x"))
    plan = plan_of(kind=kind)
    plan["columns"] = COLUMNS | {"x": {"role": "quasi-identifier", "missing": "keep"}}
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out").sort("row")
    assert out["x"].is_null().equals(frame["x"].is_null())
    for region in ("north", "south"):
        before, after = (f.filter(pl.col("region") == region).select("x", "y").to_numpy() for f in (frame, out))
        factor = 1.0 if kind == "kim" else 1.25
        np.testing.assert_allclose(np.nanvar(after, axis=0), factor * np.nanvar(before, axis=0), rtol=0.06)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(1, 3))
def test_moments_of_parts_with_gaps_are_those_of_the_whole(sizes, d):
    rng = np.random.default_rng([*sizes, d])
    parts = [np.where(rng.random((n, d)) < 0.2, np.nan, rng.standard_normal((n, d))) for n in sizes]
    joined, whole = JointMoments.of_columns(d), JointMoments.of(np.vstack(parts))
    for part in parts:
        joined.join(JointMoments.of(part))
    x = np.vstack(parts)
    complete = x[~np.isnan(x).any(axis=1)]
    assert joined.count == whole.count == len(complete)
    assert (joined.known == (~np.isnan(x)).sum(axis=0)).all()
    for name in ("mean", "products", "means", "squares"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    if min(joined.known) < 2 or len(complete) < 2:
        return
    np.testing.assert_allclose(np.diag(joined.covariance), np.nanvar(x, axis=0, ddof=1), rtol=1e-9)
    r = np.corrcoef(complete.T).reshape(d, d)
    spreads = np.sqrt(np.nanvar(x, axis=0, ddof=1))
    if complete.std(axis=0).min() > 1e-9:
        np.testing.assert_allclose(joined.covariance, r * np.outer(spreads, spreads), rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_groups_of_records_with_missing_cells_are_formed_in_memory(folder_of, tmp_path):
    frame = table(2000).with_columns(pl.when(pl.col("row") % 500 == 0).then(None).otherwise("x").alias("x"))
    plan = plan_of() | {"steps": [{"partition": "mdav", "k": 3, "replace": "centroid"}]}
    plan["columns"] = COLUMNS | {"x": {"role": "quasi-identifier", "missing": "keep"}, "region": "other"}
    with pytest.raises(DataError, match="Column 'x' has 4 missing values; mdav needs complete columns on a table in p"):
        protect(folder_of(frame), plan, tmp_path / "out", workers=1, unproved=True)


def test_columns_that_are_no_numbers_are_refused_as_in_memory(folder_of, tmp_path):
    frame = table(600).with_columns(y=pl.col("region"))
    plan = plan_of()
    with pytest.raises(DataError, match="'y' is nominal; noise needs columns that are continuous"):
        protect(folder_of(frame), plan, tmp_path / "out", workers=1, unproved=True)
