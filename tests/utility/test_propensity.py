import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.microdata import Microdata
from shoal.utility import propensity


def pair(seed, n=400, d=2, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)) + shift


def test_the_same_table_cannot_be_told_apart():
    x, _ = pair(0)
    finding = shoal.Propensity().measure(x, x.copy())
    assert finding.value == pytest.approx(0, abs=1e-12)


def test_by_hand():
    # One binary column, 8 of 10 ones in the original and 2 of 10 in the release: the model with an indicator is
    # saturated, p = 2/10 for a one and 8/10 for a zero, so U_p = (0.3)^2 = 0.09 and 2N U_p = 2 * 10 * 0.09 = 1.8.
    frames = [pl.DataFrame({"a": ["u"] * m + ["v"] * (10 - m)}) for m in (8, 2)]
    finding = shoal.Propensity().measure(*frames)
    assert finding.value == pytest.approx(0.09, rel=1e-4)
    assert finding.details["2N U_p"] == pytest.approx(1.8, rel=1e-4)
    assert finding.details["coefficients"] == 2


def test_equals_unpenalised_logistic_regression():
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, y = pair(1, shift=0.3)
    stacked = np.vstack([x, y])
    features = np.column_stack([stacked, stacked**2, stacked[:, :1] * stacked[:, 1:]])
    group = np.repeat([0, 1], 400)
    theirs = linear_model.LogisticRegression(C=1e12, tol=1e-10, max_iter=10_000).fit(features, group)
    expected = ((theirs.predict_proba(features)[:, 1] - 0.5) ** 2).mean()
    for scale in ("raw", "standardised"):
        finding = shoal.Propensity(order=2, scale=scale).measure(x, y)
        assert finding.value == pytest.approx(expected, rel=1e-4)
        assert finding.details["coefficients"] == 6


def test_independent_samples_lie_about_their_expectation():
    # The ratio's mean over 60 pairs is 1 with standard deviation sqrt(2 / 9) / sqrt(60) for q = 10.
    findings = [shoal.Propensity(order=3, scale="standardised").measure(*pair(seed)) for seed in range(60)]
    nulls = [f.details["an independent sample"] for f in findings]
    assert findings[0].details["coefficients"] == 10
    assert abs(np.mean([null["ratio"] for null in nulls]) - 1) < 2 * np.sqrt(2 / 9 / 60)
    assert abs(np.mean([null["z"] for null in nulls])) < 2 / np.sqrt(60)
    assert 0.7 < np.std([null["z"] for null in nulls]) < 1.4


def test_synthesis_from_the_fitted_model_lies_about_half_of_it():
    # Normal data, synthesised from their own mean and covariance (Snoke et al. 2018, no draw of the parameters).
    whole, ratios = shoal.Whole(), []
    for seed in range(60):
        x, _ = pair(seed)
        records = shoal.Records.from_array(x)
        change = shoal.Normal(exact=False).apply(
            records, records.quasi_identifiers, whole.partition(records), np.random.default_rng(seed)
        )
        finding = shoal.Propensity(order=2).measure(records, change.records)
        ratios.append(finding.details["synthesis from the true model"]["ratio"])
    assert abs(np.mean(ratios) - 1) < 2 * np.sqrt(2 / 5 / 60)


@pytest.mark.parametrize("model", ["logistic", "cart"])
def test_a_shift_is_found(model):
    finding = shoal.Propensity(model=model).measure(*pair(2, shift=1.0))
    assert finding.details["an independent sample"]["z"] > 5
    expected = finding.details["an independent sample"]["expected U_p"]
    assert f"would reach {expected:.3g}, so this is" in finding.sentence
    assert finding.value == pytest.approx(expected * finding.details["an independent sample"]["ratio"])
    same = shoal.Propensity(model=model).measure(*pair(3))
    assert abs(same.details["an independent sample"]["z"]) < 4


def test_perfect_separation_reaches_a_quarter():
    x, _ = pair(4)
    assert shoal.Propensity(scale="raw").measure(x, x + 100).value == pytest.approx(0.25, abs=1e-3)


def test_interactions_need_their_order():
    # Both columns have the same distributions in the two tables; only their product tells them apart.
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 2))
    y = np.column_stack([x[:, 0], -x[:, 1]])
    x[:, 1] += x[:, 0]
    y[:, 1] -= x[:, 0]
    first = shoal.Propensity(order=1).measure(x, y)
    second = shoal.Propensity(order=2, powers=False).measure(x, y)
    assert second.details["coefficients"] == 4
    assert second.value > 10 * first.value


def test_mixed_columns_missing_values_and_labels_that_the_release_changed():
    frame = pl.DataFrame({"age": [20.0, 30, 40, 50] * 30, "town": ["a", "b", "c", "a"] * 30})
    roles = {"age": "quasi-identifier", "town": "quasi-identifier"}
    other = frame.with_columns(town=pl.Series(["a", "b", "*", "a"] * 30))
    finding = shoal.Propensity().measure(Microdata.of(frame, roles), Microdata.of(other, roles))
    assert finding.value == pytest.approx(1 / 16, rel=1e-4)  # a quarter of the records is told with certainty
    kept = {**roles, "age": {"role": "quasi-identifier", "missing": "keep"}}
    holes = frame.with_columns(age=pl.Series([None, 30.0, 40, 50] * 30))
    finding = shoal.Propensity(order=1).measure(Microdata.of(frame, roles), Microdata.of(holes, kept))
    assert finding.value > 0.01


def test_what_cannot_be_compared_is_not_a_zero():
    x, y = pair(6, n=20, d=8)
    finding = shoal.Propensity(order=3).measure(x, y)
    assert finding.value is None
    assert "too many coefficients for 40 records" in finding.reason
    assert shoal.Propensity().measure(x[:1], y).value is None


def test_large_tables_are_sampled():
    x, y = pair(7, n=3000)
    finding = shoal.Propensity(sample=500).measure(x, y)
    assert finding.details["records compared"] == 1000


def test_tables_of_different_length():
    x, y = pair(8)
    finding = shoal.Propensity(order=1).measure(x, y[:100])
    assert abs(finding.details["an independent sample"]["z"]) < 4


def test_wide_products_of_categories_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three columns of 2, 3 and 4 categories: with room for 10 features the 2 products of the first two alone fit."""
    rng = np.random.default_rng(8)
    frames = [pl.DataFrame({f"c{m}": rng.integers(0, m, 300).astype(str) for m in (2, 3, 4)}) for _ in range(2)]
    whole = shoal.Propensity().measure(*frames)
    assert "pairs of columns left out" not in whole.details
    assert whole.details["coefficients"] == 1 + 1 + 2 + 3 + 2 + 3 + 6
    monkeypatch.setattr(propensity, "MOST_CELLS", 600 * 10)
    part = shoal.Propensity().measure(*frames)
    assert part.details["pairs of columns left out"] == 2
    assert part.sentence.endswith("The model leaves out the products of 2 pairs of columns.")
    assert "leaves out" not in whole.sentence
    assert part.details["coefficients"] == 1 + 1 + 2 + 3 + 2
    monkeypatch.setattr(propensity, "MOST_CELLS", 600)
    main = shoal.Propensity().measure(*frames)
    assert main.details["pairs of columns left out"] == 3
    assert main.value == pytest.approx(shoal.Propensity(order=1).measure(*frames).value)
    assert main.value < part.value < whole.value
