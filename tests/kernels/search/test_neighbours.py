import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.search.neighbours import candidates, neighbours


@given(
    st.integers(2, 200),
    st.sampled_from([1, 2, 3, 7]),
    st.integers(0, 2**32),
    st.sampled_from(["normal", "grid", "heavy"]),
    st.integers(1, 12),
)
def test_neighbours_are_exhaustive_search(n, d, seed, kind, m):
    rng = np.random.default_rng(seed)
    x = {
        "normal": rng.normal(size=(n, d)),
        "grid": rng.integers(0, 3, (n, d)) / 4,
        "heavy": np.exp(3 * rng.normal(size=(n, d))),
    }[kind]
    m = min(m, n - 1)
    who, square = neighbours(x, m)
    d2 = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(np.take_along_axis(d2, who.astype(np.int64), axis=1), square, rtol=1e-9, atol=1e-12)
    np.fill_diagonal(d2, np.inf)
    np.testing.assert_allclose(square, np.sort(d2, axis=1)[:, :m], rtol=1e-9, atol=1e-12)
    assert (who != np.arange(n)[:, None]).all()
    assert all(len(set(row)) == m for row in who.tolist())
    if kind == "grid":  # distances are exact there: ties go to the lowest rows
        assert (who == np.argsort(d2, axis=1, kind="stable")[:, :m]).all()


def test_a_constant_table_costs_no_time():
    who, square = neighbours(np.zeros((100_000, 2)), 3)
    assert not square.any()
    assert (who != np.arange(100_000)[:, None]).all()


def test_candidates_of_equal_records_lead_elsewhere():
    # Three points with 10 records each: lists hold own kind and both other points, different members of them.
    x = np.repeat([[0.0], [1.0], [5.0]], 10, axis=0)
    near = candidates(x, 6)
    assert near.shape == (30, 6)
    for i in range(30):
        assert {0.0, 1.0, 5.0} == set(x[near[i], 0])
        assert i not in near[i]
    assert len(set(near[:10, 4].tolist())) == 10


def test_candidates_of_a_constant_table_and_of_a_pair():
    near = candidates(np.zeros((7, 2)), 5)
    assert all(i not in near[i] for i in range(7))
    assert candidates(np.array([[0.0], [1.0]]), 5).tolist() == [[1], [0]]
