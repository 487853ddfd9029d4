"""Microaggregation inside groups."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError


def centres(x: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    data = Records.from_array(x)
    method = shoal.LocalMicroaggregation(k=k)
    return method.apply(data, data.names(), Partition.of(labels), np.random.default_rng(0)).records.raw()


def test_by_hand() -> None:
    """0, 1, 10 and 11 in one group, 1 and 10 in another: pairs within the group, whatever lies near in the other."""
    new = centres(np.array([0.0, 10.0, 1.0, 11.0, 1.0, 10.0]), np.array([0, 0, 0, 0, 1, 1]), 2)
    assert new[:, 0].tolist() == [0.5, 10.5, 0.5, 10.5, 5.5, 5.5]


def test_with_one_group_it_is_microaggregation() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(97, 3))
    records = Records.from_array(x)
    whole = shoal.Centroid().apply(records, records.names(), shoal.MDAV(k=4).partition(records), rng).records.raw()
    assert np.array_equal(centres(x, np.zeros(97), 4), whole)


def test_k_records_share_values_and_groups_keep_their_means() -> None:
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=(300, 2))
    labels = rng.integers(0, 6, 300)
    new = centres(x, labels, 5)
    assert np.unique(new, axis=0, return_counts=True)[1].min() >= 5
    for g in range(6):
        np.testing.assert_allclose(new[labels == g].mean(axis=0), x[labels == g].mean(axis=0), rtol=1e-12)


def test_categories_get_the_mode_of_their_small_group() -> None:
    table = pl.DataFrame({"age": [20, 21, 22, 60, 61, 62], "town": ["a", "a", "b", "c", "d", "c"]})
    plan = {
        "columns": {"age": "quasi-identifier", "town": "quasi-identifier"},
        "steps": [{"partition": "whole", "replace": {"method": "local-microaggregation", "k": 3}}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    released = shoal.protect(table, plan, seed=1).data
    assert sorted(zip(released["age"], released["town"])) == [(21, "a")] * 3 + [(61, "c")] * 3


def test_groups_of_fewer_than_k_are_refused() -> None:
    with pytest.raises(
        ParameterError, match="k must be at most 2, the size of the smallest group; got 3, and 1 group is"
    ):
        centres(np.arange(7.0), np.array([0, 0, 0, 0, 0, 1, 1]), 3)
