import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from shoal.kernels.logit import multinomial_logit, probabilities


def design(rng, n, p):
    return np.column_stack([np.ones(n), rng.normal(size=(n, p))])


def test_shares_by_hand():
    # With an intercept alone the fitted probabilities are the shares 5/10, 3/10, 2/10.
    y = np.eye(3)[[0] * 5 + [1] * 3 + [2] * 2]
    model = multinomial_logit(np.ones((10, 1)), y, np.zeros(1))
    np.testing.assert_allclose(model.probabilities(np.ones((1, 1))), [[0.5, 0.3, 0.2]], atol=1e-8)
    np.testing.assert_allclose(model.coefficients[0], np.log([0.6, 0.4]), atol=1e-7)


@pytest.mark.parametrize("classes", [2, 4])
def test_equals_a_general_maximiser(classes):
    rng = np.random.default_rng(1)
    x = design(rng, 400, 3)
    y = (rng.random(400)[:, None] > np.cumsum(probabilities(x, rng.normal(size=(4, classes - 1))), axis=1)).sum(axis=1)

    def minus_likelihood(flat):
        return -np.log(probabilities(x, flat.reshape(classes - 1, 4).T)[np.arange(400), y]).sum()

    best = minimize(minus_likelihood, np.zeros(4 * (classes - 1)), method="BFGS", options={"gtol": 1e-4})
    ours = multinomial_logit(x, np.eye(classes)[y], np.zeros(4))
    flat = ours.coefficients.T.ravel()
    np.testing.assert_allclose(flat, best.x, atol=1e-4)
    assert minus_likelihood(flat) <= best.fun + 1e-9
    h = 1e-3  # second differences along and between the axes
    steps = h * np.eye(len(flat))
    second = [
        [
            (
                minus_likelihood(flat + a + b)
                - minus_likelihood(flat + a - b)
                - minus_likelihood(flat - a + b)
                + minus_likelihood(flat - a - b)
            )
            / (4 * h * h)
            for a in steps
        ]
        for b in steps
    ]
    np.testing.assert_allclose(ours.information, second, atol=1e-3)


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
def test_the_slope_is_zero_at_the_maximum_even_under_separation(seed, classes, p):
    rng = np.random.default_rng(seed)
    x = design(rng, 30, p)
    y = np.clip((x[:, 1] * 2).astype(int) % classes, 0, classes - 1)
    precision = np.full(p + 1, 0.16)
    model = multinomial_logit(x, np.eye(classes)[y], precision)
    fitted = model.probabilities(x)
    slope = x.T @ (np.eye(classes)[y] - fitted)[:, 1:] - precision[:, None] * model.coefficients
    assert model.converged
    assert np.abs(slope).max() < 1e-3
    np.testing.assert_allclose(fitted.sum(axis=1), 1)


def test_weights_count_as_records():
    rng = np.random.default_rng(2)
    x = design(rng, 40, 1)
    y = np.eye(2)[rng.integers(0, 2, 40)]
    twice = multinomial_logit(np.vstack([x, x]), np.vstack([y, y]), np.zeros(2))
    weighted = multinomial_logit(x, 2 * y, np.zeros(2))
    np.testing.assert_allclose(twice.coefficients, weighted.coefficients, atol=1e-8)


def test_drawn_coefficients_have_the_inverse_information_as_covariance():
    rng = np.random.default_rng(3)
    x = design(rng, 60, 1)
    model = multinomial_logit(x, np.eye(3)[rng.integers(0, 3, 60)], np.full(2, 0.1))
    draws = np.array([model.drawn(rng).coefficients.T.ravel() for _ in range(4000)])
    np.testing.assert_allclose(np.cov(draws.T), np.linalg.inv(model.information), atol=0.02)
    np.testing.assert_allclose(draws.mean(axis=0), model.coefficients.T.ravel(), atol=0.03)
