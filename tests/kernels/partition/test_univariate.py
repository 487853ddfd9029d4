import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.univariate import least_loss, least_loss_of_runs, loss
from shoal.kernels.partition import univariate


@st.composite
def columns(draw, most):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "grid", "heavy", "duplicates", "constant", "mixed", "far"]))
    return {
        "normal": lambda: rng.normal(size=n),
        "grid": lambda: rng.integers(-4, 5, n) / 10,
        "heavy": lambda: rng.lognormal(0, 6, n),
        "duplicates": lambda: rng.normal(size=max(1, n // 4))[rng.integers(0, max(1, n // 4), n)],
        "constant": lambda: np.full(n, rng.normal()),
        "mixed": lambda: rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n),
        "far": lambda: 1e15 + rng.integers(0, 60, n) * 0.125,
    }[kind]() * draw(st.sampled_from([1.0, -1.0]))


def groups(labels):
    return [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]


def exact_loss(x, labels):
    return sum(loss([float(v) for v in x[rows]]) for rows in groups(labels))


def test_by_hand():
    # k = 2, sorted 1 2 3 10 11: {1, 2, 3} {10, 11} loses 2 + 1/2; {1, 2} {3, 10, 11} loses 1/2 + 38.
    assert univariate(np.array([10.0, 1, 3, 2, 11]), 2).tolist() == [1, 0, 0, 0, 1]
    # k = 3 with five records leaves one group, k = 1 groups of one in order of value.
    assert univariate(np.array([10.0, 1, 3, 2, 11]), 3).tolist() == [0] * 5
    assert univariate(np.array([10.0, 1, 3, 2, 11]), 1).tolist() == [3, 0, 2, 1, 4]
    assert univariate(np.array([2.0, 1.0]), 3).tolist() == [0, 0]
    assert univariate(np.empty(0), 3).tolist() == []


@settings(max_examples=60)
@given(columns(8), st.integers(1, 4))
def test_no_partition_at_all_loses_less(x, k):
    if len(x) >= k:
        least = least_loss([float(v) for v in x], k)
        assert exact_loss(x, univariate(x, k)) <= least * (1 + 1e-12)


@settings(max_examples=40)
@given(columns(40), st.integers(1, 7))
def test_no_runs_lose_less(x, k):
    labels = univariate(x, k)
    if len(x) < k:
        assert not labels.any()
        return
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    least = least_loss_of_runs([float(v) for v in x], k)
    assert exact_loss(x, labels) <= least * (1 + 1e-12)


@given(columns(60), st.integers(1, 7))
def test_groups_are_runs_and_equal_values_keep_their_rows(x, k):
    labels = univariate(x, k)
    assert (np.diff(labels[np.argsort(x, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("offset", [1e8, 2.0**50])
def test_an_offset_costs_nothing(offset):
    x = np.random.default_rng(5).integers(0, 4000, 500) * 0.25  # the sums are exact
    np.testing.assert_array_equal(univariate(x + offset, 5), univariate(x, 5))
    np.testing.assert_array_equal(univariate(x - offset, 5), univariate(x, 5))


def test_an_outlier_does_not_blur_the_groups_after_it():
    x = np.random.default_rng(6).integers(0, 400, 60).astype(float)
    # The two low outliers make a group in any good partition, of a loss beside which all others vanish.
    labels = univariate(np.concatenate([[-1e12, -3e12], x]), 2)
    assert labels[:2].tolist() == [0, 0]
    assert exact_loss(x, labels[2:] - 1) == least_loss_of_runs(x.tolist(), 2)


def test_extreme_units():
    x = np.random.default_rng(7).normal(size=100)
    for unit in (1e-300, 1e-25, 1e25, 1e305):
        scaled = np.ldexp(x, int(np.log2(unit)))
        np.testing.assert_array_equal(univariate(scaled, 4), univariate(x, 4))


def test_interrupt():
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        univariate(np.random.default_rng(7).normal(size=100_000), 400, progress=stop)
