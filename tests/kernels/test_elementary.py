"""The house's own exponential, logarithm and their kin against the C library's and scipy's."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special

from shoal.kernels import elementary
from shoal.kernels.elementary import exp, log


def units_apart(mine: np.ndarray, theirs: Any) -> float:
    """Largest difference in units of the last place."""
    theirs = np.asarray(theirs)
    return float((np.abs(mine - theirs) / np.spacing(np.abs(theirs))).max())


def test_exp_is_good_to_two_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-700, 700, 20_001), np.random.default_rng(0).normal(size=10_000)])
    assert units_apart(exp(x), [math.exp(v) for v in x]) < 2


def test_log_is_good_to_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [2.0 ** rng.uniform(-1000, 1000, 20_000), 1 + rng.normal(size=10_000) * 1e-3, [0.5, 2.0, 5e-324]]
    )
    assert units_apart(log(x), [math.log(v) for v in x]) < 2


def test_ends() -> None:
    assert exp([0.0, 1e9, -1e9, np.inf, -np.inf]).tolist() == [1, np.inf, 0, np.inf, 0]
    assert np.isnan(exp([np.nan])).all()
    assert log([1.0, 0.0, np.inf]).tolist() == [0, -np.inf, np.inf]
    assert np.isnan(log([np.nan, -1.0])).all()
    assert exp([-745.0])[0] == pytest.approx(5e-324)
    assert elementary.log1p([-1.0, 0.0, np.inf]).tolist() == [-np.inf, 0, np.inf]
    assert elementary.expm1([-np.inf, 0.0, np.inf]).tolist() == [-1, 0, np.inf]
    assert elementary.power([0.0, 0.0, 4.0], 0.5).tolist() == [0, 0, pytest.approx(2)]
    assert elementary.power(0.0, 0.0) == 1
    assert elementary.normal_cdf([-np.inf, 0.0, np.inf]).tolist() == [0, 0.5, 1]
    assert elementary.normal_quantile([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0, np.inf]
    assert np.isnan(elementary.normal_quantile([np.nan, -0.1, 1.1])).all()
    assert elementary.log_of_sum([-np.inf, -np.inf, 0.0], [-np.inf, 1.0, 0.0]).tolist() == [-np.inf, 1, math.log(2)]


NEAR_ZERO = np.concatenate([[1e-300], np.logspace(-18, -0.5, 500), -np.logspace(-18, -0.5, 500)])


@pytest.mark.parametrize(
    ("mine", "theirs", "x"),
    [
        (elementary.log1p, np.log1p, np.concatenate([NEAR_ZERO, [-0.999, 7.0, 1e15, 1e17, 1e300]])),
        (elementary.expm1, np.expm1, np.concatenate([NEAR_ZERO, np.linspace(-40, 700, 999)])),
        (elementary.sine, np.sin, np.linspace(0.001, math.pi / 4, 999)),
        (elementary.logistic, special.expit, np.linspace(-30, 30, 999)),
    ],
)
def test_others_are_good_to_four_units_in_the_last_place(
    mine: Callable[..., Any], theirs: Callable[..., Any], x: np.ndarray
) -> None:
    assert units_apart(mine(x), theirs(x)) <= 4


def test_log_gamma() -> None:
    x = np.concatenate([np.linspace(1e-3, 30, 5_000), 10.0 ** np.linspace(1, 9, 500)])
    expected = special.gammaln(x)
    assert (np.abs(elementary.log_gamma(x) - expected) / np.maximum(np.abs(expected), 1)).max() < 1e-14


def test_normal_distribution() -> None:
    """The relative error of a tail is that of exp(-x^2 / 2), whose exponent is rounded."""
    x = np.linspace(-37, 9, 10_001)
    assert (np.abs(elementary.normal_cdf(x) / special.ndtr(x) - 1) / (1 + x**2)).max() < 1e-15
    p = np.concatenate([np.linspace(1e-4, 1 - 1e-4, 9_999), 10.0 ** -np.linspace(4, 300, 500)])
    expected = special.ndtri(p)
    assert (np.abs(elementary.normal_quantile(p) - expected) / np.maximum(np.abs(expected), 1)).max() < 2e-15


def test_powers() -> None:
    x = np.random.default_rng(2).uniform(0, 50, 1000)
    assert elementary.power(x, 2.5) == pytest.approx(x**2.5, rel=1e-14)


@pytest.mark.parametrize("exponent", [-300, -7, -1, 0, 1, 5, 22, 23, 300])
def test_decades_are_exact(exponent: int) -> None:
    at = float(f"1e{exponent}")
    assert elementary.power_of_ten(exponent) == at
    assert elementary.decade([at, np.nextafter(at, 0), np.nextafter(at, np.inf)]).tolist() == [
        exponent,
        exponent - 1,
        exponent,
    ]


@pytest.mark.parametrize("x", [1.0, 1.9999999999999998, 2.0, 0.1, 3e-300, 1e300])
def test_binary_orders_are_exact(x: float) -> None:
    order = elementary.binary_order(x)
    assert Fraction(2) ** order <= Fraction(x) < Fraction(2) ** (order + 1)


def test_shapes_stay() -> None:
    assert exp(0.0).shape == ()
    assert log(np.ones((2, 3))).shape == (2, 3)
    assert elementary.power(np.ones((0, 3)), 0.0).shape == (0, 3)
