"""Figures of mclust 6.0.0 on THYROID: `me(model, data, z = unmap(start))` and `mclustBIC(X, G = 1:10)`."""

import csv

import numpy as np
import pytest

from by_night import only_by_night
from published.reference import reference
from published.thyroid import thyroid_continuous
from shoal.kernels.mixture.mixture import COVARIANCE_MODELS, VVE_ALONG_EVE, mixture_em, parameter_count, statistics_of
from shoal.partition.gaussian_mixture import GaussianMixture


@pytest.fixture(scope="module")
def mclust():
    with reference("mclust/thyroid_me_g6.csv").open() as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    start = np.loadtxt(reference("mclust/thyroid_start_g6.csv"), skiprows=1).astype(np.int32) - 1
    return thyroid_continuous(), start, rows


def fitted(x, statistics, model, tolerance=1e-8):
    fit = mixture_em(x, statistics, model=model, tolerance=tolerance, most_steps=20_000)
    assert fit.converged
    return fit


@pytest.mark.slow
@pytest.mark.parametrize("model", COVARIANCE_MODELS)
def test_given_start(mclust, model):
    # mclust's VVE takes the common axes from EVE's criterion: see the next test.
    x, start, rows = mclust
    fit = fitted(x, statistics_of(x, start, 6), VVE_ALONG_EVE if model == "VVE" else model)
    assert parameter_count(model, 6, 5) == int(rows[model]["npar"])
    assert fit.loglik == pytest.approx(float(rows[model]["loglik"]), rel=1e-8)
    ours = 2 * fit.loglik - parameter_count(model, 6, 5) * np.log(len(x))
    assert ours == pytest.approx(float(rows[model]["bic"]), rel=1e-8)


def turning(axes, scatter, weight):
    """Derivatives of sum_g weight_g log|diag(D' W_g D)| as D turns in each plane of two axes."""
    slopes = np.zeros((len(axes), len(axes)))
    for w, n in zip(scatter, weight):
        inside = axes.T @ w @ axes
        slopes += n * (inside / np.diag(inside) - (inside / np.diag(inside)).T)
    return np.abs(slopes[np.triu_indices(len(axes), 1)])


@pytest.mark.slow
def test_the_vve_of_mclust_is_no_maximum_of_the_likelihood_and_ours_is(mclust):
    # M-step of VVE: D minimises sum_g n_g log|diag(D' W_g D)|; of EVE: sum_g |diag(D' W_g D)|^(1/d).
    x, start, rows = mclust
    first, theirs = statistics_of(x, start, 6), float(rows["VVE"]["loglik"])
    fit = fitted(x, first, VVE_ALONG_EVE, tolerance=1e-9)
    assert fit.loglik == pytest.approx(theirs, rel=1e-8)
    axes = np.linalg.eigh(fit.covariance[0])[1]
    weight, scatter = fit.statistics.weight, fit.statistics.scatter
    roots = np.array([np.exp(np.log(np.diag(axes.T @ w @ axes)).mean()) for w in scatter])
    assert turning(axes, scatter, roots).max() < 1e-6 * roots.sum()  # EVE's criterion is at rest,
    assert turning(axes, scatter, weight).max() > 0.3 * len(x)  # the likelihood is not:
    step = mixture_em(x, fit.statistics, model="VVE", most_steps=1)
    assert step.loglik > theirs + 2.5  # one M-step of VVE from there gains 2.9
    assert fitted(x, fit.statistics, "VVE").loglik == pytest.approx(-7490.5484, abs=1e-3)

    ours = fitted(x, first, "VVE", tolerance=1e-9)
    assert ours.loglik == pytest.approx(-7490.5484, abs=1e-3)
    assert 2 * ours.loglik - 75 * np.log(len(x)) > float(rows["VVE"]["bic"]) + 7
    axes = np.linalg.eigh(ours.covariance[0])[1]
    assert turning(axes, ours.statistics.scatter, ours.statistics.weight).max() < 1e-4 * len(x)


@only_by_night  # of ten numbers of groups; by day of the nine that are best, above
def test_best_bic_from_our_own_start():
    # mclustBIC(X, G = 1:10), default hierarchical start: greatest -15324.4434 (VVE, 9 groups). k = 1 holds the
    # proportions at 1/n, so the fit is unconstrained for all purposes; no k-means starts.
    with reference("mclust/thyroid_mclustBIC_default.csv").open() as file:
        theirs = max(float(v) for row in csv.DictReader(file) for name, v in row.items() if name != "G" and v != "NA")
    method = GaussianMixture(k=1, groups="1..10", kmeans_starts=0)
    part = method.partition(thyroid_continuous(), standardise="none")
    assert theirs == pytest.approx(-15324.4434, abs=1e-4)
    assert part.details["start"] == "hierarchical"
    assert part.details["BIC"] > theirs
    assert part.details["BIC by model and groups"]["VVV"]["1"] == pytest.approx(-26253.1269131623, rel=1e-9)
