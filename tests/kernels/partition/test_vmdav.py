import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.vmdav import vmdav as naive_vmdav
from shoal.kernels.partition import vmdav

ENGINES = ["brute", "tree"]


@st.composite
def tables(draw, most=80):
    n = draw(st.integers(1, most))
    d = draw(st.sampled_from([1, 2, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "grid", "lognormal", "duplicates", "constant", "mixed"]))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(-2, 3, (n, d)) / 10,
        "lognormal": lambda: rng.lognormal(0, 3, (n, d)),
        "duplicates": lambda: rng.normal(size=(max(1, n // 5), d))[rng.integers(0, max(1, n // 5), n)],
        "constant": lambda: np.full((n, d), rng.normal()),
        "mixed": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-25, 25, (n, d)),
    }[kind]()
    return x * draw(st.sampled_from([1.0, 1e-25, 1e25]))


def test_by_hand():
    # Mean of 0, 1, 2, 10, 11, 30, 31: 85/7. Farthest 31: {31, 30}; 11 would join if 19 < gamma x 1. Farthest
    # left 0: {0, 1}; nearest outside is 2 at distance 1, which is 8 from 10: joins if 1 < gamma x 8.
    x = np.array([[0.0], [1], [2], [10], [11], [30], [31]])
    for engine in ENGINES:
        assert vmdav(x, 2, 0.5, engine=engine).tolist() == [1, 1, 1, 2, 2, 0, 0]
        # gamma = 0: 10 leads {10, 11}? No: 2 is farther from the mean (10.1 against 2.1), so {2, 10} forms,
        # and 11 is left over; the means are 30.5, 0.5 and 6, so it joins {2, 10}.
        assert vmdav(x, 2, 0.0, engine=engine).tolist() == [1, 1, 2, 2, 2, 0, 0]


@settings(max_examples=50)
@given(tables(), st.integers(1, 6), st.sampled_from([0.0, 0.2, 0.7, 1.0, 1.3, 5.0]))
def test_every_engine_equals_the_definition(x, k, gamma):
    expected = naive_vmdav(x, k, gamma)
    for engine in ENGINES:
        np.testing.assert_array_equal(vmdav(x, k, gamma, engine=engine), expected)
    np.testing.assert_array_equal(vmdav(x, k, gamma, engine="tree", simd=False), expected)
    if len(x) >= k:
        assert np.bincount(expected).min() >= k


@pytest.mark.parametrize("gamma", [0.2, 1.1])
def test_the_tree_equals_brute_force_on_larger_tables(gamma):
    rng = np.random.default_rng(3)
    for x in (
        rng.normal(size=(2500, 3)),
        rng.integers(0, 9, (2500, 2)) / 10,
        rng.lognormal(0, 3, (2500, 5)),
        rng.normal(size=(2500, 2)) * 10.0 ** rng.integers(-25, 25, (2500, 2)),
    ):
        np.testing.assert_array_equal(vmdav(x, 4, gamma, engine="tree"), vmdav(x, 4, gamma, engine="brute"))


def test_interrupt():
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vmdav(np.random.default_rng(7).normal(size=(20_000, 8)), 3, 0.5, engine="brute", progress=stop)
