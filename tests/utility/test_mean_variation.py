import numpy as np
import polars as pl
import pytest

import shoal


def test_by_hand():
    # One sample of everything. x = 0, 0, 3 and x' = 0, 0, 6: mean 1 and 2 (change 1), variance 3 and 12 (3), third
    # central moment 2 and 16 (7), fourth 6 and 96 (15). y = 1, 2, 3 stays: covariance 1.5 and 3 (change 1).
    before, after = np.array([[0.0, 1], [0, 2], [3, 3]]), np.array([[0.0, 1], [0, 2], [6, 3]])
    finding = shoal.MeanVariation(samples=1, share=1.0).measure(before, after)
    expected = {
        "mean of x0": 1,
        "variance of x0": 3,
        "third moment of x0": 7,
        "fourth moment of x0": 15,
        "covariance of x0 and x1": 1,
    }
    assert finding.details["mean over samples"] == pytest.approx(expected)
    assert finding.details["median over samples"] == pytest.approx(expected)
    assert finding.value == pytest.approx(3)
    assert finding.details["changed columns"] == ["x0"]


def test_same_samples_of_both_tables():
    # A factor changes every mean by the same share in any sample, if and only if the samples are the same.
    x = np.random.default_rng(1).lognormal(size=(200, 2))
    variation = shoal.MeanVariation().measure(x, x * 1.5).details["mean over samples"]
    assert variation["mean of x0"] == pytest.approx(0.5)
    assert variation["fourth moment of x1"] == pytest.approx(1.5**4 - 1)
    assert variation["covariance of x0 and x1"] == pytest.approx(1.25)


def test_nothing_changed():
    x = np.random.default_rng(2).normal(size=(100, 2))
    finding = shoal.MeanVariation().measure(x, x.copy())
    assert finding.value == 0
    assert finding.sentence == "No value was changed."


def test_a_statistic_that_is_zero_is_left_out():
    before = np.array([-1.0, 0, 1, -1, 0, 1])
    finding = shoal.MeanVariation(samples=3, share=1.0).measure(before, before + 1)
    assert "mean of x0" not in finding.details["mean over samples"]
    assert finding.details["mean over samples"]["variance of x0"] == 0


def test_what_cannot_be_computed():
    x = np.random.default_rng(3).normal(size=(10, 1))
    assert "holds fewer than two" in shoal.MeanVariation().measure(x, x).reason
    assert "so records cannot be compared one by one" in shoal.MeanVariation().measure(x, x[:5]).reason
    frame = pl.DataFrame({"a": ["u", "v"]})
    assert "no continuous" in shoal.MeanVariation().measure(frame, frame).reason


def test_same_seed_same_figure():
    x = np.random.default_rng(4).normal(size=(100, 2))
    y = x + np.random.default_rng(5).normal(size=(100, 2))
    one, two, other = (shoal.MeanVariation().measure(x, y, seed=seed).value for seed in (1, 1, 2))
    assert one == two != other
