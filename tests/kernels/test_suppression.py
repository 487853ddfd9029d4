import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.suppression import matching
from shoal.kernels.suppression import wildcard_counts, wildcard_weights
from shoal.mask._suppression.task import different_places, distinct_rows
from shoal.vocabulary.errors import DataError

tables = st.integers(1, 5).flatmap(
    lambda q: st.lists(st.lists(st.integers(-1, 3), min_size=q, max_size=q), min_size=1, max_size=30)
)


@given(rows=tables, missing=st.sampled_from(["wildcard", "nothing"]))
def test_counts_same_as_naive(rows, missing):
    table, ids, counts = distinct_rows(np.array(rows, dtype=np.int32))
    got = wildcard_counts(table, counts, missing_counts=missing == "wildcard")[ids]
    assert got.tolist() == matching(rows, missing)


def test_keys_beyond_64_bits():
    g = np.random.default_rng(0)
    rows = g.integers(0, 2, (40, 4)) * 10**9 + g.integers(0, 2, (40, 4))
    rows[g.random(rows.shape) < 0.2] = -1
    table, ids, counts = distinct_rows(rows.astype(np.int32))
    assert wildcard_counts(table, counts)[ids].tolist() == matching(rows.tolist())


def test_too_many_combinations_refused():
    codes = np.full((2, 5), 2**30, dtype=np.int32)
    with pytest.raises(DataError, match="too many combinations"):
        wildcard_counts(codes, np.ones(2, dtype=np.int64))


@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_drawn_places_are_of_their_group_and_differ(sizes, seed):
    rng = np.random.default_rng(seed)
    sizes = np.array(sizes)
    wanted = rng.permutation(np.repeat(np.arange(len(sizes)), rng.integers(0, np.minimum(sizes, 9) + 1)))
    places = different_places(sizes, wanted, rng)
    assert (places >= 0).all() and (places < sizes[wanted]).all()
    assert len(set(zip(wanted.tolist(), places.tolist()))) == len(wanted)


@pytest.mark.parametrize("size", [6, 600])
def test_every_place_is_drawn_equally_often(size):
    rng, wanted = np.random.default_rng(0), np.repeat(np.arange(4000), 2)
    places = different_places(np.full(4000, size), wanted, rng)
    counts = np.bincount(places * 6 // size, minlength=6)  # 8000 places in six equal parts
    assert ((counts - 8000 / 6) ** 2 / (8000 / 6)).sum() < 20.5  # chi-squared with 5 degrees of freedom, 0.999


def of_many_patterns(seed):
    """Rows of which some miss the same cells as so many others that they are tallied, and the others are compared."""
    g = np.random.default_rng(seed)
    rows = g.integers(0, 4, (420, 5))
    rows[g.random(420) < 0.4, 1] = -1
    rows[g.random(420) < 0.05, 3] = -1
    table, ids, counts = distinct_rows(rows.astype(np.int32))
    miss = (table < 0) @ (1 << np.arange(5))
    sizes = np.unique(miss, return_counts=True)[1]
    tallied = len(table) * sizes > 16 * (len(sizes) * sizes + len(table))
    assert tallied.any() and not tallied.all()
    return rows, table, ids, counts, miss


def test_many_rows_that_miss_the_same_columns_are_counted_as_few_are():
    rows, table, ids, counts, _ = of_many_patterns(3)
    for missing in ("wildcard", "nothing"):
        assert wildcard_counts(table, counts, missing_counts=missing == "wildcard")[ids].tolist() == matching(
            rows.tolist(), missing
        )


def test_weights_are_summed_in_one_order_whether_tallied_or_compared():
    """Pattern after pattern, and in each row after row: to the last digit."""
    _, table, _, counts, miss = of_many_patterns(5)
    weights = np.random.default_rng(6).random(len(counts))
    expected = np.zeros(len(counts))
    for pattern in np.unique(miss):
        sums = np.zeros(len(counts))
        for row in np.flatnonzero(miss == pattern):
            agree = ((table == table[row]) | (table < 0) | (table[row] < 0)).all(axis=1)
            sums[agree] += weights[row]
        expected += sums
    assert wildcard_weights(table, weights).tolist() == expected.tolist()


def test_weights_are_summed_as_counts_are():
    g = np.random.default_rng(4)
    rows = g.integers(0, 3, (150, 4))
    rows[g.random(rows.shape) < 0.2] = -1
    table, ids, counts = distinct_rows(rows.astype(np.int32))
    for missing_counts in (True, False):
        expected = wildcard_counts(table, counts, missing_counts=missing_counts)
        if not missing_counts:
            expected = expected - (table < 0).any(axis=1)  # weights of complete records alone
        got = wildcard_weights(table, 0.5 * counts, missing_counts=missing_counts)
        assert (2 * got).tolist() == expected.tolist()
