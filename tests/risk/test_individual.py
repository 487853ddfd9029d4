import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import nbinom

import shoal
from shoal.risk.individual import IndividualRisk, individual_risk
from shoal.table.microdata import Microdata

ROLES = {"age": "quasi-identifier", "w": "weight", "home": "household"}
FRAME = pd.DataFrame({"age": [30, 30, 40, 50], "w": [10.0, 30, 5, 0.5], "home": ["a", "a", "b", "a"]})


def test_by_hand():
    # f = 1, F = 5: p = .2, r = -p ln p / (1 - p). f = 2, F = 40: p = .05, r = p/q - (p/q)^2 ln(1/p).
    # A weight under 1 does not make a class smaller than it is: f = F = 1, r = 1.
    table = Microdata.of(FRAME, ROLES).records
    risk = IndividualRisk().measure(table, table).record_risk
    two = 0.05 / 0.95 - (0.05 / 0.95) ** 2 * np.log(20)
    np.testing.assert_allclose(risk, [two, two, 0.2 * np.log(5) / 0.8, 1.0])


@pytest.mark.parametrize("f", [1, 2, 3, 7, 29, 30, 31, 176])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.499999, 0.5, 0.7, 0.999999])
def test_equals_the_mean_of_one_over_a_negative_binomial(f, p):
    beyond = np.arange(nbinom.ppf(1 - 1e-15, f, p) * 2 + 100)
    assert individual_risk([f], [p])[0] == pytest.approx((nbinom.pmf(beyond, f, p) / (f + beyond)).sum(), rel=1e-11)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 29, 30, 31, 176, 1000, 10**6])
@pytest.mark.parametrize("p", [1e-12, 1e-6, 0.3, 0.499999, 0.5, 0.999999])
def test_equals_the_integral(f, p):
    # With 1 - t = exp(-s / f): r = p / f times the integral over s > 0 of exp(-s) / (p + q exp(-s / f)).
    ends = [0, *sorted({1.0, 10.0, min(60.0, f * np.log(1 / p))}), 745.0]
    parts = [
        quad(lambda s: np.exp(-s) / (p + (1 - p) * np.exp(-s / f)), a, b, epsabs=0, epsrel=1e-13, limit=200)[0]
        for a, b in zip(ends, ends[1:])
    ]
    assert individual_risk([f], [p])[0] == pytest.approx(p / f * sum(parts), rel=1e-11)


@given(st.lists(st.tuples(st.integers(1, 10**7), st.floats(1e-300, 1, exclude_min=True)), min_size=1, max_size=20))
def test_never_above_one_over_f_and_never_not_a_number(cases):
    f, p = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    risk = individual_risk(f, p)
    assert (risk > 0).all()
    assert (risk <= 1 / f).all()
    assert (risk >= p / f * (1 - 1e-12)).all()  # E(1/F) is at least 1/E(F), and E(F) is f/p


def test_risk_falls_with_the_weight():
    p = np.geomspace(1e-9, 1, 200)
    for f in (1, 2, 5, 29, 30, 400):
        assert (np.diff(individual_risk(np.full(200, f), p)) > 0).all()


def test_cells_are_blanked_above_a_threshold_of_individual_risk():
    """sdcApp's suppression above a threshold: records at or below it keep every cell, and none is left above it."""
    frame = shoal.example("hospital", n=400, seed=1).select("age", "sex", "area").with_columns(w=pl.lit(20.0))
    bound = {"risk": "individual-risk", "figure": "highest", "at most": 0.1}
    plan = {
        "columns": {**dict.fromkeys(("age", "sex", "area"), "quasi-identifier"), "w": "weight"},
        "steps": [{"mask": "recode", "columns": ["age"], "width": 20}],
        "requirements": [{**bound, "missing": "wildcard"}],
        "output": {"shuffle": False},
    }
    recoded = shoal.protect(frame, {**plan, "requirements": []}, seed=1).data
    plan["steps"] += [{"mask": "suppress", "requirements": [{**bound, "missing": "wildcard"}]}]
    release = shoal.protect(frame, plan, seed=1)
    assert release.evidence.verdicts[0].achieved <= 0.1
    keys = ["age", "sex", "area"]
    sizes = recoded.select(pl.len().over(keys)).to_series().to_numpy()
    safe = individual_risk(sizes, np.full(len(sizes), 1 / 20)) <= 0.1
    blanked = release.data.select(pl.any_horizontal(pl.col(keys).is_null())).to_series().to_numpy()
    assert blanked.sum() > 0
    assert not (blanked & safe).any()


def test_the_highest_risk_is_the_figure_if_it_is_asked_for():
    frame = pl.DataFrame({"a": [1, 1, 1, 2]})
    highest = IndividualRisk(figure="highest").measure(frame, frame)
    assert (highest.value, IndividualRisk().measure(frame, frame).value) == (1.0, pytest.approx(2 / 4))
    assert highest.title != IndividualRisk().measure(frame, frame).title
