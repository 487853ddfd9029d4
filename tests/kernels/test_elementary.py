"""The house's own exponential and logarithm against the C library's."""

import math

import numpy as np
import pytest

from shoal.kernels.elementary import exp, log


def units_apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference in units of the last place."""
    return float((np.abs(mine - theirs) / np.spacing(np.abs(theirs))).max())


def test_exp_is_good_to_two_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-700, 700, 20_001), np.random.default_rng(0).normal(size=10_000)])
    assert units_apart(exp(x), np.array([math.exp(v) for v in x])) < 2


def test_log_is_good_to_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [2.0 ** rng.uniform(-1000, 1000, 20_000), 1 + rng.normal(size=10_000) * 1e-3, [0.5, 2.0, 5e-324]]
    )
    assert units_apart(log(x), np.array([math.log(v) for v in x])) < 2


def test_ends() -> None:
    assert exp(np.array([0.0, 1e9, -1e9, np.inf, -np.inf])).tolist() == [1, np.inf, 0, np.inf, 0]
    assert np.isnan(exp(np.array([np.nan]))).all()
    assert log(np.array([1.0, 0.0, np.inf])).tolist() == [0, -np.inf, np.inf]
    assert np.isnan(log(np.array([np.nan, -1.0]))).all()
    assert exp(np.array([-745.0]))[0] == pytest.approx(5e-324)
