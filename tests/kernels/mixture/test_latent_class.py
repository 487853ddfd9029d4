import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import latent_class as naive
from shoal.kernels.logit import INTERCEPT_PRECISION, SLOPE_PRECISION
from shoal.kernels.mixture.latent_class import (
    class_probabilities,
    latent_class_em,
    latent_class_parameters,
    latent_class_scores,
    project_prevalences,
)


def answers(seed, n, categories, groups, missing=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, groups, n)
    shares = [rng.dirichlet(np.ones(c), groups).cumsum(axis=1)[truth] for c in categories]
    codes = np.column_stack([(rng.random((n, 1)) > share).sum(axis=1) for share in shares]).astype(np.int32)
    codes = np.minimum(codes, np.array(categories) - 1)
    codes[rng.random(codes.shape) < missing] = -1
    return codes, rng.dirichlet(np.ones(groups), n)


def test_one_class_by_hand():
    # Four answers 0, 0, 0, 1: shares 3/4 and 1/4, which the credited record does not change.
    fit = latent_class_em([[0], [0], [0], [1]], [2], np.ones((4, 1)), most_steps=1)
    assert np.exp(fit.log_table[:, 0]).tolist() == pytest.approx([0.75, 0.25])
    assert fit.loglik == pytest.approx(3 * np.log(0.75) + np.log(0.25))


def test_zero_cells_stay_above_zero():
    # Class 0 holds answers 0, 0 and one credited record that is 1/2 of each: (2.5, 0.5)/3.
    fit = latent_class_em([[0], [0], [1], [1]], [2], np.repeat(np.eye(2), 2, axis=0), most_steps=1)
    assert np.exp(fit.log_table[:, 0]).tolist() == pytest.approx([2.5 / 3, 0.5 / 3])


@given(st.integers(0, 2**32), st.integers(1, 4), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.booleans())
def test_same_as_the_naive_twin(seed, groups, categories, regression):
    codes, z = answers(seed, 60, categories, groups, missing=0.1)
    rng = np.random.default_rng(seed + 1)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2))]) if regression else None
    precision = np.array([INTERCEPT_PRECISION, SLOPE_PRECISION, SLOPE_PRECISION])
    fit = latent_class_em(codes, categories, z, covariates=x, most_steps=4, tolerance=-1.0)
    loglik, p, tables, posterior = naive.em(codes, categories, z, 4, x, precision=precision)
    assert fit.loglik == pytest.approx(loglik, rel=1e-5)
    np.testing.assert_allclose(np.exp(fit.log_table), np.vstack(tables), atol=1e-4)
    np.testing.assert_allclose(fit.posterior, posterior, atol=1e-3)
    np.testing.assert_allclose(class_probabilities(fit.coefficient, np.ones((60, 1)) if x is None else x), p, atol=1e-3)


@pytest.mark.parametrize("floor", [0.0, 0.3])
@pytest.mark.parametrize("regression", [False, True])
def test_a_row_that_counts_several_times_is_that_many_records(regression, floor):
    codes, z = answers(3, 40, [2, 3], 3, missing=0.1)
    counts = np.random.default_rng(4).integers(1, 6, 40)
    x = np.column_stack([np.ones(40), np.random.default_rng(5).normal(size=40)]) if regression else None
    each = {"categories": [2, 3], "floor": floor, "most_steps": 12, "tolerance": -1.0}
    once = latent_class_em(codes, posterior=z, covariates=x, counts=counts.astype(float), **each)
    rows = np.repeat(np.arange(40), counts)
    repeated = latent_class_em(codes[rows], posterior=z[rows], covariates=None if x is None else x[rows], **each)
    assert once.loglik == pytest.approx(repeated.loglik, rel=1e-9)
    np.testing.assert_allclose(once.log_table, repeated.log_table, atol=1e-7)
    np.testing.assert_allclose(once.coefficient, repeated.coefficient, atol=1e-7)


@pytest.mark.parametrize("floor", [0.0, 0.24])
@pytest.mark.parametrize("regression", [False, True])
def test_the_end_is_where_the_classes_rest(regression, floor):
    # Classes that overlap widely: a step changes the objective by a millionth long before they rest.
    codes, z = answers(6, 200, [2, 2, 2, 2], 4)
    x = np.column_stack([np.ones(200), np.random.default_rng(0).normal(size=200)]) if regression else None
    fit = latent_class_em(codes, [2] * 4, z, covariates=x, floor=floor, most_steps=5000)
    end = latent_class_em(codes, [2] * 4, z, covariates=x, floor=floor, most_steps=5000, tolerance=1e-10)
    assert fit.converged
    np.testing.assert_allclose(fit.prevalence, end.prevalence, atol=2e-4)
    np.testing.assert_allclose(np.exp(fit.log_table), np.exp(end.log_table), atol=2e-4)


@pytest.mark.parametrize("regression", [False, True])
def test_objective_never_falls_without_a_floor(regression):
    codes, z = answers(5, 300, [2, 3, 4], 3)
    x = np.column_stack([np.ones(300), np.random.default_rng(0).normal(size=300)]) if regression else None
    before = -np.inf
    for steps in range(1, 30):
        fit = latent_class_em(codes, [2, 3, 4], z, covariates=x, most_steps=steps, tolerance=-1.0)
        assert fit.objective >= before - 1e-9 * abs(before)
        before = fit.objective


