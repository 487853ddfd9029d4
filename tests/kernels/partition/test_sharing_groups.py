import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.sharing_groups import begun, better, kept
from shoal.kernels.partition import sharing_groups


@st.composite
def values(draw, most):
    n, d = draw(st.integers(1, most)), draw(st.sampled_from([0, 1, 2, 3, 6, 24]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    some = rng.random((n, d)) < draw(st.sampled_from([0.05, 0.2, 1.0]))  # of few pieces, members are looked at apart
    return (some * rng.integers(0, draw(st.sampled_from([2, 3, 1000])), (n, d)) * rng.integers(1, 9, d)).astype(
        np.int32
    )


def members(labels):
    return [np.flatnonzero(labels == g).tolist() for g in range(labels.max(initial=-1) + 1)]


def test_by_hand():
    """The richest is first, and takes who is most like; 4 is left over and joins where most is kept."""
    x = np.array([[3, 0], [0, 2], [3, 1], [0, 2], [0, 1]], dtype=np.int32)
    assert sharing_groups(x, 2, rounds=0).tolist() == [0, 1, 0, 1, 1]
    assert kept(x.tolist(), [[0, 2], [1, 3, 4]]) == 2 * 3 + 3 * 1
    assert sharing_groups(x, 2).tolist() == [0, 1, 0, 1, 1]
    assert sharing_groups(x, 6).tolist() == [0] * 5, "fewer than k are one group"
    assert sharing_groups(np.zeros((0, 2), dtype=np.int32), 2).tolist() == []


@settings(max_examples=60)
@given(values(14), st.integers(1, 4))
def test_groups_are_begun_as_the_twin_begins_them(x, k):
    assert members(sharing_groups(x, k, rounds=0)) == [sorted(group) for group in begun(x.tolist(), k)]


@settings(max_examples=60)
@given(values(12), st.integers(1, 4))
def test_no_move_and_no_exchange_keeps_more(x, k):
    labels = sharing_groups(x, k, rounds=1000, near=len(x))
    groups = members(labels)
    assert min(map(len, groups)) >= min(k, len(x))
    assert kept(x.tolist(), groups) >= kept(x.tolist(), members(sharing_groups(x, k, rounds=0)))
    assert not better(x.tolist(), groups, k)


def test_large_values_do_not_overflow():
    x = np.full((6, 3), 2**31 - 1, dtype=np.int32)
    assert np.bincount(sharing_groups(x, 2)).min() >= 2


@pytest.mark.parametrize("k", [2, 5])
def test_progress_ends_and_can_stop(k):
    x = np.random.default_rng(0).integers(0, 100, (3000, 200)).astype(np.int32)

    def stop(fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sharing_groups(x, k, progress=stop)
