import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstest, truncnorm

import shoal
from shoal.table.records import Records
from shoal.vocabulary.errors import InputError


def data(n=400, seed=0):
    g = np.random.default_rng(seed)
    return g.normal(size=(n, 3)) @ np.array([[2.0, 1, 0], [0, 1, 0.5], [0, 0, 3]]) + [100, -5, 0]


def masked(x, seed=1, **parameters):
    return (
        shoal.Noise(**parameters)
        .apply(data := Records.from_array(x), data.quasi_identifiers, np.random.default_rng(seed))
        .records.raw()
    )


def cov(x):
    return np.cov(x, rowvar=False)


@given(
    kind=st.sampled_from(["uncorrelated", "correlated", "kim", "orthogonal"]),
    variance=st.floats(0.01, 1.9),
    seed=st.integers(0, 999),
)
def test_exact_mode_is_exact(kind, variance, seed):
    x = data(60, seed)
    y = masked(x, seed, kind=kind, variance=variance, exact=True)
    s = cov(x)
    expected = {"uncorrelated": s + variance * np.diag(np.diag(s)), "correlated": (1 + variance) * s}.get(kind, s)
    assert np.abs(y.mean(axis=0) - x.mean(axis=0)).max() < 1e-10
    assert np.abs(cov(y) - expected).max() < 1e-10
    assert np.abs(y - x).max() > 1e-3


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated", "kim"])
def test_moments_in_expectation(kind):
    x, c = data(300), 0.5
    s = cov(x)
    expected = {"uncorrelated": s + c * np.diag(np.diag(s)), "correlated": (1 + c) * s, "kim": s}[kind]
    draws = np.array([cov(masked(x, seed, kind=kind, variance=c)) for seed in range(300)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) < 4.5 * error).all()


def test_noise_is_a_fraction_of_the_variance():
    x = data(20_000)
    for kind in ("uncorrelated", "correlated", "orthogonal"):
        added = masked(x, kind=kind, variance=0.25) - x
        assert added.var(axis=0) / x.var(axis=0) == pytest.approx(0.25, rel=0.05)
    factors = masked(np.abs(x) + 1, kind="multiplicative", variance=0.25) / (np.abs(x) + 1)
    assert factors.mean() == pytest.approx(1, abs=0.01) and factors.var() == pytest.approx(0.25, rel=0.1)


@given(seed=st.integers(0, 999), variance=st.floats(0.05, 3))
def test_sullivan_keeps_univariate_distributions(seed, variance):
    x = np.column_stack([data(300, seed), np.random.default_rng(seed).poisson(2, 300)])
    y = masked(x, seed, kind="sullivan", variance=variance)
    for before, after in zip(x.T, y.T):
        assert (
            ks_2samp(before, after, method="asymp").statistic < 0.14
        )  # 1.63 sqrt(2 / 300) = 0.133 is the 1 per cent point
    z = masked(x, seed, kind="sullivan", variance=variance, exact=True)
    assert np.array_equal(np.sort(z, axis=0), np.sort(x, axis=0))
    assert not np.array_equal(z, x)


@given(seed=st.integers(0, 999), variance=st.floats(0.05, 3))
def test_sullivan_leaves_whole_numbers_the_values_that_they_had(seed, variance):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.poisson(2, 300), rng.random(300) < 0.3, 500 * rng.integers(0, 9, 300)]).astype(float)
    y = masked(x, seed, kind="sullivan", variance=variance)
    for before, after in zip(x.T, y.T):
        assert set(after) <= set(before)
        shares = [np.mean(before == value) - np.mean(after == value) for value in set(before)]
        assert np.abs(shares).max() < 0.1
    assert not np.array_equal(y, x)


def test_sullivan_releases_integers_as_integers():
    frame = pl.DataFrame({"rooms": np.random.default_rng(1).poisson(2, 200), "area": data(200)[:, 0]})
    plan = {
        "columns": dict.fromkeys(frame.columns, "quasi-identifier"),
        "steps": [{"mask": "noise", "kind": "sullivan", "variance": 0.2, "columns": frame.columns}],
    }
    assert shoal.protect(frame, plan, seed=1).data.schema == frame.schema


def test_sullivan_keeps_correlations_near():
    x = data(5000)
    assert (
        np.abs(np.corrcoef(masked(x, kind="sullivan", variance=0.3), rowvar=False) - np.corrcoef(x, rowvar=False)).max()
        < 0.05
    )


@given(seed=st.integers(0, 999), variance=st.floats(0.01, 20))
def test_restricted_stays_in_range(seed, variance):
    x = data(50, seed)
    y = masked(x, seed, kind="restricted", variance=variance)
    assert (y >= x.min(axis=0)).all() and (y <= x.max(axis=0)).all() and (y != x).any()
    z = masked(x, seed, kind="restricted", variance=variance, bounds={"x0": (0, 200)})
    assert (z[:, 0] >= 0).all() and (z[:, 0] <= 200).all()


def test_restricted_noise_is_a_truncated_normal():
    x = np.repeat([90.0, 110.0], 3000)[:, None]  # s = 10, so that the noise has a standard deviation of 200
    y = masked(x, kind="restricted", variance=400, bounds={"x0": (0, 200)})[:3000, 0]
    s = x.std(ddof=1)
    law = truncnorm(-90 / (20 * s), 110 / (20 * s), loc=90, scale=20 * s)
    assert kstest(y, law.cdf).pvalue > 1e-4


def test_restricted_is_not_deterministic():
    x = data(50)
    first, second = (masked(x, seed, kind="restricted", variance=0.1) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_orthogonal_matrix_is_orthogonal():
    """T X has the Gram matrix of X about the mean, and T is not the identity: cos t = 1 - variance/2."""
    x = data(100)
    y = masked(x, kind="orthogonal", variance=2.0)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    assert np.allclose(a.T @ a, b.T @ b, rtol=1e-12) and np.allclose(a.T @ b, 0, atol=1e-9)


def test_multiplicative_keeps_zeros_and_signs():
    x = np.array([0.0, -2.0, 5.0, 0.0])
    assert np.array_equal(np.sign(masked(x[:, None], kind="multiplicative", variance=0.5)[:, 0]), np.sign(x))


def test_collinear_and_constant_columns():
    g = np.random.default_rng(0).normal(size=80)
    x = np.column_stack([g, 2 * g, np.full(80, 7.0)])
    for kind in ("correlated", "kim", "orthogonal", "uncorrelated", "restricted"):
        y = masked(x, kind=kind, variance=0.5)
        assert np.allclose(y[:, 2], 7, atol=1e-6)
        if kind in ("correlated", "kim", "orthogonal"):
            assert np.allclose(y[:, 1], 2 * y[:, 0], atol=1e-6)


def test_bad_input_refused():
    with pytest.raises(InputError, match="variance must be greater than 0"):
        shoal.Noise(variance=0)
    with pytest.raises(InputError, match="exact must be false for the kind restricted"):
        shoal.Noise(kind="restricted", variance=0.1, exact=True)
    with pytest.raises(InputError, match=r"variance must be in \(0, 2\] for the kind orthogonal; got 3"):
        shoal.Noise(kind="orthogonal", variance=3)
    with pytest.raises(InputError, match="at least 8 records in every stratum for these columns; got 6"):
        masked(data(6), kind="kim", variance=0.1, exact=True)
    with pytest.raises(InputError, match="Column 'x0' has values outside its bounds; widen them"):
        masked(data(), kind="restricted", variance=0.1, bounds={"x0": (0, 1)})
