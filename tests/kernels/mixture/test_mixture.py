import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_night import only_by_night
from naive import mixture as naive
from shoal.kernels.mixture.mixture import (
    COVARIANCE_MODELS,
    floored_proportions,
    mixture_em,
    mixture_scores,
    parameter_count,
    statistics_of,
)


def groups_of(seed, n, d, groups):
    """Records in overlapping groups and a start that is mostly right."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)]).astype(np.int32)
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, size=(groups, 1))[labels]
    x += 3 * rng.normal(size=(groups, d))[labels]
    start = np.where(rng.random(n) < 0.1, rng.integers(0, groups, n), labels).astype(np.int32)
    return x, start


def test_one_group_by_hand():
    # Records 0 and 2: mean 1, variance 1; each has density exp(-1/2)/sqrt(2 pi).
    x = np.array([[0.0], [2.0]])
    fit = mixture_em(x, statistics_of(x, np.zeros(2, dtype=np.int32), 1), most_steps=1)
    assert fit.loglik == pytest.approx(2 * (-0.5 - 0.5 * np.log(2 * np.pi)), rel=1e-15)
    assert fit.mean.tolist() == [[1.0]]
    assert fit.covariance.tolist() == [[[1.0]]]


def test_one_m_step_of_every_model_by_hand():
    # Two groups of two records each on the axes: group 0 at (+-1, 0) and (0, +-2), weight 4, scatter diag(2, 8);
    # group 1 at 10 + (+-3, 0) and 10 + (0, +-6): weight 4, scatter diag(18, 72). Both shapes are (1/2, 2), volumes
    # |W|^(1/2)/4 = 1 and 9; pooled diag(20, 80), total weight 8.
    cross = np.array([[1, 0], [-1, 0], [0, 2], [0, -2.0]])
    x = np.vstack([cross, 10 + 3 * cross])
    start = statistics_of(x, np.repeat([0, 1], 4).astype(np.int32), 2)
    shape = np.diag([0.5, 2])
    common, by_group = [5 * shape, 5 * shape], [shape, 9 * shape]
    expected = {
        "EII": [np.eye(2) * 6.25] * 2, "VII": [np.eye(2) * 1.25, np.eye(2) * 11.25],
        "EEI": common, "VEI": by_group, "EVI": common, "VVI": by_group, "EEE": common, "VEE": by_group,
        "EVE": common, "VVE": by_group, "EEV": common, "VEV": by_group, "EVV": common, "VVV": by_group,
    }  # fmt: skip
    for model in COVARIANCE_MODELS:
        fit = mixture_em(x, start, model=model, most_steps=1)
        np.testing.assert_allclose(fit.covariance, expected[model], rtol=1e-9, atol=1e-12, err_msg=model)


@given(
    st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4),
    st.sampled_from(["EII", "VII", "EEI", "VVI", "EEE", "EEV", "EVV", "VVV"]), st.sampled_from([0.0, 0.15]),
)  # fmt: skip
def test_same_as_the_naive_twin(seed, groups, d, model, floor):
    x, start = groups_of(seed, 40 * groups, d, groups)
    fit = mixture_em(x, statistics_of(x, start, groups), model=model, floor=floor, most_steps=3, tolerance=-1.0)
    loglik, proportion, mean, covariance = naive.em(x, np.eye(groups)[start], model, 3, floor)
    assert fit.loglik == pytest.approx(loglik, rel=1e-10)
    np.testing.assert_allclose(fit.proportion, proportion, rtol=1e-9)
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "floor"),
    [
        pytest.param(model, floor, marks=[only_by_night] * (model not in by_day))
        for floor, by_day in ((0.0, ""), (0.3, "VVV"))
        for model in ("EEI", "VVI", "EEE", "VVV")
    ],
)
def test_extrapolated_steps_end_where_plain_ones_do(model, floor):
    # Three groups so near each other that plain EM is slow: it needs up to ten times as many steps.
    rng = np.random.default_rng(4)
    start = np.repeat([0, 1, 2], [60, 60, 30]).astype(np.int32)
    x = rng.normal(size=(150, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[start]
    fit = mixture_em(x, statistics_of(x, start, 3), model=model, floor=floor, tolerance=1e-9, most_steps=3000)
    loglik, proportion, mean, covariance = naive.em(x, np.eye(3)[start], model, 3000, floor)
    assert fit.converged
    assert fit.steps < 600
    assert fit.loglik == pytest.approx(loglik, rel=1e-9)
    np.testing.assert_allclose(fit.proportion, proportion, atol=1e-6)
    np.testing.assert_allclose(fit.mean, mean, atol=1e-6)
    np.testing.assert_allclose(fit.covariance, covariance, atol=1e-6)


@pytest.mark.parametrize("model", ["EEI", "VEV", "VVE", "VVV"])
def test_extrapolation_never_lowers_the_likelihood_without_a_floor(model):
    x, start = groups_of(3, 300, 3, 4)
    fits = [
        mixture_em(x, statistics_of(x, start, 4), model=model, most_steps=steps, tolerance=-1.0)
        for steps in range(1, 80)
    ]
    reached = np.array([fit.loglik for fit in fits])
    assert (np.diff(reached) >= -1e-9 * np.abs(reached[1:])).all()
    assert [fit.steps for fit in fits] == list(range(1, 80))


@pytest.mark.parametrize("model", COVARIANCE_MODELS)
def test_likelihood_never_falls_without_a_floor(model):
    x, start = groups_of(3, 300, 3, 4)
    statistics, before = statistics_of(x, start, 4), -np.inf
    for _ in range(40):
        fit = mixture_em(x, statistics, model=model, most_steps=1)
        assert fit.loglik >= before - 1e-8 * abs(fit.loglik)
        statistics, before = fit.statistics, fit.loglik


@pytest.mark.parametrize("model", COVARIANCE_MODELS)
def test_covariances_have_the_form_their_name_says(model):
    x, start = groups_of(5, 400, 3, 3)
    fit = mixture_em(x, statistics_of(x, start, 3), model=model, tolerance=1e-12, most_steps=2000)
    values = np.linalg.eigvalsh(fit.covariance)
    volume = values.prod(axis=1) ** (1 / 3)
    shape = values / volume[:, None]
    if model[0] == "E":
        np.testing.assert_allclose(volume, volume[0], rtol=1e-6)
    if model[1] == "E":
        np.testing.assert_allclose(shape, np.broadcast_to(shape[0], shape.shape), rtol=1e-6)
    if model[1] == "I":
        np.testing.assert_allclose(shape, 1.0, rtol=1e-12)
    if model[2] == "I":
        off = fit.covariance * (1 - np.eye(3))
        assert np.abs(off).max() == 0
    if model[2] == "E":  # matrices with one orientation commute
        a, b = fit.covariance[0], fit.covariance[1]
        np.testing.assert_allclose(a @ b, b @ a, atol=1e-8)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=8), st.floats(0, 1))
def test_floored_proportions_obey_equations_3_and_4(weights, share):
    weight = np.array(weights)
    groups, proportion = len(weight), weight / weight.sum()
    floor = share * 0.999 / groups
    new = floored_proportions(weight, floor)
    np.testing.assert_allclose(new, naive.floored(proportion, floor), rtol=1e-9)
    assert new.sum() == pytest.approx(1)
    assert new.min() >= floor
    assert np.diff(new[np.argsort(proportion)]).min() >= -1e-15  # the order stays, equal weights rounded aside


def test_floored_proportions_identities():
    # 1/G stays; G k = n gives the uniform vector; nothing moves where all are large enough.
    assert floored_proportions([0.05, 0.25, 0.25, 0.45], 0.1)[1:3].tolist() == [0.25, 0.25]
    assert floored_proportions([1.0, 2.0, 5.0], 1 / 3).tolist() == pytest.approx([1 / 3] * 3, rel=1e-15)
    assert floored_proportions([1.0, 3.0], 0.2).tolist() == [0.25, 0.75]


def test_far_from_the_origin_and_far_apart():
    # The same mixture moved by 1e8: one-pass sums about the origin would lose it.
    x, start = groups_of(11, 500, 2, 2)
    fit = mixture_em(x, statistics_of(x, start, 2), most_steps=30)
    moved = mixture_em(x + 2.0**27, statistics_of(x + 2.0**27, start, 2), most_steps=30)
    assert moved.loglik == pytest.approx(fit.loglik, rel=1e-6)
    # A record 1e6 from the only group still has a posterior that sums to one.
    lone = np.vstack([x, [[1e6, 1e6]]])
    scores = mixture_scores(lone, fit)
    assert np.isfinite(scores).all()


def test_scores_are_log_proportion_times_density():
    x, start = groups_of(7, 130, 3, 3)
    fit = mixture_em(x, statistics_of(x, start, 3), most_steps=10)
    np.testing.assert_allclose(
        mixture_scores(x, fit), naive.log_densities(x, fit.proportion, fit.mean, fit.covariance), rtol=1e-10
    )


def test_t_components_against_scipy():
    from scipy.stats import multivariate_t

    x = multivariate_t(np.array([1.0, -2.0]), [[2.0, 0.5], [0.5, 1.0]], df=4, seed=1).rvs(4000)
    start = statistics_of(x, np.zeros(len(x), dtype=np.int32), 1)
    fit = mixture_em(x, start, dof=[30.0], tolerance=1e-12, most_steps=3000)
    assert fit.converged
    best = multivariate_t(fit.mean[0], fit.covariance[0], df=fit.dof[0]).logpdf(x).sum()
    assert fit.loglik == pytest.approx(best, rel=1e-9)
    assert 3.4 < fit.dof[0] < 4.7  # true value 4, standard error about 0.2
    for change in (0.9, 1.1):  # it is a maximum over the degrees of freedom
        assert multivariate_t(fit.mean[0], fit.covariance[0], df=fit.dof[0] * change).logpdf(x).sum() < best


def test_a_singular_group_is_named():
    x = np.vstack([np.zeros((5, 2)), np.random.default_rng(0).normal(size=(20, 2)) + 9])
    fit = mixture_em(x, statistics_of(x, np.repeat([0, 1], [5, 20]).astype(np.int32), 2))
    assert fit.singular == 0
    ridged = mixture_em(x, statistics_of(x, np.repeat([0, 1], [5, 20]).astype(np.int32), 2), ridge=1e-6)
    assert ridged.singular == -1
    assert np.isfinite(ridged.loglik)


def test_goes_on_where_it_stopped_and_repeats():
    x, start = groups_of(2, 200, 2, 3)
    whole = mixture_em(x, statistics_of(x, start, 3), most_steps=3, tolerance=-1.0)
    half = mixture_em(x, statistics_of(x, start, 3), most_steps=1, tolerance=-1.0)
    rest = mixture_em(x, half.statistics, most_steps=2, tolerance=-1.0)
    assert rest.loglik == whole.loglik
    whole = mixture_em(x, statistics_of(x, start, 3), most_steps=20, tolerance=-1.0)
    again = mixture_em(x, statistics_of(x, start, 3), most_steps=20, tolerance=-1.0)
    assert again.covariance.tobytes() == whole.covariance.tobytes()


def test_parameter_counts_of_celeux_and_govaert():
    # Table 1 at G = 6, d = 5: alpha = G d + G - 1 = 35, beta = d (d + 1) / 2 = 15.
    expected = [36, 41, 40, 45, 60, 65, 50, 55, 70, 75, 100, 105, 120, 125]
    assert [parameter_count(m, 6, 5) for m in COVARIANCE_MODELS] == expected


def test_progress_and_interrupt():
    x, start = groups_of(1, 200_000, 4, 6)
    seen = []

    def stop(done):
        seen.append(done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mixture_em(x, statistics_of(x, start, 6), tolerance=-1.0, most_steps=100_000, progress=stop)
    assert all(0 <= done <= 1 for done in seen)


@pytest.mark.parametrize("dof", [None, 5.0])
@pytest.mark.parametrize("model", ["EII", "VVI", "EVE", "VVV"])
def test_same_bytes_with_and_without_the_vector_unit(model, dof):
    x, start = groups_of(3, 200, 5, 4)
    x[:10] += 500.0  # posteriors of 0
    how = {"model": model, "dof": None if dof is None else np.full(4, dof), "floor": 0.05, "most_steps": 30}
    plain, fast = (mixture_em(x, statistics_of(x, start, 4), simd=simd, **how) for simd in (False, True))
    assert plain.loglik == fast.loglik
    for name in ("proportion", "mean", "covariance", "dof"):
        assert getattr(plain, name).tobytes() == getattr(fast, name).tobytes()


@pytest.mark.parametrize("model", ["EII", "EVV", "VVV"])
def test_five_steps_as_the_naive_twin_where_groups_lie_far_apart(model):
    """Blocks of records of which a group has none, and a last block that is not full."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], [130, 64, 71]).astype(np.int32)
    x = rng.normal(size=(265, 3)) + 60.0 * labels[:, None]
    fit = mixture_em(x, statistics_of(x, labels, 3), model=model, most_steps=5, tolerance=-1.0)
    loglik, proportion, mean, covariance = naive.em(x, np.eye(3)[labels], model, 5)
    assert fit.loglik == pytest.approx(loglik, rel=1e-12)
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-8, atol=1e-12)
