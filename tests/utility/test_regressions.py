import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.partition import Partition
from shoal.utility.regressions import Fits, all_regressions, interval_overlap


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_equals_one_least_squares_after_the_other(seed, d):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(30, d))
    ours = all_regressions(x)
    slopes, errors = [], []
    for j in range(d):
        design = np.column_stack([np.ones(30), np.delete(x, j, axis=1)])
        coefficients, rss, *_ = np.linalg.lstsq(design, x[:, j])
        slopes.append(coefficients[1:])
        errors.append(np.sqrt(np.diag(np.linalg.inv(design.T @ design))[1:] * rss / (30 - d)))
    np.testing.assert_allclose(ours.slopes, np.concatenate(slopes), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.errors, np.concatenate(errors), rtol=1e-6)


def test_overlap_by_hand():
    # 95 % intervals -1.96..1.96 and 0..1.96 * 2 (error half): they share 0..1.96, which is half of each one's length
    # 3.92. Intervals that do not meet share nothing, equal ones all.
    def fits(slope, error):
        return Fits(slopes=np.array([slope]), errors=np.array([error]))

    assert interval_overlap(fits(0.0, 1.0), fits(1.96, 1.0))[0] == pytest.approx(0.5)
    assert interval_overlap(fits(0.0, 1.0), fits(9.0, 1.0))[0] == 0
    assert interval_overlap(fits(0.0, 1.0), fits(0.0, 1.0))[0] == 1
    assert interval_overlap(fits(0.0, 1.0), fits(0.0, 0.5))[0] == pytest.approx(0.75)


def test_exact_moments_leave_regressions_as_they_are():
    x = np.random.default_rng(1).lognormal(size=(300, 4)) * [1, 1e6, 1e-3, 1] + 1e4
    records = shoal.Records.from_array(x)
    new = (
        shoal.Normal()
        .apply(records, records.quasi_identifiers, Partition.of(np.arange(300) % 7), np.random.default_rng(2))
        .records
    )
    for figure in ("coefficients", "standard errors"):
        assert shoal.Regressions(figure=figure).measure(records, new).value < 1e-8
    finding = shoal.Regressions(figure="interval overlap").measure(records, new)
    assert finding.value == pytest.approx(1)
    assert finding.better == "higher"


def test_doubling_one_column_changes_its_slopes_by_the_factor():
    # Column 0 times 2: slopes of 0 on 1 and of 1 on 0 change by 1 and by 1/2: a mean (and median) of 3/4.
    x = np.random.default_rng(3).normal(size=(50, 2))
    x[:, 1] += x[:, 0]
    assert shoal.Regressions().measure(x, x * [2, 1]).value == pytest.approx(0.75)


def test_collinear_columns():
    x = np.random.default_rng(4).normal(size=(60, 3)) + 1e6
    wide = np.column_stack([x, x[:, 0] + x[:, 1], np.full(60, 5.0)])
    finding = shoal.Regressions().measure(wide, wide.copy())
    assert finding.value == 0
    assert finding.details["columns left out"] == ["x3", "x4"]
    flat = wide.copy()
    flat[:, 2] = 1.0
    assert "'x2' became constant or a combination" in shoal.Regressions().measure(wide, flat).reason


def test_too_little_data():
    assert "Fewer than two continuous columns" in shoal.Regressions().measure(np.arange(5.0), np.arange(5.0)).reason
    x = np.random.default_rng(5).normal(size=(3, 3))
    assert "need more than 3 complete records" in shoal.Regressions().measure(x, x).reason


def test_a_slope_near_zero_does_not_rule_the_figure():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(4000, 4))
    x[:, 1:3] += x[:, :2]
    y = x + 0.05 * rng.normal(size=x.shape)
    assert shoal.Regressions().measure(x, y).value < shoal.Regressions(average="mean").measure(x, y).value
