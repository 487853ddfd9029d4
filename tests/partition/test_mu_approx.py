import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.partition.mdav import MDAV
from shoal.partition.mu_approx import MuApprox
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError


def test_by_hand():
    # Two clumps of three: the forest has one tree each, and nothing is cut.
    assert MuApprox(k=3).partition(np.array([0.0, 13, 1, 10, 3, 11])).labels.tolist() == [0, 1, 0, 1, 0, 1]


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**32), st.integers(1, 6))
def test_every_group_has_k_to_2k_less_1(n, k, seed, values):
    x = np.random.default_rng(seed).integers(0, values, (n, 2)).astype(float)
    if n < k:
        with pytest.raises(ParameterError, match=rf"k must be an integer in \[1, {n}\]"):
            MuApprox(k=k).partition(x)
        return
    part = MuApprox(k=k).partition(x)
    assert k <= part.k
    assert part.sizes.max() <= 2 * k - 1


def test_groups_adapt_to_clumps():
    """Clumps of 3 to 5 far from each other, k = 3: each is a group, which groups of exactly 3 could not give."""
    rng = np.random.default_rng(2)
    clump = np.repeat(np.arange(12), [3, 4, 5] * 4)
    x = rng.normal(size=(len(clump), 2)) + 100.0 * clump[:, None]
    assert MuApprox(k=3).partition(x).labels.tolist() == clump.tolist()


def test_groups_follow_two_spirals_and_none_bridges_them():
    t = np.linspace(0, 6, 200)
    arm = np.column_stack([t * np.cos(t), t * np.sin(t)])
    x = np.vstack([arm, arm + 40])
    part = MuApprox(k=4).partition(x)
    assert part.details["trees"] >= 2
    assert all(len(set((rows >= 200).tolist())) == 1 for rows in part.members())
    assert part.information_loss(x) < 1.5 * MDAV(k=4).partition(x).information_loss(x)


def test_the_same_from_every_frame_and_on_mixed_columns():
    values = np.random.default_rng(1).normal(size=(50, 2))
    labels = MuApprox(k=3).partition(values).labels.tolist()
    frame = pl.DataFrame(values, schema=["a", "b"])
    for same in (pd.DataFrame(values, columns=["a", "b"]), frame, frame.to_arrow()):
        assert MuApprox(k=3).partition(same).labels.tolist() == labels
    mixed = frame.with_columns(ward=pl.Series(["x", "y"] * 25))
    data = Microdata.of(mixed, dict.fromkeys(mixed.columns, "quasi-identifier"))
    assert MuApprox(k=3).partition(data).k >= 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"k": 0}, "mu-approx: k must be greater than or equal to 1; got 0."),
        ({}, "mu-approx needs the parameter 'k'; give it a value."),
    ],
)
def test_bad_parameters(bad, message):
    with pytest.raises(ParameterError, match=message):
        MuApprox(**bad)
