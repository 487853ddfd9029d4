"""Figures of mclust 6.0.0 on THYROID: `me(model, data, z = unmap(start))` and `mclustBIC(X, G = 1:10)`."""

import csv

import numpy as np
import pytest

from published.thyroid import thyroid_continuous
from shoal.kernels.mixture import COVARIANCE_MODELS, mixture_em, parameter_count, statistics_of
from shoal.partition.gaussian_mixture import GaussianMixture


@pytest.fixture(scope="module")
def reference(shared):
    with (shared / "reference" / "mclust" / "thyroid_me_g6.csv").open() as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    start = np.loadtxt(shared / "reference" / "mclust" / "thyroid_start_g6.csv", skiprows=1).astype(np.int32) - 1
    return thyroid_continuous(shared), start, rows


@pytest.mark.slow
@pytest.mark.parametrize("model", COVARIANCE_MODELS)
def test_given_start(reference, model):
    x, start, rows = reference
    fit = mixture_em(x, statistics_of(x, start, 6), model=model, tolerance=1e-10, most_steps=20_000)
    loglik, bic = float(rows[model]["loglik"]), float(rows[model]["bic"])
    assert fit.converged
    assert parameter_count(model, 6, 5) == int(rows[model]["npar"])
    ours = 2 * fit.loglik - parameter_count(model, 6, 5) * np.log(len(x))
    if model == "VVE":
        # The common orientation has many local maxima, and each M-step decides which one EM goes to. Ours, found by
        # alternating both majorisations to convergence, is the better one: -7490.55 against -7494.36.
        assert fit.loglik == pytest.approx(-7490.548, abs=1e-3)
        assert fit.loglik > loglik
        assert ours > bic
    else:
        assert fit.loglik == pytest.approx(loglik, rel=1e-6)
        assert ours == pytest.approx(bic, rel=1e-6)


@pytest.mark.slow
def test_best_bic_from_our_own_start(shared):
    # mclustBIC(X, G = 1:10), default hierarchical start: greatest -15324.4434 (VVE, 9 groups). k = 1 holds the
    # proportions at 1/n, so the fit is unconstrained for all purposes; no k-means starts.
    with (shared / "reference" / "mclust" / "thyroid_mclustBIC_default.csv").open() as file:
        theirs = max(float(v) for row in csv.DictReader(file) for name, v in row.items() if name != "G" and v != "NA")
    method = GaussianMixture(k=1, groups="1..10", kmeans_starts=0)
    part = method.partition(thyroid_continuous(shared), standardise="none")
    assert theirs == pytest.approx(-15324.4434, abs=1e-4)
    assert part.facts["start"] == "hierarchical"
    assert part.facts["BIC"] > theirs
    assert part.facts["BIC by model and groups"]["VVV"]["1"] == pytest.approx(-26253.1269131623, rel=1e-9)
