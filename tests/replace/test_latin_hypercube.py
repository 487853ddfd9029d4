"""Latin hypercube draws: strata, moments, less variance than plain draws."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError


def drawn(x: np.ndarray, labels: np.ndarray, seed: int = 0, **parameters: object) -> np.ndarray:
    data = Records.from_array(x)
    method = shoal.LatinHypercube(**parameters)
    return method.apply(data, data.names(), Partition.of(labels), np.random.default_rng(seed)).records.raw()


def groups() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = np.arange(150) % 3
    x = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)) * (1 + labels[:, None]) + 100 * labels[:, None]
    return x, labels


def test_every_stratum_of_every_column_gets_one_value() -> None:
    x, labels = groups()
    new = drawn(x, labels, exact=False)
    for g in range(3):
        own = x[labels == g]
        shares = norm.cdf(new[labels == g], own.mean(axis=0), own.std(axis=0, ddof=1))
        strata = np.sort(np.floor(shares * 50), axis=0)
        assert np.array_equal(strata, np.tile(np.arange(50)[:, None], 3))


def test_mean_and_covariance_of_every_group_are_exact() -> None:
    x, labels = groups()
    new = drawn(x, labels)
    for g in range(3):
        np.testing.assert_allclose(new[labels == g].mean(axis=0), x[labels == g].mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(np.cov(new[labels == g].T), np.cov(x[labels == g].T), rtol=1e-8, atol=1e-9)
    assert not np.isclose(new, x).any()


@pytest.mark.parametrize("exact", [True, False])
def test_quantiles_vary_less_than_those_of_normal_draws(exact: bool) -> None:
    """The upper decile of 50 records: a fifth of the variance over draws, and the correlation is the group's."""
    x = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 50)
    records, whole = Records.from_array(x), Partition.of(np.zeros(50))
    deciles: dict[str, list[float]] = {"normal": [], "spread": []}
    correlations = []
    for seed in range(60):
        plain = shoal.Normal(exact=exact).apply(records, records.names(), whole, np.random.default_rng(seed))
        even = drawn(x, np.zeros(50), seed, exact=exact)
        deciles["normal"].append(float(np.quantile(plain.records.raw()[:, 0], 0.9)))
        deciles["spread"].append(float(np.quantile(even[:, 0], 0.9)))
        correlations.append(np.corrcoef(even.T)[0, 1])
    assert np.var(deciles["spread"]) < np.var(deciles["normal"]) / 5
    assert np.mean(correlations) == pytest.approx(np.corrcoef(x.T)[0, 1], abs=0.001 if exact else 0.03)


def test_through_the_columns_own_quantiles() -> None:
    """A skewed column keeps its shape: `marginals: quantile` draws between its own order statistics."""
    x = np.random.default_rng(5).lognormal(size=(200, 2))
    new = drawn(x, np.zeros(200), exact=False, marginals="quantile")
    shares = np.linspace(0.05, 0.95, 19)
    assert np.abs(np.quantile(new, shares, axis=0) / np.quantile(x, shares, axis=0) - 1).max() < 0.15


def test_draws_come_in_an_order_that_says_nothing() -> None:
    """So probabilistic k-anonymity is proved of them, as of normal draws."""
    x, _ = groups()
    plan = {
        "columns": dict.fromkeys("abc", "quasi-identifier"),
        "steps": [{"partition": "mdav", "k": 10, "replace": "latin-hypercube"}],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 10}],
    }
    release = shoal.protect(pl.DataFrame(x, schema=["a", "b", "c"]), plan, seed=1)
    assert release.evidence.verdicts[0].holds


def test_small_groups_are_refused() -> None:
    with pytest.raises(ParameterError, match="latin-hypercube needs groups of 5 records"):
        drawn(np.random.default_rng(0).normal(size=(8, 3)), np.arange(8) // 4)
