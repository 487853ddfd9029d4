import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.mixture import agglomeration as naive_agglomeration
from shoal.kernels.mixture.agglomeration import agglomeration, cut


def test_by_hand():
    # On a line the cost of a pair at distance a is 2 log((a^2/2 + 1)/3): the closest pair goes first, rows 0 and 1,
    # then rows 2 and 3, then the two unions.
    merges = agglomeration([[0.0], [0.1], [5.0], [5.3]])
    assert merges.tolist() == [[0, 1], [2, 3], [0, 2]]
    assert cut(merges, 2).tolist() == [0, 0, 1, 1]
    assert cut(merges, 3).tolist() == [0, 0, 1, 2]
    assert cut(merges, 4).tolist() == [0, 1, 2, 3]
    assert cut(merges, 1).tolist() == [0, 0, 0, 0]


@given(st.integers(0, 2**32), st.integers(1, 14), st.integers(1, 3))
def test_same_as_the_naive_twin(seed, n, d):
    x = np.random.default_rng(seed).normal(size=(n, d))
    assert agglomeration(x).tolist() == [list(pair) for pair in naive_agglomeration(x)]


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_every_cut_has_its_number_of_classes(seed, n):
    x = np.random.default_rng(seed).integers(0, 3, size=(n, 2)).astype(float)  # heavy ties
    merges = agglomeration(x)
    for groups in range(1, n + 1):
        assert len(np.unique(cut(merges, groups))) == groups


def test_separated_groups_of_different_orientation_are_found():
    rng = np.random.default_rng(4)
    long, flat = rng.normal(size=(80, 2)) * [4, 0.3], rng.normal(size=(80, 2)) * [0.3, 4] + [0, 12]
    x = np.vstack([long, flat])
    white = (x - x.mean(axis=0)) / x.std(axis=0)
    labels = cut(agglomeration(white), 2)
    truth = np.repeat([0, 1], 80)
    assert (labels == truth).mean() > 0.97
