import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.suppression import matching
from shoal.errors import DataError
from shoal.kernels.suppression import wildcard_counts
from shoal.mask._suppression.task import distinct_rows, rows_of_classes

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


@given(rows=tables, seed=st.integers(0, 99))
def test_drawn_rows_are_of_their_class_and_differ(rows, seed):
    _, ids, counts = distinct_rows(np.array(rows, dtype=np.int32))
    wanted = np.repeat(np.arange(len(counts)), np.random.default_rng(seed).integers(0, counts + 1))
    drawn = rows_of_classes(ids, wanted, np.random.default_rng(seed))
    assert np.array_equal(ids[drawn], wanted) and len(set(drawn.tolist())) == len(drawn)
