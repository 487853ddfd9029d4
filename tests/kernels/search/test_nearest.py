import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal.kernels.search.nearest as nearest
from naive import linkage as naive
from shoal.kernels.arrays import ints


@st.composite
def pairs(draw):
    """A table and a changed version: grids (ties), duplicates, constants, offsets."""
    n, d = draw(st.integers(1, 150)), draw(st.sampled_from([1, 2, 4, 15]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(0, 3, (n, d)) / 10,
        "duplicates": lambda: rng.normal(size=(3, d))[rng.integers(0, 3, n)],
        "constant": lambda: np.full((n, d), 0.1),
        "outlier": lambda: rng.normal(size=(n, d)) * np.where(np.arange(n) == 0, 1e4, 1.0)[:, None],
    }[draw(st.sampled_from(["normal", "grid", "duplicates", "constant", "outlier"]))]()
    change = {
        "identity": lambda: x,
        "noise": lambda: x + 0.3 * rng.normal(size=(n, d)),
        "rounded": lambda: np.round(x),
        "one value": lambda: np.tile(x.mean(axis=0), (n, 1)),
    }[draw(st.sampled_from(["identity", "noise", "rounded", "one value"]))]()
    return x, change, rng.permutation(n)[: draw(st.integers(1, n))]


ENGINES = pytest.mark.parametrize("pair", [1e-9, 1e9], ids=["blocks", "tree"])


@ENGINES
@pytest.mark.parametrize("block", [7, 10**6])
def test_link_equals_looking_at_every_pair(monkeypatch, pair, block):
    monkeypatch.setattr(nearest, "PAIR", pair)
    monkeypatch.setattr(nearest, "BLOCK", block)

    @given(pairs())
    def check(case):
        x, y, truth = case
        np.testing.assert_allclose(nearest.link(x, y[truth], truth), naive.link(x, y[truth], truth), rtol=1e-12)
        np.testing.assert_allclose(nearest.nearest_distance(x, y), naive.nearest_distance(x, y), atol=1e-12)

    check()


def test_engines_change_over_unseen(monkeypatch):
    # In 30 dimensions nothing is near: the tree gives up after its trial, and looking at all pairs goes on.
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(300, 30)), rng.normal(size=(200, 30))
    mixed = nearest.nearest_distance(x, y)
    monkeypatch.setattr(nearest, "PAIR", 1e9)
    np.testing.assert_allclose(mixed, nearest.nearest_distance(x, y), rtol=1e-12)


@given(pairs(), st.integers(0, 3000))
def test_a_limit_leaves_out_the_last_rows_and_changes_no_other(case, most):
    x, y, truth = case
    some, all_ = nearest.link(x, y[truth], truth, most), nearest.link(x, y[truth], truth)
    assert 1 <= len(some) <= len(truth)
    assert some.tolist() == all_[: len(some)].tolist()
    assert len(nearest.link(x, y[truth], truth, 0)) == len(truth) or len({*map(tuple, y[truth] + 0.0)}) > 1


@ENGINES
def test_nearest_point_is_the_lowest_of_the_nearest(monkeypatch, pair):
    monkeypatch.setattr(nearest, "PAIR", pair)

    @given(pairs())
    def check(case):
        x, y, _ = case
        points = np.unique(x, axis=0)
        assert nearest.nearest_point(points, y).tolist() == naive.nearest_point(points, y).tolist()

    check()


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(0, 2), st.integers(0, 4))
def test_nearest_point_among_numbers_and_codes_is_that_of_their_coordinates(seed, n, numbers, coded):
    rng = np.random.default_rng(seed)
    corners = [np.eye(m) * rng.integers(1, 3) for m in rng.integers(1, 5, coded)]
    rows = [
        nearest.Mixed(
            numbers=rng.integers(0, 3, (count, numbers)).astype(float),
            codes=ints(np.array([rng.integers(0, len(c), count) for c in corners]).reshape(coded, count).T),
        )
        for count in (n, 40)
    ]
    points, y = nearest.distinct_mixed(rows[0])[1], rows[1]
    tables = tuple(((c[:, None] - c[None]) ** 2).sum(axis=2) for c in corners)
    weights = np.array([table.max() for table in tables])
    full = [np.hstack([r.numbers, *(c[codes] for c, codes in zip(corners, r.codes.T))]) for r in (points, y)]
    assert nearest.nearest_mixed_point(points, y, tables, weights).tolist() == naive.nearest_point(*full).tolist()


def test_distinct_rows_of_numbers_and_codes():
    codes = np.array([[1], [1], [1], [0]], dtype=np.int32)
    rows = nearest.Mixed(numbers=np.array([[0.0], [2], [-0.0], [0]]), codes=codes)
    of_row, points = nearest.distinct_mixed(rows)
    assert of_row[0] == of_row[2] and len(set(of_row.tolist())) == len(points) == 3
    np.testing.assert_array_equal(points.codes[of_row], rows.codes)


def test_an_outlier_costs_no_digits_of_the_others():
    # About a mean of 1e7 the product x.y has no digits left for differences of a thousandth.
    rng = np.random.default_rng(3)
    points, asked = rng.normal(size=(40, 3)) / 1000, rng.normal(size=(40, 3)) / 1000
    points[0] = 4e8
    assert nearest.nearest_point(points, asked).tolist() == naive.nearest_point(points, asked).tolist()
    np.testing.assert_allclose(nearest.nearest_distance(points, asked), naive.nearest_distance(points, asked))


def test_an_offset_of_1e8_changes_no_distance():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 50, (80, 3)) / 4, rng.integers(0, 50, (80, 3)) / 4
    assert nearest.nearest_distance(x + 1e8, y + 1e8).tolist() == nearest.nearest_distance(x, y).tolist()


def test_distinct():
    distinct = nearest.distinct(np.array([[0.0, 1], [2, 2], [-0.0, 1]]))
    assert distinct.sizes[distinct.of_row].tolist() == [2, 1, 2]
    assert len(distinct.points) == 2


@ENGINES
def test_where_nothing_is_known_everybody_ties(monkeypatch, pair):
    monkeypatch.setattr(nearest, "PAIR", pair)
    nothing = np.empty((40, 0))
    assert nearest.link(nothing, nothing, np.arange(40)).tolist() == [1 / 40] * 40
    assert not nearest.nearest_distance(nothing, nothing).any()


@pytest.mark.parametrize("near", [0.0, 1e-10, 1e-6])
def test_a_table_is_linked_with_itself_by_equal_rows(near):
    """Zeros of both signs are equal, whatever the numbers of their rows; what is as near as rounding ties as well."""
    x = np.array([[0.0, 1], [-0.0, 1], [2, 1], [2 + near, 1], [5, 1], [-5, 3]])
    columns, truth = list(x.T.copy()), np.array([4, 0, 2, 3, 1, 5])
    chances = nearest.link_columns(columns, columns, truth, truth, x_ids=np.arange(6), y_ids=truth)
    assert chances.tolist() == naive.link(x, x[truth], truth).tolist()
