import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from naive.mixture import bounded_assignment as naive_assignment
from shoal.kernels.partition import bounded_assignment


def total(score, labels):
    return score[np.arange(len(score)), labels].sum()


def test_by_hand():
    # All prefer group 0, by 1, 2, 3 and 4; group 1 needs two records: those that lose least.
    score = np.array([[0.0, -1], [0, -2], [0, -3], [0, -4]])
    assert bounded_assignment(score, 2).tolist() == [1, 1, 0, 0]
    assert bounded_assignment(score, 1).tolist() == [1, 0, 0, 0]
    assert bounded_assignment(score, 0).tolist() == [0, 0, 0, 0]


def test_a_chain_is_cheaper_than_a_direct_move():
    # Group 2 is empty. Row 0 in group 0 would lose 10 by going there; row 2 in group 1 loses 1, and row 0 loses 1 by
    # taking its place, which group 1 needs (two rows at least 1 each; k = 1 and group 1 holds only row 2).
    score = np.array([[0.0, -1, -10], [0, -9, -10], [-9, 0, -1]])
    assert bounded_assignment(score, 1).tolist() == [1, 0, 2]


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 7), st.booleans())
def test_same_total_as_trying_everything(seed, groups, n, ties):
    rng = np.random.default_rng(seed)
    score = rng.integers(-2, 3, size=(n, groups)).astype(float) if ties else rng.normal(size=(n, groups))
    for least in range(n // groups + 1):
        labels = bounded_assignment(score, least)
        assert np.bincount(labels, minlength=groups).min() >= least
        assert total(score, labels) == pytest.approx(naive_assignment(score, least), abs=1e-12)


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(6, 60))
def test_same_total_as_linear_programming(seed, groups, n):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, groups)) + 3 * rng.normal(size=groups)
    least = int(rng.integers(1, n // groups + 1))
    one_each = np.kron(np.eye(n), np.ones(groups))
    sizes = np.tile(np.eye(groups), n)
    best = linprog(
        -score.ravel(), A_eq=one_each, b_eq=np.ones(n), A_ub=-sizes, b_ub=-np.full(groups, least), method="highs"
    )
    labels = bounded_assignment(score, least)
    assert np.bincount(labels, minlength=groups).min() >= least
    assert total(score, labels) == pytest.approx(-best.fun, abs=1e-7)


def test_every_record_somewhere_when_groups_are_exactly_full():
    score = np.zeros((12, 4))
    assert np.bincount(bounded_assignment(score, 3), minlength=4).tolist() == [3, 3, 3, 3]
