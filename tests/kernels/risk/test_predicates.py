import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import attacks as naive
from shoal.kernels.risk.predicates import HIGHEST, LOWEST, MISSING, Predicates, predicate_counts


def predicates(*rows):
    """Each row a list of terms (column, low, high, outside)."""
    table = np.array(rows, dtype=np.float64)
    return Predicates(
        columns=table[:, :, 0].astype(np.int32),
        low=table[:, :, 1],
        high=table[:, :, 2],
        outside=table[:, :, 3].astype(bool),
    )


CELLS = np.array([[1.0, 2, 3, MISSING], [0, 0, 1, 1]])


def test_by_hand():
    asked = predicates(
        [(0, 2, HIGHEST, 0), (1, 0, 0, 0)],  # at least 2, and 0: the second record
        [(0, LOWEST, 2, 0), (1, 0, 1, 0)],  # at most 2: the first two, never the missing one
        [(0, MISSING, MISSING, 0), (1, 1, 1, 0)],  # missing, and 1: the last one
        [(0, 2, 2, 1), (1, 0, 1, 0)],  # not 2: a missing cell is not known to be another
    )
    assert predicate_counts(CELLS, asked).tolist() == [1, 2, 1, 2]
    assert predicate_counts(CELLS, asked, missing_matches=True).tolist() == [1, 3, 1, 3]
    assert predicate_counts(CELLS, asked, limit=2).tolist() == [1, 2, 1, 2]
    assert predicate_counts(CELLS, asked, limit=1).tolist() == [1, 1, 1, 1]


def test_over_many_blocks():
    cells = np.zeros((1, 10_000))
    cells[0, [4_000, 9_999]] = 1
    once = predicates([(0, 1, 1, 0)], [(0, 0, 0, 0)])
    assert predicate_counts(cells, once).tolist() == [2, 9_998]
    assert predicate_counts(cells, once, limit=2).tolist() == [2, 2]


def test_each_stands_once():
    three = predicates([(0, 1, 1, 0)], [(0, 2, 2, 0)], [(0, 1, 1, 0)])
    assert three.distinct().low.tolist() == [[1], [2]]
    assert len(three.with_more(three)) == 6
    assert len(three.take(np.arange(0)).distinct()) == 0


@given(st.integers(0, 40), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_equals_looking_at_every_cell(n, d, size, missing_matches, seed):
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1, 4, (d, n)).astype(np.float64)
    cells[cells < 0] = MISSING
    low, high = np.sort(rng.integers(-1, 5, (2, 12, size)).astype(np.float64), axis=0)
    low, high = (np.where(end < 0, MISSING, end) for end in (low, high))
    asked = Predicates(
        columns=rng.integers(0, d, (12, size)).astype(np.int32),
        low=low,
        high=high,
        outside=rng.random((12, size)) < 0.3,
    )
    expected = naive.predicate_counts(cells, asked, missing_matches)
    assert predicate_counts(cells, asked, missing_matches=missing_matches).tolist() == expected
    limited = predicate_counts(cells, asked, missing_matches=missing_matches, limit=2)
    assert limited.tolist() == [min(2, count) for count in expected]


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, also where the tests were started in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt():
    cells = np.zeros((3, 2_000_000))
    asked = predicates(*[[(0, 1, 1, 0), (1, 0, 0, 0), (2, 0, 0, 0)]] * 5_000)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
        predicate_counts(cells, asked)
