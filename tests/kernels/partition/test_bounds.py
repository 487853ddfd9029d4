from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import by_night
from naive.refine import best_loss
from shoal.kernels.partition import groups_below_price
from shoal.kernels.partition.bounds import cheapest, groups_of, loss_of, neighbour_bound, relaxation
from shoal.kernels.partition.programme import VIOLATED, violated_cuts
from shoal.kernels.partition.windows import best_in_window


@settings(max_examples=40)
@given(st.integers(4, 12), st.integers(2, 3), st.integers(0, 2**32), st.sampled_from(["normal", "grid", "outlier"]))
def test_the_list_of_groups_below_price_is_exhaustive(n, k, seed, kind):
    rng = np.random.default_rng(seed)
    x = {
        "normal": rng.normal(size=(n, 2)),
        "grid": rng.integers(0, 3, (n, 2)) * 1.0,
        "outlier": rng.normal(size=(n, 2)) * np.where(np.arange(n) == 0, 50, 1)[:, None],
    }[kind]
    prices = rng.normal(0.3, 1, n) * rng.choice([0.3, 1, 3])
    listed = groups_below_price(x, prices, k, least=1e-9, limit=10**7)
    expected = {
        group: loss_of(x, group) - prices[list(group)].sum()
        for m in range(k, min(2 * k - 1, n) + 1)
        for group in combinations(range(n), m)
    }
    expected = {group: cost for group, cost in expected.items() if cost < -1e-9}
    assert listed.complete
    assert len(listed.groups) == len(set(listed.groups))
    assert set(listed.groups) == set(expected)
    np.testing.assert_allclose(listed.reduced, [expected[group] for group in listed.groups], rtol=1e-9, atol=1e-9)
    for group in expected:
        lowered = (prices - listed.shortfall)[list(group)].sum()
        assert lowered <= loss_of(x, group) + 1e-9


@settings(max_examples=40)
@given(st.integers(2, 7), st.integers(2, 4), st.floats(0.1, 3), st.sampled_from([0.0, 0.3, 0.7]))
def test_groups_that_nothing_tells_apart_are_listed_once_each(n, k, price, side):
    """Duplicates (side 0) and the corners of a simplex: a group of m loses (m - 1) side^2, whoever is in it."""
    listed = groups_below_price(side * np.eye(n), np.full(n, price), k, least=1e-9, limit=10**7)
    expected = {
        group
        for m in range(k, min(2 * k - 1, n) + 1)
        for group in combinations(range(n), m)
        if (m - 1) * side**2 - m * price < -1e-9
    }
    assert len(listed.groups) == len(set(listed.groups))
    assert set(listed.groups) == expected


def test_a_list_that_is_cut_short_says_so():
    x = np.zeros((30, 1))
    assert not groups_below_price(x, np.ones(30), 3, least=1e-9, limit=100).complete


MADE = ["normal", "grid", "constant"]


@settings(max_examples=by_night(6, 25))
@given(st.integers(4, by_night(9, 11)), st.integers(2, 3), st.integers(0, 2**32), st.sampled_from(MADE))
def test_bounds_lie_below_the_optimum_and_in_order(n, k, seed, kind):
    rng = np.random.default_rng(seed)
    x = {"normal": rng.normal(size=(n, 2)), "grid": rng.integers(0, 3, (n, 2)) * 1.0, "constant": np.ones((n, 2))}[kind]
    best = best_loss(x, k)
    everyone = groups_of(np.minimum(np.arange(n) // k, n // k - 1))
    cheap, relaxed = neighbour_bound(x, k), relaxation(x, k, everyone)
    tiny = 1e-9 * (best + 1)
    assert cheap <= relaxed.bound + tiny
    stopped = relaxation(x, k, everyone, rounds=1)
    assert cheap - tiny <= stopped.bound <= relaxed.bound + tiny
    assert relaxed.bound <= relaxed.value + tiny
    assert relaxed.bound <= best + tiny
    groups = best_in_window(x, k, everyone, nodes=1000) or everyone
    assert sum(loss_of(x, group) for group in groups) == pytest.approx(best, abs=1e-9)


def test_neighbour_bound_by_hand():
    # 0, 1, 3, 10; k = 2: nearest squared distances 1, 1, 4, 49, over 2k = 4.
    assert neighbour_bound(np.array([[0.0], [1], [3], [10]]), 2) == pytest.approx(55 / 4)
    assert neighbour_bound(np.zeros((3, 1)), 1) == 0.0


def test_neighbour_bound_with_more_neighbours_than_are_looked_at():
    x = np.random.default_rng(0).normal(size=(200, 2))
    d2 = np.sort(((x[:, None] - x[None]) ** 2).sum(axis=2), axis=1)
    exact = d2[:, 1:100].sum() / 200
    assert 0.5 * exact < neighbour_bound(x, 100) < exact


def test_no_partition_can_be_formed():
    assert cheapest([(0, 1)], np.array([1.0]), 3, nodes=10) is None


def test_half_of_each_pair_of_three_is_cut_off():
    """Two triangles far apart, k = 2: a group of three loses side^2, half of each of its pairs 3/4 of that."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
    x = np.vstack([corners, corners + 100])
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    relaxed = relaxation(x, 2, [(0, 1, 2), (3, 4, 5), *pairs])
    assert set(relaxed.cuts) == {(0, 1, 2), (3, 4, 5)}
    assert relaxed.bound == pytest.approx(2.0, rel=1e-3) and relaxed.bound <= 2.0
    assert relaxed.prices.sum() - relaxed.tolls.sum() == pytest.approx(relaxed.bound, rel=1e-6)
    reduced = relaxed.reduced(pairs, np.full(6, 0.5))
    assert reduced.min() >= -1e-9 and reduced.max() < 1e-2


@settings(max_examples=40)
@given(st.integers(6, 14), st.integers(2, 4), st.integers(2, 5), st.integers(0, 2**32))
def test_violated_cuts_are_those_of_all_triples(n, k, partitions, seed):
    rng = np.random.default_rng(seed)
    shares: dict[tuple[int, ...], float] = {}
    for _ in range(partitions):
        labels = rng.permutation(np.minimum(np.arange(n) // k, n // k - 1))
        for group in groups_of(labels):
            shares[group] = shares.get(group, 0.0) + 1 / partitions
    over = {
        cut: total
        for cut in combinations(range(n), 3)
        if (total := sum(share for group, share in shares.items() if len(set(cut) & set(group)) >= 2)) > 1 + VIOLATED
    }
    violated = violated_cuts(shares)
    assert set(violated) <= set(over)
    assert bool(violated) == bool(over)
    if violated:
        assert over[violated[0]] == pytest.approx(max(over.values()))
        assert (np.diff([over[cut] for cut in violated]) <= 1e-8).all()
