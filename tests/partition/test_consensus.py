import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata


def mixed(n, seed, towns="abc"):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.normal(size=n),
            "pay": rng.lognormal(size=n),
            "town": rng.choice(list(towns), n),
            "grade": rng.integers(0, 3, n),
        }
    )
    roles = dict.fromkeys(frame.columns, "quasi-identifier")
    return Microdata.of(frame, {**roles, "grade": {"role": "quasi-identifier", "level": "ordinal"}}).records


def test_by_hand():
    # By age {0, 1} {10, 11}, by town {a, a} {b, b}: the two partitions agree, and so does the consensus.
    frame = pl.DataFrame({"age": [0.0, 10, 1, 11], "town": ["a", "b", "a", "b"]})
    records = Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records
    part = shoal.Consensus(start={"method": "mdav", "k": 2}).partition(records)
    assert part.labels[0] == part.labels[2] != part.labels[1] == part.labels[3]
    assert part.details["groups by level"] == {"continuous": 2, "nominal": 2}


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 8))
def test_every_group_reaches_k(seed, n, k):
    if k > n:
        with pytest.raises(shoal.ParameterError, match="k must be an integer"):
            shoal.Consensus(start={"method": "mdav", "k": k}).partition(mixed(n, seed))
        return
    part = shoal.Consensus(start={"method": "mdav", "k": k}).partition(mixed(n, seed))
    assert part.k >= k
    losses = part.details["information loss in percent by level"]
    assert set(losses) == {"continuous", "ordinal", "nominal"}


def test_one_level_is_the_method_itself():
    x = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_array_equal(
        shoal.Consensus(start=shoal.MDAV(k=4)).partition(x).labels, shoal.MDAV(k=4).partition(x).labels
    )


def test_the_consensus_serves_every_level_better_than_another_level_s_groups():
    records = mixed(400, 2)
    part = shoal.Consensus(start=shoal.MDAV(k=8)).partition(records)
    alone = shoal.MDAV(k=8).partition(records, columns=["town"])
    assert part.information_loss(records.matrix(["age", "pay"])) < alone.information_loss(
        records.matrix(["age", "pay"])
    )
