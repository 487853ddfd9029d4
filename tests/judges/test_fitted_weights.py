import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.judges.fitted_weights import fitted_weights
from shoal.kernels.search.nearest import link
from shoal.risk.distance_linkage import DistanceLinkage

COLUMNS = np.arange(2)


def linked(x, y, weights):
    return link(x * np.sqrt(weights), y * np.sqrt(weights), np.arange(len(x))).sum()


def test_by_hand():
    # The first column is kept and tells all apart, the second is released in another order and is ten times as wide:
    # unweighted nobody is found; the weights that link all four give the second column less than a hundredth.
    x = np.array([[0.0, 0], [1, 10], [2, 20], [3, 30]])
    y = np.array([[0.0, 30], [1, 20], [2, 10], [3, 0]])
    weights = fitted_weights(x, y, np.arange(4), COLUMNS, np.random.default_rng(0))
    assert weights.sum() == pytest.approx(2)
    assert (linked(x, y, np.ones(2)), linked(x, y, weights)) == (0, 4)
    assert weights[1] < 0.02


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.05, 0.3, 1.0]))
def test_nearly_as_many_as_the_best_of_all_weights(seed, spread):
    """The slow twin tries weights of two columns in a hundred steps and counts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 2))
    y = x + rng.normal(size=x.shape) * [spread, 3 * spread * rng.random()]
    best = max(linked(x, y, np.array([w, 2 - w])) for w in np.linspace(0, 2, 101))
    weights = fitted_weights(x, y, np.arange(40), COLUMNS, rng)
    assert linked(x, y, np.ones(2)) <= linked(x, y, weights)
    assert linked(x, y, weights) >= 0.8 * best - 1


def released(rng, n=300):
    """Five columns, of which one is nearly untouched and the others are noise."""
    x = rng.normal(size=(n, 5))
    return x, x + rng.normal(size=x.shape) * [0.001, 4, 4, 4, 4]


@pytest.mark.parametrize("direction", ["released to original", "original to released"])
def test_the_attacker_finds_the_column_that_gives_people_away(direction, rng):
    x, y = released(rng)
    plain, fitted = (
        DistanceLinkage(metric=metric, direction=direction).measure(x, y) for metric in ("euclidean", "fitted")
    )
    assert plain.value < 0.1
    assert fitted.value > 0.85
    assert fitted.interval.low < fitted.value < fitted.interval.high
    assert fitted.title == "Records found again by distance (metric fitted" + (
        ")" if direction == "released to original" else f"; direction {direction})"
    )


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_never_fewer_than_unweighted_whatever_the_columns(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 30), "b": rng.choice(list("xyz"), 30), "c": np.ones(30)})
    frame["a"] = frame["a"].where(rng.random(30) > 0.1)
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame}
    before = shoal.Microdata.of(frame, roles).records
    after = before.with_variables(before["a"].take(rng.permutation(30)), before["b"].take(rng.permutation(30)))
    plain, fitted = (DistanceLinkage(metric=metric).measure(before, after).value for metric in ("euclidean", "fitted"))
    assert fitted >= plain


def test_as_a_gate(rng):
    x, y = released(rng)
    plan = {
        "columns": dict.fromkeys("abcde", "quasi-identifier"),
        "requirements": [{"risk": "distance-linkage", "metric": "fitted", "at most": 0.9}],
    }
    with pytest.raises(shoal.Refused, match="metric fitted"):
        shoal.protect(pd.DataFrame(x, columns=list("abcde")), plan, seed=1)
    assert DistanceLinkage(metric="fitted").measure(x, x).value == 1
    assert DistanceLinkage(metric="fitted").measure(x, np.zeros_like(x)).value == pytest.approx(1 / len(x))
    assert DistanceLinkage(metric="fitted").measure(x[:1], x[:1]).value == 1
