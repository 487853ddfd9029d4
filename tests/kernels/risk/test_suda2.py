from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import suda2 as naive
from shoal.kernels.risk.suda2 import suda2


def test_by_hand():
    # Columns sex, area. Row 0 (f, 1): alone neither by f nor by 1, alone by both: one set of size 2, score 0! = 1.
    # Row 3 (m, 3) is alone by area: one set of size 1, score 1! = 1; its larger sets are not minimal.
    codes = np.array([[0, 1], [0, 2], [1, 1], [1, 3], [0, 2]])
    uniques = suda2(codes, 2)
    assert uniques.score.tolist() == [1, 0, 1, 1, 0]
    assert uniques.by_column.tolist() == [2, 3]
    assert uniques.by_category[0].tolist() == [1, 1]
    assert uniques.by_category[1].tolist() == [0, 2, 0, 1]
    assert uniques.by_size.tolist() == [1, 2]
    assert uniques.by_set == {(0, 1): 2, (1,): 1}


@settings(max_examples=60)
@given(st.integers(0, 70), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_equals_trying_every_set(n, d, most, values, seed):
    codes = np.random.default_rng(seed).integers(0, values, (n, d))
    score, by_column, sizes = naive.scores(codes, most)
    uniques = suda2(codes, most)
    np.testing.assert_array_equal(uniques.score, score)
    np.testing.assert_array_equal(uniques.by_column, by_column)
    np.testing.assert_array_equal(uniques.by_size, sizes)
    sets = [columns for _, columns in naive.minimal_sample_uniques(codes, most)]
    assert uniques.by_set == Counter(sets)
    weights = np.arange(d, 0, -1) / 4
    weighted, smallest = np.zeros(n), np.zeros(n, dtype=int)
    for row, columns in naive.minimal_sample_uniques(codes, most):
        weighted[row] += weights[len(columns) - 1]
        smallest[row] = min(smallest[row] or d, len(columns))
    other = suda2(codes, most, weights=weights)
    np.testing.assert_array_equal(other.score, weighted)
    np.testing.assert_array_equal(other.smallest, smallest)
    for part in uniques.by_category:
        assert part.sum() in by_column


def test_a_single_record_and_none():
    assert suda2(np.array([[3, 1]]), 2).score.tolist() == [0]
    assert suda2(np.empty((0, 2), dtype=int), 2).score.tolist() == []


def test_interrupt():
    codes = np.random.default_rng(1).integers(0, 12, (60_000, 12))

    def stop(done):
        assert 0 <= done <= 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suda2(codes, 5, stop)
