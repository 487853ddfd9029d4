"""Trees: every split is the best there is, leaves are what a walk down the tree finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.trees import impurity, leaf_of, least_impurity
from shoal.kernels.trees.grow import Features, grow


def test_one_split_by_hand() -> None:
    """1 1 | 9 9: the sum of squares falls from 64 to 0 between 2 and 3."""
    tree = grow(Features.of([np.array([2.0, 1.0, 3.0, 4.0])], [0]), np.array([1.0, 1.0, 9.0, 9.0]), min_leaf=1)
    assert leaf_of(tree).tolist() == [0, 0, 1, 1]
    assert tree.leaves(np.array([[2.0, 2.5, 3.0, -9.0, 99.0]])).tolist() == [0, 1, 1, 0, 1]


def test_categories_are_divided_by_their_means() -> None:
    x = np.array([0, 1, 2, 0, 1, 2], dtype=float)
    tree = grow(Features.of([x], [3]), np.array([1.0, 8.0, 1.0, 1.0, 8.0, 1.0]), min_leaf=1)
    assert leaf_of(tree)[0] == leaf_of(tree)[2] != leaf_of(tree)[1]


def test_a_category_that_was_not_seen_goes_with_the_many() -> None:
    x = np.array([0, 0, 0, 1], dtype=float)
    tree = grow(Features.of([x], [3]), np.array([1.0, 1.0, 1.0, 9.0]), min_leaf=1)
    assert tree.leaves(np.array([[2.0]]))[0] == leaf_of(tree)[0]


def test_missing_numbers_make_a_side_of_their_own_or_join_one() -> None:
    x = np.array([1.0, 2.0, np.nan, np.nan])
    apart = grow(Features.of([x], [0]), np.array([0.0, 0.0, 5.0, 5.0]), min_leaf=1)
    assert leaf_of(apart).tolist() == [0, 0, 1, 1]
    low = grow(Features.of([x], [0]), np.array([5.0, 0.0, 5.0, 5.0]), min_leaf=1)
    assert leaf_of(low)[0] == leaf_of(low)[2] != leaf_of(low)[1]


def test_equal_responses_are_not_parted() -> None:
    tree = grow(Features.of([np.arange(9.0)], [0]), np.full(9, 7.7), min_leaf=1)
    assert leaf_of(tree).max() == 0


def test_complexity_prunes() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 400))
    y = (x[0] > 0) + 0.05 * rng.normal(size=400)
    features = Features.of(list(x), [0, 0, 0])
    assert len(grow(features, y, min_leaf=5).sizes) > 11
    assert len(grow(features, y, min_leaf=5, complexity=0.01).sizes) == 2


@st.composite
def tables(draw):
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    levels = [draw(st.sampled_from([0, 0, 2, 4])) for _ in range(d)]
    x = np.array([rng.integers(0, count or 5, n).astype(float) for count in levels])
    for j, count in enumerate(levels):
        if not count and draw(st.booleans()):
            x[j, rng.random(n) < 0.3] = np.nan
    classes = draw(st.sampled_from([0, 0, 2]))
    y = rng.integers(0, classes or 4, n) if classes else rng.integers(0, 4, n) * 1.5
    return x, levels, y, classes, draw(st.integers(1, 4))


@given(tables())
def test_the_first_split_is_the_best_of_all(table) -> None:
    """The root is parted where nothing does better, and is left whole only where nothing does any good."""
    x, levels, y, classes, min_leaf = table
    tree = grow(Features.of(list(x), levels), y, classes=classes, min_leaf=min_leaf)
    feature, threshold, missing_left, mask, left, right, leaf, masks = tree.nodes
    best = least_impurity(x, levels, y, classes, min_leaf)
    whole = impurity(y, classes)
    if leaf[0] >= 0:
        assert best is None or best >= whole - 1e-9
        return
    below = {left[0]}
    for node in range(len(leaf)):
        if node in below and leaf[node] < 0:
            below |= {left[node], right[node]}
    on_left = np.isin(leaf_of(tree), [leaf[node] for node in below])
    assert impurity(y[on_left], classes) + impurity(y[~on_left], classes) == pytest.approx(best, abs=1e-9)


@given(tables())
def test_leaves_hold_enough_and_are_found_again(table) -> None:
    x, levels, y, classes, min_leaf = table
    tree = grow(Features.of(list(x), levels), y, classes=classes, min_leaf=min_leaf)
    assert tree.leaves(x).tolist() == leaf_of(tree).tolist()
    assert np.bincount(leaf_of(tree)).min() >= min(min_leaf, len(y))


def test_several_classes_are_parted() -> None:
    x = np.repeat(np.arange(4.0), 5)
    tree = grow(Features.of([x], [4]), np.repeat(np.arange(4), 5), classes=4, min_leaf=1)
    assert len(set(leaf_of(tree)[::5])) == 4


def test_features_at_random_repeat_with_the_seed() -> None:
    rng = np.random.default_rng(2)
    features = Features.of(list(rng.normal(size=(6, 200))), [0] * 6)
    y = rng.normal(size=200)
    once, again, other = (grow(features, y, min_leaf=5, looked_at=2, seed=s).members.tolist() for s in (1, 1, 2))
    assert once == again != other


def test_some_of_the_cases_stay_in_order() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (3, 40)).astype(np.float64)
    x[0, 7] = np.nan
    rows = np.flatnonzero(rng.random(40) < 0.6)
    taken, anew = Features.of(list(x), [0, 5, 0]).take(rows), Features.of(list(x[:, rows]), [0, 5, 0])
    assert np.array_equal(taken.orders, anew.orders)
    assert np.array_equal(taken.x, anew.x, equal_nan=True)


@given(tables(), st.integers(0, 10**6))
def test_a_case_that_counts_several_times_is_as_so_many(table, seed) -> None:
    x, levels, y, classes, min_leaf = table
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, len(y), len(y)))
    times = np.bincount(rows, minlength=len(y))
    if not classes:
        y = 2 * (len(y) * y - (times * y).sum())  # whole numbers whose mean is 0, so that all sums are exact
    limits = {"classes": classes, "min_leaf": min_leaf, "looked_at": 2, "seed": seed}
    counted = grow(Features.of(list(x), levels), y, times=times, **limits)
    repeated = grow(Features.of(list(x[:, rows]), levels), y[rows], **limits)
    assert counted.members.tolist() == rows[repeated.members].tolist()
    assert counted.sizes.tolist() == repeated.sizes.tolist()
    assert counted.leaves(x).tolist() == repeated.leaves(x).tolist()


def test_nodes_of_a_large_table_are_grown_on_copies() -> None:
    rng = np.random.default_rng(0)
    x = np.array([rng.random(17_000), rng.integers(0, 3, 17_000)])  # more than two nodes that are copied
    y = (x[0] * 16 // 1) * (x[1] + 1)
    tree = grow(Features.of(list(x), [0, 3]), y, min_leaf=1)
    assert np.array_equal(tree.leaves(x), leaf_of(tree))
    sizes = np.bincount(leaf_of(tree))
    mean = np.bincount(leaf_of(tree), weights=y) / sizes
    assert np.allclose(mean[leaf_of(tree)], y)


def test_copies_are_made_of_copies() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((1, 263_000))  # more than two nodes of 131 072 cases, of which each has several of 8 192
    y = x[0] * 64 // 1
    tree = grow(Features.of(list(x), [0]), y, min_leaf=1000)
    assert np.array_equal(tree.leaves(x), leaf_of(tree))
    sizes = np.bincount(leaf_of(tree))
    mean = np.bincount(leaf_of(tree), weights=y) / sizes
    assert len(sizes) == 64
    assert np.allclose(mean[leaf_of(tree)], y)
