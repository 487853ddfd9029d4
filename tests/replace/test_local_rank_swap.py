"""Rank swapping inside groups."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError


def swapped(x: np.ndarray, labels: np.ndarray, p: float, seed: int = 0) -> np.ndarray:
    data = Records.from_array(x)
    rng = np.random.default_rng(seed)
    return shoal.LocalRankSwap(p=p).apply(data, data.names(), Partition.of(labels), rng).records.raw()


@given(n=st.integers(1, 40), groups=st.integers(1, 5), p=st.floats(0.01, 1), seed=st.integers(0, 999))
def test_values_stay_in_their_group_and_near_their_rank(n: int, groups: int, p: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, labels = rng.permutation(n).astype(float), rng.integers(0, groups, n)
    new = swapped(x, labels, p, seed)[:, 0]
    for g in np.unique(labels):
        before, after = x[labels == g], new[labels == g]
        assert np.array_equal(np.sort(before), np.sort(after))
        ranks = np.searchsorted(np.sort(before), before), np.searchsorted(np.sort(before), after)
        assert np.abs(ranks[0] - ranks[1]).max() <= max(int(p * len(before) + 1e-9), 1)


def test_pairs_by_hand() -> None:
    """In groups of two the two values change places, however far apart they are, and one by itself stays."""
    new = swapped(np.array([1.0, 9.0, 2.0, 500.0, 7.0]), np.array([0, 0, 1, 1, 2]), 0.1)
    assert new[:, 0].tolist() == [9.0, 1.0, 500.0, 2.0, 7.0]


def test_missing_cells_stay_and_categories_have_no_rank() -> None:
    frame = pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", "x", "y"]})
    records = Microdata.of(frame, {"a": {"role": "other", "missing": "keep"}, "b": "other"}).records
    part, method = Partition.of([0, 0, 0, 0]), shoal.LocalRankSwap(p=1.0)
    change = method.apply(records, ["a"], part, np.random.default_rng(0))
    assert np.isnan(change.records["a"].values).tolist() == [False, True, False, False]
    assert change.details["by column"]["a"]["without a partner"] == 1
    with pytest.raises(ParameterError, match="Column 'b' is nominal, so its values have no rank"):
        method.apply(records, ["b"], part, np.random.default_rng(0))


def test_correlation_inside_a_narrow_window_stays() -> None:
    """p = .1 in groups of 50: ranks move by five, so that what a group's columns have in common is nearly kept."""
    rng = np.random.default_rng(4)
    x = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 500)
    labels = np.arange(500) // 50
    near, far = (np.corrcoef(swapped(x, labels, p).T)[0, 1] for p in (0.1, 1.0))
    assert near > 0.8
    assert abs(far) < 0.2
