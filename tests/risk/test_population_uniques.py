"""Estimates of who is alone in the population."""

import numpy as np
import pandas as pd
import pytest

from by_night import by_night
from shoal.judges.class_figures import ClassCounts
from shoal.risk.population_uniques import (
    MODELS,
    PopulationUniques,
    UniquesEstimate,
    pitman,
    poisson_gamma,
    slide_negative_binomial,
)
from shoal.risk.suda2 import SUDA2
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

POPULATION = 60_000


def table(values, weight=None):
    frame = pd.DataFrame({"key": values})
    roles = {"key": {"role": "quasi-identifier", "level": "nominal"}}
    if weight is not None:
        frame, roles = frame.assign(w=float(weight)), {**roles, "w": "weight"}
    return Microdata.of(frame, roles).records


def chinese_restaurant(n, alpha, theta, rng):
    """Class sizes drawn from the Pitman sampling formula."""
    sizes = []
    for i in range(n):
        if rng.uniform() * (i + theta) < theta + alpha * len(sizes):
            sizes.append(1)
            continue
        weights = np.array(sizes) - alpha
        sizes[rng.choice(len(sizes), p=weights / weights.sum())] += 1
    return np.array(sizes)


def thinned(sizes, fraction, rng):
    seen = rng.binomial(sizes, fraction)
    return seen[seen > 0]


@pytest.mark.slow
def test_each_model_recovers_its_own_population():
    rng = np.random.default_rng(8)
    gamma = rng.poisson(rng.gamma(0.4, 1.5, POPULATION))
    slide = 1 + rng.negative_binomial(0.5, 1 / (1 + 4.0), POPULATION)
    restaurant = chinese_restaurant(4000, 0.4, 60.0, rng)
    for model, sizes in ((poisson_gamma, gamma), (slide_negative_binomial, slide), (pitman, restaurant)):
        truth = (sizes == 1).sum() / sizes.sum()
        counts = np.unique(thinned(sizes, 0.3, rng), return_counts=True)
        assert model(*counts, float(sizes.sum())).share == pytest.approx(truth, rel=0.1)


def test_a_census_has_its_own_uniques():
    records = table(["a", "b", *"cc", *"dddd"])
    finding = PopulationUniques(population=8).measure(records, records)
    assert finding.value == 2 / 8
    assert set(finding.details["models"].values()) == {2 / 8}


def test_nobody_is_unique_in_the_population_who_is_not_unique_in_the_sample():
    """Pitman's formula alone would say 0.37 % of these 200 classes of five."""
    sizes = np.full(200, 5)
    assert pitman(*np.unique(sizes, return_counts=True), 20_000.0).share == pytest.approx(0.0037, abs=1e-4)
    records = table(np.repeat(np.arange(200), sizes).astype(str))
    assert PopulationUniques(population=20_000).measure(records, records).value == 0


def test_where_a_weight_is_missing_the_population_is_not_known():
    frame = pd.DataFrame({"key": ["a", "b", "c"], "w": [100.0, 100.0, None]})
    records = Microdata.of(frame, {"key": "quasi-identifier", "w": {"role": "weight", "missing": "keep"}}).records
    assert "present and above 0" in PopulationUniques().measure(records, records).reason
    assert "present and above 0" in SUDA2().measure(records, records).details["no DIS"]
    assert PopulationUniques(population=300).measure(records, records).value is not None


@pytest.mark.parametrize("model", MODELS.values())
def test_estimates_are_shares(model):
    for sizes in ([1] * 50, [50], [1, 2, 3, 40], [2] * 30):
        share = model(*np.unique(sizes, return_counts=True), 1000.0).share
        assert 0 <= share <= 1


@pytest.mark.slow
def test_measure():
    rng = np.random.default_rng(9)
    values = rng.geometric(0.05, 2000).astype(str)
    by_weight = PopulationUniques().measure(table(values, 5), table(values, 5))
    by_size = PopulationUniques(population=10_000).measure(table(values), table(values))
    assert by_weight.value == by_size.value == max(by_size.details["models"].values())
    assert len(by_size.details["models"]) == 3
    assert by_size.details["sampling fraction"] == pytest.approx(0.2)
    assert by_size.value <= by_size.details["sample uniques"]


def test_without_a_population_there_is_no_figure():
    records = table(["a", "b"])
    assert "Neither the size of the population" in PopulationUniques().measure(records, records).reason
    assert "at least as many" in PopulationUniques(population=1).measure(records, records).reason
    with pytest.raises(ParameterError):
        PopulationUniques(population=0)


@pytest.mark.slow
def test_the_interval_covers_planted_populations():
    covered = 0
    draws = by_night(2, 6)
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        sizes = rng.poisson(rng.gamma(0.4, 1.5, 3_000)) if draw % 2 else 1 + rng.negative_binomial(0.5, 0.2, 700)
        people = np.repeat(np.arange(len(sizes)), sizes)
        rows = rng.choice(len(people), len(people) // 5, replace=False)
        records = table(people[rows].astype(str))
        interval = PopulationUniques(population=len(people)).measure(records, records).interval
        covered += interval.low <= (sizes == 1).sum() / sizes.sum() <= interval.high
    assert covered == draws


def test_the_interval_reaches_over_all_models_and_not_beyond_the_sample():
    rng = np.random.default_rng(3)
    sizes = 1 + rng.negative_binomial(0.5, 1 / (1 + 4.0), 400)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    records = table(ids[rng.random(len(ids)) < 0.2].astype(str))
    finding = PopulationUniques(population=len(ids)).measure(records, records)
    shares = finding.details["models"].values()
    assert finding.interval.low < min(shares)
    assert max(shares) < finding.interval.high <= finding.details["sample uniques"]


def test_a_census_leaves_nothing_uncertain():
    records = table(["a", "b", *"cc", *"dddd"])
    interval = PopulationUniques(population=8).measure(records, records).interval
    assert interval.low == interval.high == 2 / 8


def test_a_flat_likelihood_says_nothing():
    """One class: no curvature by which the spread of class sizes could be known."""
    assert UniquesEstimate(share=0.2, error=np.inf).ends(50) == (0.0, 1.0)
    low, high = UniquesEstimate(share=0.0, error=0.0).ends(50)
    assert (low, high) == (0.0, 3 / 50)


def test_beyond_a_bound_no_further_model_is_fitted():
    """What a search for a recoding asks of each; here the first model exceeds the lower bound, and none the other."""
    counts = ClassCounts(sizes=np.repeat([1, 2, 3], [30, 10, 5]))
    model = PopulationUniques(population=200)
    early, late = (model.on_counts(counts, bound) for bound in (0.001, 0.999))
    assert early.details["models that could not be fitted"] == sorted(set(MODELS) - {"Poisson-gamma"})
    assert early.value > 0.001 and late.value == early.details["sample uniques"]