def test_separation_stays_finite():
    # The covariate tells the classes apart without error: a maximum likelihood slope would be infinite.
    codes = np.repeat([[0, 0, 0], [1, 1, 1]], 50, axis=0)
    x = np.column_stack([np.ones(100), np.repeat([-1.0, 1.0], 50)])
    fit = latent_class_em(codes, [2, 2, 2], np.repeat(np.eye(2), 50, axis=0), covariates=x)
    assert fit.converged
    assert np.abs(fit.coefficient).max() < 20
    assert class_probabilities(fit.coefficient, x)[0, 0] > 0.97


@given(st.integers(0, 2**32), st.integers(2, 5), st.floats(0, 1), st.floats(0.5, 40))
def test_projection_reaches_its_target_and_stays_a_posterior(seed, groups, share, sharpness):
    rng = np.random.default_rng(seed)
    z = rng.dirichlet(np.ones(groups) / sharpness, 80)
    target = (1 - share) * z.mean(axis=0) + share / groups
    moved, reached = project_prevalences(z, target)
    assert (moved >= 0).all()
    np.testing.assert_allclose(moved.sum(axis=1), 1, rtol=1e-12)
    if reached:
        np.testing.assert_allclose(moved.mean(axis=0), target, atol=1e-9)
    if sharpness < 4:
        assert reached


def test_projection_by_hand_has_the_form_of_the_kl_projection():
    # Two classes: z' = z e^a / (z e^a + 1 - z), so all records' log odds move by the same a.
    z = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    moved, reached = project_prevalences(z, [0.5, 0.5])
    assert reached
    shift = np.log(moved[:, 0] / moved[:, 1]) - np.log(z[:, 0] / z[:, 1])
    assert shift.tolist() == pytest.approx([shift[0]] * 3)


def test_equation_15_as_printed_leaves_the_unit_interval_and_the_projection_does_not():
    # z + (p_new - p_old), the repaired (15), is negative for records surely in another class.
    z = np.vstack([np.repeat([[1.0, 0.0]], 97, axis=0), np.repeat([[0.0, 1.0]], 3, axis=0)])
    target = np.array([0.9, 0.1])
    assert (z + (target - z.mean(axis=0))).min() < 0
    moved, _ = project_prevalences(z, target)
    assert moved.min() >= 0


def test_floor_holds_the_prevalences():
    codes, z = answers(8, 200, [2, 2, 3], 4)
    free = latent_class_em(codes, [2, 2, 3], z)
    assert free.prevalence.min() < 0.2
    fit = latent_class_em(codes, [2, 2, 3], z, floor=0.2)
    assert fit.prevalence.min() == pytest.approx(0.2)
    assert fit.prevalence.sum() == pytest.approx(1)
    even = latent_class_em(codes, [2, 2, 3], z, floor=0.25)
    assert even.prevalence.tolist() == pytest.approx([0.25] * 4)


def test_scores_are_the_logarithms_of_the_joint_probabilities():
    codes, z = answers(2, 50, [3, 2], 2, missing=0.2)
    fit = latent_class_em(codes, [3, 2], z, most_steps=5)
    scores = latent_class_scores(codes, [3, 2], fit.coefficient, fit.log_table)
    assert np.logaddexp.reduce(scores, axis=1).sum() == pytest.approx(fit.loglik)


def test_parameter_count():
    # 3 classes, columns of 2 and 4 categories: 2 proportions + 3 (1 + 3); one covariate adds 2 slopes.
    assert latent_class_parameters(3, np.array([2, 4])) == 14
    assert latent_class_parameters(3, np.array([2, 4]), 1) == 16


def test_progress_and_interrupt():
    codes, z = answers(1, 20_000, [4] * 6, 4)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        latent_class_em(codes, [4] * 6, z, tolerance=-1.0, most_steps=100_000, progress=stop)


@pytest.mark.parametrize("regression", [False, True])
def test_same_bytes_with_and_without_the_vector_unit(regression):
    codes, z = answers(5, 150, [3, 4, 2], 5, missing=0.1)
    x = np.column_stack([np.ones(150), np.random.default_rng(6).normal(size=(150, 2))]) if regression else None
    how = {"covariates": x, "floor": 0.1, "most_steps": 25}
    plain, fast = (latent_class_em(codes, [3, 4, 2], z, simd=simd, **how) for simd in (False, True))
    assert plain.objective == fast.objective
    for name in ("prevalence", "coefficient", "log_table", "posterior"):
        assert getattr(plain, name).tobytes() == getattr(fast, name).tobytes()


def test_a_regression_goes_on_where_it_stopped():
    codes, z = answers(7, 200, [3, 4], 3)
    x = np.column_stack([np.ones(200), np.random.default_rng(8).normal(size=(200, 2))])
    how = {"covariates": x, "tolerance": -1.0}
    whole = latent_class_em(codes, [3, 4], z, most_steps=8, **how)
    half = latent_class_em(codes, [3, 4], z, most_steps=5, **how)
    rest = latent_class_em(codes, [3, 4], half.posterior, most_steps=3, coefficient=half.coefficient, **how)
    np.testing.assert_allclose(rest.coefficient, whole.coefficient, rtol=1e-12)
    assert rest.objective == pytest.approx(whole.objective, rel=1e-12)
