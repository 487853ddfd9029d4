"""Trees: every split is the best there is, leaves are what a walk down the tree finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.trees import impurity, least_impurity
from shoal.kernels.trees.grow import Features, grow


def test_one_split_by_hand() -> None:
    """1 1 | 9 9: the sum of squares falls from 64 to 0 between 2 and 3."""
    tree = grow(Features.of([np.array([2.0, 1.0, 3.0, 4.0])], [0]), np.array([1.0, 1.0, 9.0, 9.0]), min_leaf=1)
    assert tree.leaf_of.tolist() == [0, 0, 1, 1]
    assert tree.leaves(np.array([[2.0, 2.5, 3.0, -9.0, 99.0]])).tolist() == [0, 1, 1, 0, 1]


def test_categories_are_divided_by_their_means() -> None:
    x = np.array([0, 1, 2, 0, 1, 2], dtype=float)
    tree = grow(Features.of([x], [3]), np.array([1.0, 8.0, 1.0, 1.0, 8.0, 1.0]), min_leaf=1)
    assert tree.leaf_of[0] == tree.leaf_of[2] != tree.leaf_of[1]


def test_a_category_that_was_not_seen_goes_with_the_many() -> None:
    x = np.array([0, 0, 0, 1], dtype=float)
    tree = grow(Features.of([x], [3]), np.array([1.0, 1.0, 1.0, 9.0]), min_leaf=1)
    assert tree.leaves(np.array([[2.0]]))[0] == tree.leaf_of[0]


def test_missing_numbers_make_a_side_of_their_own_or_join_one() -> None:
    x = np.array([1.0, 2.0, np.nan, np.nan])
    apart = grow(Features.of([x], [0]), np.array([0.0, 0.0, 5.0, 5.0]), min_leaf=1)
    assert apart.leaf_of.tolist() == [0, 0, 1, 1]
    low = grow(Features.of([x], [0]), np.array([5.0, 0.0, 5.0, 5.0]), min_leaf=1)
    assert low.leaf_of[0] == low.leaf_of[2] != low.leaf_of[1]


def test_equal_responses_are_not_parted() -> None:
    tree = grow(Features.of([np.arange(9.0)], [0]), np.full(9, 7.7), min_leaf=1)
    assert tree.leaf_of.max() == 0


def test_complexity_prunes() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 400))
    y = (x[0] > 0) + 0.05 * rng.normal(size=400)
    features = Features.of(list(x), [0, 0, 0])
    assert grow(features, y, min_leaf=5).leaf_of.max() > 10
    assert grow(features, y, min_leaf=5, complexity=0.01).leaf_of.max() == 1


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
    on_left = np.isin(tree.leaf_of, [leaf[node] for node in below])
    assert impurity(y[on_left], classes) + impurity(y[~on_left], classes) == pytest.approx(best, abs=1e-9)


@given(tables())
def test_leaves_hold_enough_and_are_found_again(table) -> None:
    x, levels, y, classes, min_leaf = table
    tree = grow(Features.of(list(x), levels), y, classes=classes, min_leaf=min_leaf)
    assert tree.leaves(x).tolist() == tree.leaf_of.tolist()
    assert np.bincount(tree.leaf_of).min() >= min(min_leaf, len(y))


def test_several_classes_are_parted() -> None:
    x = np.repeat(np.arange(4.0), 5)
    tree = grow(Features.of([x], [4]), np.repeat(np.arange(4), 5), classes=4, min_leaf=1)
    assert len(set(tree.leaf_of[::5])) == 4


def test_features_at_random_repeat_with_the_seed() -> None:
    rng = np.random.default_rng(2)
    features = Features.of(list(rng.normal(size=(6, 200))), [0] * 6)
    y = rng.normal(size=200)
    once, again, other = (grow(features, y, min_leaf=5, looked_at=2, seed=s).leaf_of.tolist() for s in (1, 1, 2))
    assert once == again != other


def test_repeated_cases_stay_in_order() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (3, 40)).astype(np.float64)
    x[0, 7] = np.nan
    rows = np.sort(rng.integers(0, 40, 60))
    taken, anew = Features.of(list(x), [0, 5, 0]).take(rows), Features.of(list(x[:, rows]), [0, 5, 0])
    assert np.array_equal(taken.orders, anew.orders)
    assert np.array_equal(taken.x, anew.x, equal_nan=True)


def test_nodes_of_a_large_table_are_grown_on_copies() -> None:
    rng = np.random.default_rng(0)
    x = np.array([rng.random(17_000), rng.integers(0, 3, 17_000)])  # more than two nodes that are copied
    y = (x[0] * 16 // 1) * (x[1] + 1)
    tree = grow(Features.of(list(x), [0, 3]), y, min_leaf=1)
    assert np.array_equal(tree.leaves(x), tree.leaf_of)
    sizes = np.bincount(tree.leaf_of)
    mean = np.bincount(tree.leaf_of, weights=y) / sizes
    assert np.allclose(mean[tree.leaf_of], y)


def test_copies_are_made_of_copies() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((1, 263_000))  # more than two nodes of 131 072 cases, of which each has several of 8 192
    y = x[0] * 64 // 1
    tree = grow(Features.of(list(x), [0]), y, min_leaf=1000)
    assert np.array_equal(tree.leaves(x), tree.leaf_of)
    sizes = np.bincount(tree.leaf_of)
    mean = np.bincount(tree.leaf_of, weights=y) / sizes
    assert len(sizes) == 64
    assert np.allclose(mean[tree.leaf_of], y)
