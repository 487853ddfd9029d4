"""Procedure 1 of Domingo-Ferrer & Gonzalez-Nicolas (2010) as a plan step: any partition with any synthesiser."""

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed

N = 120
RNG = np.random.default_rng(11)
FRAME = pl.DataFrame(
    {
        "age": np.rint(RNG.normal(50, 12, N)),
        "pay": RNG.lognormal(3, 0.5, N),
        "debt": RNG.normal(size=N),
        "sex": RNG.choice(["f", "m"], N),
    }
)
ROLES = {"age": "quasi-identifier", "pay": "confidential", "debt": "confidential", "sex": "quasi-identifier"}
SYNTHESISERS = ["ipso", "normal", "permutation", "sequential-regression", "class-conditional"]


def hybrid(partition, replace, columns=("pay", "debt"), **step):
    step = {**partition, "columns": list(columns), "replace": replace, **step}
    return shoal.protect(FRAME, {"columns": ROLES, "steps": [step], "output": {"shuffle": False}}, seed=3)


PARTITIONS = (
    {"partition": "mdav", "k": 12},
    {"partition": "vmdav", "k": 12},
    {"partition": "whole"},
    {"partition": "gaussian-mixture", "k": 12, "groups": 3},
)


@pytest.mark.parametrize(("partition", "synthesiser"), crossed(PARTITIONS, SYNTHESISERS))
def test_any_partition_with_any_synthesiser(partition, synthesiser):
    new = hybrid(partition, synthesiser).data
    assert new["age"].equals(FRAME["age"]) and new["sex"].equals(FRAME["sex"])
    values = new[["pay", "debt"]].to_numpy()
    assert np.isfinite(values).all()
    assert (values != FRAME[["pay", "debt"]].to_numpy()).any()
    if synthesiser in ("ipso", "normal", "class-conditional"):
        np.testing.assert_allclose(np.cov(values.T), np.cov(FRAME[["pay", "debt"]].to_numpy().T), rtol=1e-9)


def test_k_from_the_data_themselves_to_fully_synthetic():
    same = hybrid({"partition": "mdav", "k": 1}, {"method": "ipso", "small": "allow"}).data
    assert same.equals(FRAME)
    distance = []
    for k in (5, 20, N):
        new = hybrid({"partition": "mdav", "k": k}, "ipso").data
        distance.append(float(np.abs(new["pay"] - FRAME["pay"]).mean()))
    assert 0 < distance[0] < distance[1] < distance[2]
    with pytest.raises(shoal.ParameterError, match="ipso needs groups of 5 records, with 1 column kept"):
        hybrid({"partition": "mdav", "k": 4}, "ipso")


def test_groups_by_other_columns():
    release = hybrid({"partition": "mdav", "k": 10}, "permutation", columns=("sex",), by=["age"])
    labels = release.partition.labels
    for g in range(release.partition.n_groups):
        mine = np.flatnonzero(labels == g)
        assert np.ptp(FRAME["age"].to_numpy()[mine]) <= 40
        assert sorted(release.data["sex"][mine]) == sorted(FRAME["sex"][mine])


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("k", [5, 20, 120])
def test_third_central_moments_change_by_less_than_lemma_2_allows(k, missing):
    """Domingo-Ferrer & Gonzalez-Nicolas (2010), Lemma 2, in columns of variance 1 and without their max(1, ...)."""
    rng = np.random.default_rng(k)
    x = rng.lognormal(size=(120, 2))
    part = shoal.MDAV(k=k).partition(x)
    x[rng.random(x.shape) < missing] = np.nan
    x[:, 1] = np.nan_to_num(x[:, 1], nan=1.0)
    frame = pl.DataFrame(x, schema=["a", "b"], nan_to_null=True)
    plain = {"role": "quasi-identifier", "missing": "keep"}
    records = shoal.Microdata.of(frame, {"a": plain, "b": plain}).records
    change = shoal.Normal(small="merge").apply(records, ["a", "b"], part, np.random.default_rng(1))
    moved = change.details["third central moments, in cubed standard deviations"]
    assert moved["largest change"] <= moved["largest that can be"]
    if not missing:
        new, scaled = change.records.raw(), (x - x.mean(axis=0)) / x.std(axis=0)
        after = (new - x.mean(axis=0)) / x.std(axis=0)
        assert moved["largest change"] == pytest.approx(
            np.abs((after**3).mean(axis=0) - (scaled**3).mean(axis=0)).max()
        )
        b = max(
            ((table[rows] - scaled[rows].mean(axis=0)) ** 2).max()
            for rows in part.members()
            for table in (scaled, after)
        )
        assert moved["largest that can be"] == pytest.approx(2 * b**1.5)


def test_smaller_groups_allow_third_moments_to_change_less():
    x = np.random.default_rng(1).normal(size=(400, 2))
    bounds = []
    for k in (5, 20, 400):
        records = shoal.table.records.Records.from_array(x)
        part = shoal.MDAV(k=k).partition(records)
        facts = shoal.Normal().apply(records, records.names(), part, np.random.default_rng(1)).details
        bounds.append(facts["third central moments, in cubed standard deviations"]["largest that can be"])
    assert bounds == sorted(bounds)
    ranged = shoal.Normal(support=("range",)).apply(records, records.names(), part, np.random.default_rng(1)).details
    assert "third central moments, in cubed standard deviations" not in ranged  # the support may move the moments
