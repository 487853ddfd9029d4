import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records


def synthesise(x, labels, seed=0, **parameters):
    change = shoal.Normal(**parameters).apply(
        data := Records.from_array(x), data.quasi_identifiers, Partition.of(labels), np.random.default_rng(seed)
    )
    return change.records.raw(), change.details


@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([1.0, 1e-6, 1e9]), st.sampled_from([0.0, 1e8]))
def test_exact_moments_in_every_group(seed, d, scale, offset):
    rng = np.random.default_rng(seed)
    x = (rng.lognormal(size=(80, d)) @ rng.normal(size=(d, d))) * scale + offset * scale
    labels = rng.permutation(np.arange(80) % 5)
    new, _ = synthesise(x, labels)
    for g in range(5):
        one, other = x[labels == g], new[labels == g]
        np.testing.assert_allclose(other.mean(axis=0), one.mean(axis=0), rtol=1e-9, atol=1e-9 * one.std())
        about = one - one.mean(axis=0)
        limit = 1e-9 * np.outer(one.std(axis=0), one.std(axis=0)) + 1e-15 * np.abs(one).max() * one.std()
        np.testing.assert_array_less(np.abs(np.cov(other.T) - about.T @ about / 15), limit)


def test_collinear_and_constant_columns():
    rng = np.random.default_rng(1)
    a = rng.normal(size=40)
    x = np.column_stack([a, 2 * a - 3, np.full(40, 5.0)])
    for exact in (True, False):
        new, facts = synthesise(x, np.arange(40) % 2, exact=exact)
        np.testing.assert_allclose(new[:, 1], 2 * new[:, 0] - 3, atol=1e-10)
        np.testing.assert_array_equal(new[:, 2], 5.0)
        assert facts["records unchanged"] == 0


def test_free_draws_have_the_moments_in_expectation_only():
    # 400 draws of a group of 12: the mean of the draws' means has standard error s / sqrt(12 * 400), and the n - 1
    # covariance of a draw is unbiased.
    x = np.random.default_rng(2).exponential(size=(12, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]])
    draws = [synthesise(x, np.zeros(12), seed, exact=False)[0] for seed in range(400)]
    means = np.array([d.mean(axis=0) for d in draws])
    spread = x.std(axis=0, ddof=1)
    assert (np.abs(means.mean(axis=0) - x.mean(axis=0)) < 4 * spread / np.sqrt(12 * 400)).all()
    covariance = np.mean([np.cov(d.T) for d in draws], axis=0)
    np.testing.assert_allclose(covariance, np.cov(x.T), rtol=0.1)
    assert means.std(axis=0).min() > 0.1 * spread.min()


def test_free_draws_of_small_groups_have_the_covariance_of_n_minus_1():
    # 4000 groups of the same 6 values: the mean variance has standard error sqrt(2 / (5 * 4000)) = 1 %; over n: 5/6.
    x = np.random.default_rng(5).exponential(size=(6, 1))
    new, _ = synthesise(np.tile(x, (4000, 1)), np.arange(24_000) // 6, exact=False)
    assert new.reshape(4000, 6).var(axis=1, ddof=1).mean() == pytest.approx(x.var(ddof=1), rel=0.04)


def test_normal_draws_are_normal():
    from scipy.stats import kstest

    new, _ = synthesise(np.random.default_rng(3).exponential(size=(2000, 1)), np.zeros(2000))
    assert kstest((new[:, 0] - new.mean()) / new.std(), "norm").pvalue > 0.01


def test_too_small_a_group():
    with pytest.raises(shoal.ParameterError, match=r"normal needs groups of 4 records, so that 3 dimensions"):
        synthesise(np.eye(3)[:, :2], np.zeros(3))
    new, facts = synthesise(np.eye(3), np.arange(3), small="allow", exact=False)
    np.testing.assert_array_equal(new, np.eye(3))
    assert facts["records unchanged"] == 3


def test_the_facts_measure_what_free_draws_cost():
    _, exact = synthesise(np.random.default_rng(4).normal(size=(50, 2)), np.zeros(50))
    _, free = synthesise(np.random.default_rng(4).normal(size=(50, 2)), np.zeros(50), exact=False)
    assert exact["largest relative error overall"]["covariances"] < 1e-12
    assert free["largest relative error overall"]["covariances"] > 1e-3
