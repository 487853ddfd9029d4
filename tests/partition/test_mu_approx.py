import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from naive.mu_approx import forest
from shoal.kernels.mu_approx import mu_approx


def test_by_hand():
    # k = 2: row 0 joins 1, row 2 joins 3, row 4 joins 5: three trees of two, none to decompose.
    labels, edges = mu_approx(np.array([[0.0], [1], [10], [11.5], [20], [22]]), 2)
    assert edges.tolist() == [1, -1, 3, -1, 5, -1]
    assert [sorted(np.flatnonzero(labels == labels[i])) for i in (0, 2, 4)] == [[0, 1], [2, 3], [4, 5]]


def test_a_chain_is_cut_at_its_middle():
    # k = 2: 1 joins 0 ... gaps shrink, so each row's nearest is the next one: one tree 0-1-...-7, cut in halves.
    x = np.cumsum([0, 8, 7, 6, 5, 4, 3, 2.0])[:, None]
    labels, edges = mu_approx(x, 2)
    assert edges.tolist()[0] == 1
    assert np.bincount(labels).tolist() == [2, 2, 2, 2] or sorted(np.bincount(labels).tolist()) == [2, 3, 3]
    order = labels[np.argsort(x[:, 0])]
    assert (np.diff(order) != 0).sum() == len(set(order.tolist())) - 1  # runs of the chain


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(1, 9), st.integers(0, 2**32), st.sampled_from([1, 2, 5]),
       st.sampled_from(["normal", "grid", "constant", "star", "chain", "heavy"]))
def test_sizes_whatever_the_data(n, k, seed, d, kind):
    rng = np.random.default_rng(seed)
    x = {
        "normal": lambda: rng.normal(size=(n, d)), "grid": lambda: rng.integers(0, 3, (n, d)) * 1.0,
        "constant": lambda: np.full((n, d), 3.0), "chain": lambda: np.cumsum(rng.uniform(size=(n, d)), axis=0),
        "star": lambda: rng.normal(size=(n, d)) * np.arange(n)[:, None],
        "heavy": lambda: np.exp(3 * rng.normal(size=(n, d))),
    }[kind]()
    sizes = np.bincount(mu_approx(x, k)[0])
    if n < k:
        assert sizes.tolist() == [n]
    else:
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


@given(st.integers(4, 60), st.integers(2, 6), st.integers(0, 2**32))
def test_the_forest_equals_its_definition(n, k, seed):
    x = np.random.default_rng(seed).normal(size=(n, 2))
    if n >= 2 * k:
        np.testing.assert_array_equal(mu_approx(x, k)[1], forest(x, k))


def test_loss_against_mdav():
    # Two far apart spirals: groups follow them, none bridges them.
    t = np.linspace(0, 6, 200)
    arm = np.column_stack([t * np.cos(t), t * np.sin(t)])
    x = np.vstack([arm, arm + 40])
    part = shoal.MuApprox(k=4).partition(x)
    assert part.facts["trees"] >= 2
    assert all(len(set((rows >= 200).tolist())) == 1 for rows in part.members())
    assert part.information_loss(x) < 1.5 * shoal.MDAV(k=4).partition(x).information_loss(x)


def test_k_above_the_number_of_records():
    with pytest.raises(shoal.errors.ParameterError, match=r"k must be an integer in \[1, 3\]"):
        shoal.MuApprox(k=5).partition(np.arange(3.0))
