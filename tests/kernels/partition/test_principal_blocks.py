import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.principal_blocks import principal_blocks as naive_principal_blocks
from shoal.kernels.partition import principal_blocks


def test_by_hand():
    # Along the diagonal the records stand in the order 3, 0, 4, 1, 2; the lower two of five form the first block.
    x = np.array([[1.0, 1.0], [3.0, 3.1], [9.0, 9.0], [0.0, 0.1], [2.0, 2.0]])
    labels = principal_blocks(x, 2)
    assert sorted(np.flatnonzero(labels == b).tolist() for b in range(2)) in ([[0, 3], [1, 2, 4]], [[0, 3, 4], [1, 2]])


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(2, 4))
def test_blocks_are_those_of_the_eigenvectors(seed, smallest, d):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(1, 300)), d)) @ np.diag(3.0 ** np.arange(d))
    labels = principal_blocks(x, smallest)
    blocks = [np.flatnonzero(labels == b) for b in range(labels.max() + 1)]
    sizes = [len(rows) for rows in blocks]
    assert min(sizes) >= min(smallest, len(x))
    assert max(sizes) < 2 * smallest or len(x) < 2 * smallest
    # The sign of a component is free, so with an odd number the middle record may fall on either side: compare
    # where every cut is even.
    if len(x) % 4 == 0 and 2 * smallest <= len(x) < 8 * smallest:
        theirs = naive_principal_blocks(x, smallest)
        agree = sum(len(max((block & frozenset(rows.tolist()) for block in theirs), key=len)) for rows in blocks)
        assert agree >= 0.9 * len(x)  # power iteration stops short of the eigenvector


def test_equal_records_are_cut_by_row():
    assert principal_blocks(np.ones((10, 3)), 5).tolist() == [0] * 5 + [1] * 5
    assert principal_blocks(np.empty((0, 2)), 5).shape == (0,)
