"""Multivariate t draws with exact moments."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError


def drawn(x, labels, seed=0, **parameters):
    data = Records.from_array(x)
    part = labels if isinstance(labels, Partition) else Partition.of(labels)
    method = shoal.MultivariateT(**parameters)
    return method.apply(data, data.quasi_identifiers, part, np.random.default_rng(seed)).records.raw()


def kurtosis(x):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return (z**4).mean(axis=0) - 3


def test_mean_and_covariance_of_every_group_are_exact():
    rng = np.random.default_rng(1)
    x = rng.standard_t(4, size=(300, 3)) @ rng.normal(size=(3, 3)) + 1e4
    labels = np.arange(300) % 4
    new = drawn(x, labels, degrees_of_freedom=3.0)
    for g in range(4):
        np.testing.assert_allclose(new[labels == g].mean(axis=0), x[labels == g].mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(np.cov(new[labels == g].T), np.cov(x[labels == g].T), rtol=1e-8, atol=1e-9)
    assert not np.isclose(new, x).all(axis=1).any()


def test_the_tails_are_those_of_the_t_distribution():
    """Excess kurtosis of t with 10 degrees of freedom: 6 / (10 - 4) = 1, of normal draws 0; tails come together."""
    x = np.random.default_rng(2).normal(size=(20_000, 2))
    new = drawn(x, np.zeros(len(x)), degrees_of_freedom=10.0)
    assert kurtosis(new) == pytest.approx([1.0, 1.0], abs=0.35)
    assert np.corrcoef((new**2).T)[0, 1] > 0.1  # far out in one column, far out in the other
    plain = shoal.Normal().apply(
        Records.from_array(x), ("x0", "x1"), Partition.of(np.zeros(len(x))), np.random.default_rng(0)
    )
    assert np.abs(kurtosis(plain.records.raw())).max() < 0.15


def test_the_law_of_the_group_is_the_law_of_the_draw():
    """gaussian-mixture with t components hands its degrees of freedom on: long tails in the group, long in the draw."""
    rng = np.random.default_rng(3)
    x = np.vstack([rng.standard_t(3, size=(1500, 2)), 60 + rng.normal(size=(1500, 2))])
    part = shoal.GaussianMixture(k=50, groups=2, models=("VVV",), tails="t").partition(x, seed=1)
    new = drawn(x, part, seed=5)
    long, short = (part.labels == part.labels[0]), (part.labels == part.labels[-1])
    assert kurtosis(x[long]).min() > 3
    assert kurtosis(new[long]).min() > 1.5
    assert np.abs(kurtosis(new[short])).max() < 1


def test_degrees_of_freedom_must_come_from_somewhere():
    with pytest.raises(ParameterError, match="degrees_of_freedom must be given, as the partition fitted none"):
        drawn(np.random.default_rng(0).normal(size=(20, 2)), np.zeros(20))


def test_draws_come_in_an_order_that_says_nothing():
    """Given mean, covariance and tails of a group every order of its records is as likely: no one is hidden less."""
    table = pl.DataFrame(np.random.default_rng(4).normal(size=(200, 2)), schema=["a", "b"])
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier"},
        "steps": [{"partition": "mdav", "k": 10, "replace": {"method": "multivariate-t", "degrees_of_freedom": 5.0}}],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 10}],
    }
    assert shoal.protect(table, plan, seed=1).evidence.verdicts[0].holds
