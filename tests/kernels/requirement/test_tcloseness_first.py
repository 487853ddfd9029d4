import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive.tcloseness_first import central_strata
from naive.tcloseness_first import tcloseness_first as naive_tcloseness_first
from shoal.kernels.requirement import tcloseness_first

ENGINES = ["brute", "tree"]
KINDS = ["normal", "grid", "constant", "mixed"]


def test_by_hand():
    # Confidential order is row order, k = 3: strata {0, 1}, {2, 3, 4} (one extra), {5, 6}; quasi-identifier
    # 0 1 2 3 4 5 16, mean 31/7. Farthest is row 6 (16): nearest of stratum 0 is row 1, of stratum 1 row 4, and
    # as it still holds more than stratum 0 also row 3, of stratum 2 row 6 itself. The rest is the second group.
    x = np.array([[0.0], [1], [2], [3], [4], [5], [16]])
    strata = np.array([0, 0, 1, 1, 1, 2, 2])
    for engine in ENGINES:
        assert tcloseness_first(x, strata, 3, engine=engine).tolist() == [1, 0, 1, 0, 0, 1, 0]


@settings(max_examples=60)
@given(st.integers(1, 120), st.integers(1, 12), st.integers(0, 2**32), st.sampled_from(KINDS))
def test_every_engine_equals_the_paper(n, k, seed, kind):
    assume(k <= n)
    assume(n % k <= n // k)  # as expression (4) of the paper sees to
    rng = np.random.default_rng(seed)
    x = {
        "normal": lambda: rng.normal(size=(n, 2)),
        "grid": lambda: rng.integers(-2, 3, (n, 3)) / 10,
        "constant": lambda: np.ones((n, 1)),
        "mixed": lambda: rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-25, 25, (n, 2)),
    }[kind]()
    strata = central_strata(rng.integers(0, 50, n), k)
    expected = naive_tcloseness_first(x, strata, k)
    for engine in ENGINES:
        labels = tcloseness_first(x, strata, k, engine=engine)
        np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(tcloseness_first(x, strata, k, engine="tree", simd=False), expected)


@pytest.mark.parametrize("k", [2, 3, 7, 60])
def test_the_tree_equals_brute_force_and_every_group_has_every_stratum(k):
    rng = np.random.default_rng(k)
    n = 5000 + k // 2
    far_apart = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-25, 25, (n, 2))  # strata of very different extent
    for x in (rng.normal(size=(n, 4)), rng.integers(0, 6, (n, 2)) / 10, rng.lognormal(0, 3, (n, 3)), far_apart):
        strata = central_strata(x[:, 0] + rng.normal(size=n), k)
        labels = tcloseness_first(x, strata, k, engine="tree")
        np.testing.assert_array_equal(labels, tcloseness_first(x, strata, k, engine="brute"))
        counts = np.zeros((labels.max() + 1, k), int)
        np.add.at(counts, (labels, strata), 1)
        assert counts.min() == 1
        assert counts.sum(axis=1).max() <= k + 1


def test_extras_in_the_first_stratum_are_spread_too():
    # k = 2, n odd: whichever stratum holds the extra, no group may end up with one record only.
    x = np.random.default_rng(0).normal(size=(9, 2))
    for strata in ([0] * 5 + [1] * 4, [0] * 4 + [1] * 5):
        for engine in ENGINES:
            sizes = np.bincount(tcloseness_first(x, np.array(strata), 2, engine=engine))
            assert sorted(sizes.tolist()) == [2, 2, 2, 3]


def test_interrupt():
    x = np.random.default_rng(7).normal(size=(20_000, 5))

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tcloseness_first(x, np.arange(20_000) % 5, 5, stop, engine="brute")
