"""Procedure 1 of Domingo-Ferrer & Gonzalez-Nicolas (2010) as a plan step: any partition with any synthesiser."""

import numpy as np
import polars as pl
import pytest

import shoal

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


@pytest.mark.parametrize(
    "partition",
    [
        {"partition": "mdav", "k": 12},
        {"partition": "vmdav", "k": 12},
        {"partition": "whole"},
        {"partition": "gaussian-mixture", "k": 12, "groups": 3},
    ],
    ids=lambda p: p["partition"],
)
@pytest.mark.parametrize("synthesiser", SYNTHESISERS)
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
