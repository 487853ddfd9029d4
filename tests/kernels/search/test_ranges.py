import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.search.ranges import LEAST, ranges_together


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 300)), max_size=80), st.integers(1, 4000))
def test_every_range_comes_once_within_one_that_is_not_much_wider(ranges, pairs):
    start = np.array([first for first, _ in ranges], dtype=np.int64)
    stop = start + np.array([width for _, width in ranges], dtype=np.int64)
    seen = []
    for part, near in ranges_together(start, stop, pairs):
        seen += part.tolist()
        assert near.start <= start[part].min() and stop[part].max() <= near.stop
        width = near.stop - near.start
        assert width <= 4 * max(LEAST, int((stop - start)[part].max()))
        assert len(part) == 1 or len(part) * width <= pairs
    assert sorted(seen) == np.flatnonzero(stop > start).tolist()
