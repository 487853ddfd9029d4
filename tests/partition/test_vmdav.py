import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.partition.vmdav import GRID, VMDAV
from shoal.vocabulary.errors import ParameterError


def clustered(seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(10 * c, 1, (4 + c % 3, 2)) for c in range(12)])


def test_by_hand():
    # 0, 1, 2 | 20, 21, 22: with k = 2 and gamma = 1 each third record joins (1 < 18), groups of exactly 2 would
    # have to mix the clusters.
    x = np.array([[0.0], [1], [2], [20], [21], [22]])
    assert VMDAV(k=2, gamma=1.0).partition(x).labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert VMDAV(k=2, gamma=0.0).partition(x).n_groups == 3


def test_auto_takes_the_best_of_the_grid():
    x = clustered()
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    trials = [VMDAV(k=4, gamma=gamma).partition(x) for gamma in GRID]
    losses = [trial.sse(z) for trial in trials]
    chosen = VMDAV(k=4).partition(x)
    assert chosen.sse(z) == pytest.approx(min(losses), rel=1e-12)
    assert chosen.details["gamma"] == GRID[int(np.argmin(losses))] > 0
    assert list(chosen.details["sse by gamma"].values()) == pytest.approx(losses)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**32))
def test_every_group_has_k(n, k, seed):
    x = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)
    if n < k:
        with pytest.raises(ParameterError, match=rf"k must be an integer in \[1, {n}\]"):
            VMDAV(k=k).partition(x)
    else:
        assert VMDAV(k=k).partition(x).k >= k


def test_progress_rises_over_the_whole_grid():
    seen = []
    VMDAV(k=2).partition(clustered(), progress=seen.append)
    assert seen == sorted(seen)
    assert {number / len(GRID) for number in range(1, len(GRID) + 1)} <= {*seen}  # however quick the kernel is


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"k": 0}, "vmdav: k must be greater than or equal to 1; got 0."),
        ({"k": 3, "gamma": -0.1}, "vmdav: gamma must be greater than or equal to 0 or 'auto'; got -0.1."),
        ({"k": 3, "gamma": float("nan")}, "vmdav: gamma must be a finite number or 'auto'; got nan."),
        ({"k": 3, "gamma": "best"}, "vmdav: gamma must be a valid number, .* or 'auto'; got 'best'."),
        ({}, "vmdav needs the parameter 'k'; give it a value."),
    ],
)
def test_bad_parameters(bad, message):
    with pytest.raises(ParameterError, match=message):
        VMDAV(**bad)
