import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from by_night import by_night
from shoal.kernels import logit
from shoal.kernels.designs import Design, SparseDesign
from shoal.kernels.logit import multinomial_logit, probabilities
from shoal.kernels.logit_information import DenseInformation, FactoredInformation


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
    np.testing.assert_allclose(ours.information.matrix, second, atol=1e-3)


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
def test_the_slope_is_zero_at_the_maximum_even_under_separation(seed, classes, p):
    rng = np.random.default_rng(seed)
    x = design(rng, 30, p)
    y = np.clip((x[:, 1] * 2).astype(int) % classes, 0, classes - 1)
    precision = np.full(p + 1, 0.16)
    model = multinomial_logit(x, np.eye(classes)[y], precision)
    fitted = model.probabilities(x)
    slope = x.T @ (np.eye(classes)[y] - fitted)[:, 1:] - precision[:, None] * model.coefficients
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
    np.testing.assert_allclose(np.cov(draws.T), np.linalg.inv(model.information.matrix), atol=0.02)
    np.testing.assert_allclose(draws.mean(axis=0), model.coefficients.T.ravel(), atol=0.03)


def wide(rng, n=300, classes=7):
    """Records of 20 indicators and two numbers, with weights of their categories; more than MANY coefficients."""
    x = np.hstack([design(rng, n, 2), np.eye(20)[rng.integers(0, 20, n)]])
    y = np.eye(classes)[rng.integers(0, classes, n)] * rng.integers(1, 4, n)[:, None]
    return x, y, np.full(x.shape[1], 0.16)


def test_many_coefficients_have_the_maximum_of_few(monkeypatch):
    x, y, precision = wide(np.random.default_rng(4))
    ours = multinomial_logit(x, y, precision)
    assert isinstance(ours.information, FactoredInformation)
    monkeypatch.setattr(logit, "MANY", 10_000)
    theirs = multinomial_logit(x, y, precision)
    assert isinstance(theirs.information, DenseInformation)
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, atol=2e-4)
    np.testing.assert_allclose(ours.probabilities(x), theirs.probabilities(x), atol=2e-5)


@pytest.mark.parametrize("kind", [Design, SparseDesign])
def test_factors_are_the_matrix(kind):
    rng = np.random.default_rng(5)
    x, y, precision = wide(rng)
    fitted, total = rng.dirichlet(np.ones(y.shape[1]), len(x)), y.sum(axis=1)
    dense = DenseInformation.of(x, fitted, total, precision)
    made = Design(x=x) if kind is Design else SparseDesign.of(x)
    factored = FactoredInformation(x=made, fitted=fitted, total=total, precision=precision)
    v = rng.normal(size=(x.shape[1], y.shape[1] - 1))
    flat = dense.matrix @ v.T.ravel()
    np.testing.assert_allclose(factored.product(v).T.ravel(), flat, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(factored.solved(v, 1e-10), dense.solved(v), rtol=1e-6, atol=1e-9)
    covariance = np.cov(np.array([factored.drawn(rng)[:, 0] for _ in range(by_night(1000, 3000))]).T)
    expected = np.linalg.inv(dense.matrix)[: x.shape[1], : x.shape[1]]
    np.testing.assert_allclose(covariance, expected, atol=0.12 * np.abs(expected).max())


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 6), st.integers(1, 5), st.floats(0, 1))
def test_products_of_few_entries_are_those_of_all(seed, n, p, k, share):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * (rng.random((n, p)) < share)
    made = SparseDesign.of(x)
    small, other, weight = rng.normal(size=(p, k)), rng.normal(size=(n, k)), rng.random(n)
    np.testing.assert_allclose(made.times(small), x @ small, atol=1e-12)
    np.testing.assert_allclose(made.cross(other), x.T @ other, atol=1e-12)
    np.testing.assert_allclose(made.square(weight), (x * weight[:, None]).T @ x, atol=1e-12)


def test_rows_of_several_blocks_add_up():
    x = np.ones((5000, 1))
    assert SparseDesign.of(x).cross(np.arange(5000.0)[:, None]).item() == 5000 * 4999 / 2
