import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive.refine import best_loss, loss
from shoal.kernels.partition import univariate
from shoal.vocabulary.errors import DataError


def test_by_hand():
    # k = 2 on 1 2 | 7 8 9 | 20 21: losses 1/2 + 2 + 1/2; any other cut costs more.
    x = np.array([21.0, 1, 8, 2, 20, 7, 9])
    assert univariate(x, 2).tolist() == [2, 0, 1, 0, 2, 1, 1]


@given(st.lists(st.sampled_from([0.0, 0.1, 1, 2, 2.5, 7, 50]), min_size=1, max_size=11), st.integers(1, 5))
def test_equals_the_best_of_all_partitions(values, k):
    x = np.array(values)
    labels = univariate(x, k)
    sizes = np.bincount(labels)
    if len(x) >= k:
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
        assert loss(x[:, None], labels) == pytest.approx(best_loss(x[:, None], k), abs=1e-9)


@given(st.integers(2, 300), st.integers(1, 20), st.integers(0, 2**32), st.sampled_from([0.0, 1e8, -1e8]))
def test_offsets_and_units_change_nothing(n, k, seed, offset):
    x = np.random.default_rng(seed).integers(0, 4000, n) / 4.0  # sums of these with 1e8 are exact
    labels = univariate(x, k)
    np.testing.assert_array_equal(univariate(x + offset, k), labels)
    for power in (-900, 900):
        np.testing.assert_array_equal(univariate(np.ldexp(x, power), k), labels)
    assert (np.diff(labels[np.argsort(x, kind="stable")]) >= 0).all()


def test_never_worse_than_mdav_or_refinement():
    x = np.random.default_rng(1).lognormal(0, 1, 500)
    best = shoal.Univariate(k=4).partition(x)
    z = (x - x.mean())[:, None] / x.std(ddof=1)
    for other in (shoal.MDAV(k=4), shoal.Refined(start="mdav", k=4, moves=200_000)):
        assert best.sse(z) <= other.partition(x, seed=1).sse(z) + 1e-9


def test_weights_can_want_groups_that_are_no_runs():
    """The example of the docstring, by weighted error."""

    def lost(*groups):
        return sum(sum(w * (v - sum(w * v for v, w in g) / sum(w for _, w in g)) ** 2 for v, w in g) for g in groups)

    a, b, c, d = (0.0, 1), (1.0, 0), (1.1, 1), (5.0, 1)
    assert lost([a, c], [b, d]) < lost([a, b], [c, d]) < lost([a, b, c, d])


def test_several_columns_are_an_error_that_says_what_to_do():
    with pytest.raises(
        DataError,
        match=r"^univariate works on one column that is continuous or ordinal; got 2 "
        r"\('x0', 'x1'\). Name one column in the step, or use mdav or refined",
    ):
        shoal.Univariate(k=2).partition(np.zeros((5, 2)))
