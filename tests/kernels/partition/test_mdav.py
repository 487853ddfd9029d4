import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import by_night
from naive.mdav import mdav as naive_mdav
from shoal.kernels.partition import mdav

ENGINES = ["brute", "tree"]


@st.composite
def tables(draw, most=300):
    """Tables with what breaks a search: ties on grids, duplicates, constants, offsets, extreme scales."""
    n = draw(st.integers(1, most))
    d = draw(st.sampled_from([1, 2, 3, 5, 9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "grid", "binary", "lognormal", "duplicates", "constant", "mixed"]))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(-3, 4, (n, d)) / 10,
        "binary": lambda: rng.integers(0, 2, (n, d)).astype(float),
        "lognormal": lambda: rng.lognormal(0, 3, (n, d)),
        "duplicates": lambda: rng.normal(size=(max(1, n // 10), d))[rng.integers(0, max(1, n // 10), n)],
        "constant": lambda: np.full((n, d), rng.normal()),
        "mixed": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-25, 25, (n, d)),
    }[kind]()
    return x * draw(st.sampled_from([1.0, 1e-25, 1e25, -1.0])) + draw(st.sampled_from([0.0, 0.0, 1e8]))


@st.composite
def coded_tables(draw, most=300):
    """Tables of numbers and codes, with the points that they stand for: columns of one category and of hundreds, sides
    of very different length, ties and duplicates."""
    n = draw(st.integers(1, most))
    kinds = draw(st.lists(st.sampled_from(["normal", "grid", "huge", 1, 2, 3, 40, 1100]), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns, points, categories, sides = [], [], [], []
    for kind in kinds:
        if isinstance(kind, int):
            side = np.sqrt(rng.choice([1.0, 0.3, 1e-3, 1e150])) * (1 / np.sqrt(2))
            codes = rng.integers(0, kind, n)
            columns.append(codes.astype(float))
            points.append(side * np.eye(kind)[codes])
        else:
            side = 0.0
            x = rng.normal(size=n) if kind == "normal" else rng.integers(-2, 3, n) * (1.0 if kind == "grid" else 1e100)
            columns.append(x)
            points.append(x[:, None])
        categories.append(kind if isinstance(kind, int) else 0)
        sides.append(side)
    rows = rng.integers(0, max(1, n // 4), n) if draw(st.booleans()) else np.arange(n)
    return np.column_stack(columns)[rows], np.hstack(points)[rows], np.array(categories), np.array(sides)


@settings(max_examples=80)
@given(coded_tables(), st.integers(1, 12))
def test_codes_give_the_groups_of_their_points(table, k):
    x, points, categories, sides = table
    np.testing.assert_array_equal(mdav(x, k, coding=(categories, sides)), mdav(points, k, engine="brute"))


def test_a_thousand_categories_give_the_groups_of_their_points():
    """Large enough for several levels of boxes, and for them to be built anew."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, [2, 60, 1000], (3000, 3))
    x = np.column_stack([rng.normal(size=(3000, 2)), codes])
    points = np.hstack([x[:, :2], *(np.eye(m)[codes[:, j]] / np.sqrt(2) for j, m in enumerate((2, 60, 1000)))])
    labels = mdav(x, 5, coding=(np.array([0, 0, 2, 60, 1000]), np.array([0, 0, *[1 / np.sqrt(2)] * 3])))
    np.testing.assert_array_equal(labels, mdav(points, 5))


def test_no_records_have_no_groups_of_codes():
    assert mdav(np.empty((0, 2)), 2, coding=(np.array([0, 3]), np.array([0.0, 1.0]))).tolist() == []


def test_by_hand():
    # Mean of 0, 1, 2, 10, 11, 12, 30: 66/7. Farthest 30; its group {30, 12}; farthest from 30 among the rest is
    # 0; its group {0, 1}. Three are left, fewer than 2k = 4: the last group.
    x = np.array([[0.0], [1], [2], [10], [11], [12], [30]])
    for engine in ENGINES:
        assert mdav(x, 2, engine=engine).tolist() == [1, 1, 2, 2, 2, 0, 0]


def test_ties_go_to_the_lowest_row_but_the_seed_stays_in_its_own_group():
    # The mean is 0. Rows 0 to 3 lie at 1, rows 4 to 7 at -1: row 0 is the first seed, row 4 the second.
    x = np.repeat([[1.0], [-1.0]], 4, axis=0)
    for engine in ENGINES:
        assert mdav(x, 2, engine=engine).tolist() == [0, 0, 2, 2, 1, 1, 3, 3]


@settings(max_examples=60)
@given(tables(), st.integers(1, 12))
def test_every_engine_equals_the_definition(x, k):
    expected = naive_mdav(x, k)
    for engine in ENGINES:
        for simd in (True, False):
            np.testing.assert_array_equal(mdav(x, k, engine=engine, simd=simd), expected)


@given(tables(), st.integers(1, 20))
def test_sizes(x, k):
    sizes = np.bincount(mdav(x, k))
    if len(x) < k:
        assert sizes.tolist() == [len(x)]
    else:
        assert sizes.min() >= k
        assert sizes.max() <= 2 * k - 1


def test_overflowing_and_vanishing_squares():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(200, 3))
    expected = mdav(x, 4)
    for power in (-1000, -600, 600, 1000):
        np.testing.assert_array_equal(mdav(np.ldexp(x, power), 4), expected)


def test_an_offset_of_1e8_changes_nothing():
    x = np.random.default_rng(6).integers(0, 1000, (500, 3)).astype(float)
    np.testing.assert_array_equal(mdav(x, 5), mdav(x + 1e8, 5))


def test_a_mean_halfway_between_two_doubles_is_rounded_to_the_even_one():
    # Found by search: with halves rounded down, rows 2 and 3 change places.
    almost = 1 - 2.0**-53
    x = np.array([[almost], [-1.0], [almost], [0.5]])
    for engine in ENGINES:
        assert mdav(x, 1, engine=engine).tolist() == naive_mdav(x, 1).tolist() == [1, 0, 3, 2]


def test_no_rows_and_no_columns():
    assert mdav(np.empty((0, 3)), 2).shape == (0,)
    for engine in ENGINES:
        assert mdav(np.empty((5, 0)), 2, engine=engine).tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_interrupt_and_progress(engine):
    x = np.random.default_rng(7).normal(size=(20_000, 12))
    seen = []

    def stop(done):
        seen.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mdav(x, 2, engine=engine, progress=stop)
    assert 0 <= seen[0] < 1
    assert len(seen) == 1


@pytest.mark.parametrize("seed", range(by_night(1, 4)))
def test_the_tree_equals_brute_force_on_larger_tables(seed):
    """Large enough for several levels, rebuilds, moves of the anchor and the walk in many dimensions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2000, 4000))
    for x in (
        rng.normal(size=(n, 5)),
        rng.normal(size=(n, 31)),
        rng.integers(-3, 4, (n, 2)) / 10,
        rng.lognormal(0, 3, (n, 3)) + 1e8,
        rng.standard_cauchy((n, 2)) * 1e25,
        rng.normal(size=(n // 10, 4))[rng.integers(0, n // 10, n)] * 1e-25,
        rng.normal(size=(n, 2)) * 1e-7 + rng.integers(0, 3, (n, 1)),  # clusters that float32 cannot tell apart
        np.where(rng.random((n, 1)) < 0.01, 1e25, 1.0) * rng.normal(size=(n, 3)),
    ):
        k = int(rng.choice([1, 2, 5, 40]))
        expected = mdav(x, k, engine="brute")
        np.testing.assert_array_equal(mdav(x, k, engine="tree"), expected)
        np.testing.assert_array_equal(mdav(x, k, engine="tree", simd=False), expected)


def test_turned_axes_and_distances_told_in_part_change_no_group():
    """Columns so correlated that the tree turns its axes, in tables large enough for it to do so."""
    rng = np.random.default_rng(8)
    n, d = 1000, 19
    mixed = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))
    for x in (
        mixed + 0.3 * rng.normal(size=(n, d)),
        (mixed + 0.1 * rng.standard_cauchy((n, d))) * 1e25,
        np.round(mixed) + 1e8,
        1e-7 * mixed + rng.integers(0, 3, (n, 1)),
    ):
        expected = mdav(x, 4, engine="brute")
        np.testing.assert_array_equal(mdav(x, 4, engine="tree"), expected)
        np.testing.assert_array_equal(mdav(x, 4, engine="tree", simd=False), expected)
