import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.rank_swap import swap_partners as naive_partners
from shoal.kernels.arrays import seed_of
from shoal.kernels.swap.rank_swap import RankPairing, swap_partners


@given(n=st.integers(1, 200), window=st.integers(1, 220), seed=st.integers(0, 2**32))
def test_same_as_naive_and_within_the_window(n, window, seed):
    got = swap_partners(n, window, np.random.default_rng(seed))
    assert got.tolist() == naive_partners(n, window, seed_of(np.random.default_rng(seed)))
    assert (got[got] == np.arange(n)).all()
    assert (np.abs(got - np.arange(n)) <= window).all()


def test_window_of_one_pairs_neighbours():
    assert swap_partners(5, 1, np.random.default_rng(0)).tolist() == [1, 0, 3, 2, 4]


@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=8), window=st.integers(0, 120), seed=st.integers(0, 2**32)
)
def test_partners_in_turn_are_those_of_all_ranks_at_once(counts, window, seed):
    pairing = RankPairing(sum(counts), window, seed)
    (whole,) = pairing.in_turn([sum(counts)])
    pieces = list(pairing.in_turn(counts))
    assert [len(piece) for piece in pieces] == counts
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert window or whole.tolist() == list(range(sum(counts)))
