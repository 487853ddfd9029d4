"""What the tree of boxes leaves out is no nearer than what it found: bounds with rounding, ties to the lowest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.search.nearest import nearest_distance, nearest_point


def squares(points, q):
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - q[j]) ** 2
    return total


@settings(max_examples=60)
@given(st.integers(40, 400), st.sampled_from([1, 2, 3, 5]), st.integers(0, 2**32))
def test_of_equally_near_points_the_lowest_is_named(n, d, seed):
    """On a grid many points are equally near a query in the middle of a cell."""
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(0, 7, (n, d)), axis=0).astype(float)
    points = points[rng.permutation(len(points))]
    queries = rng.integers(0, 6, (30, d)) + 0.5
    expected = [int(np.argmin(squares(points, q))) for q in queries]
    assert nearest_point(points, queries).tolist() == expected


@pytest.mark.parametrize("d", [3, 4, 7])
def test_points_nearer_than_a_bound_in_the_last_bit_are_found(d):
    """Distances that differ in their last bits: a bound without regard to rounding would leave out the nearest."""
    rng = np.random.default_rng(d)
    for _ in range(30):
        way = rng.normal(size=(600, d))
        points = way / np.sqrt((way**2).sum(axis=1))[:, None]
        query = np.zeros((1, d))
        near = nearest_distance(points, query)[0]
        assert near == np.sqrt(squares(points, query[0]).min())
