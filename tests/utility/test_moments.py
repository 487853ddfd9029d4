from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive.moments import all_central_moments, normal_moment
from shoal.table.partition import Partition
from shoal.utility.moments import normal_mixture_moments, product_moments


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 30))
def test_equals_the_definition(seed, d, n):
    x = np.random.default_rng(seed).lognormal(size=(n, d))
    ours = product_moments(x - x.mean(axis=0))
    for order in (2, 3, 4):
        np.testing.assert_allclose(ours[order], all_central_moments(x, order), rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 4))
def test_mixtures_of_normals_equal_isserlis_theorem(seed, d, groups):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(groups))
    means = rng.normal(size=(groups, d))
    roots = rng.normal(size=(groups, d, d))
    covariances = roots @ roots.swapaxes(1, 2)
    ours = normal_mixture_moments(weights, means, covariances)
    for order in (2, 3, 4):
        expected = [
            sum(w * normal_moment(m, s, indices) for w, m, s in zip(weights, means, covariances))
            for indices in combinations_with_replacement(range(d), order)
        ]
        np.testing.assert_allclose(ours[order], expected, atol=1e-9)


def test_by_hand():
    # 0, 0, 3 has mean 1 and third central moment (-1 - 1 + 8) / 3 = 2; 0, 0, 6 has mean 2 and 16: a change of 7.
    finding = shoal.Moments(order=3).measure(np.array([0.0, 0, 3]), np.array([0.0, 0, 6]))
    assert finding.value == pytest.approx(7)
    changes = finding.details["mean relative change"]
    assert changes == {
        "order 1": pytest.approx(1),
        "order 2": pytest.approx(3),
        "order 3": pytest.approx(7),
        "order 4": pytest.approx(15),
    }


def test_moments_about_zero_by_hand():
    # The mean of 1, 1, 4 cubed is 66 / 3 = 22; of 2, 2, 8 it is 8 times as much: a change of 7.
    assert shoal.Moments(order=3, about="zero").measure(np.array([1.0, 1, 4]), np.array([2.0, 2, 8])).value == 7
    x = np.random.default_rng(5).lognormal(size=(100, 2))
    details = shoal.Moments(about="zero").measure(x, x, partition=Partition.of(np.zeros(100))).details
    assert details["predicted by normal groups"]["order 2"] < 1e-12


def test_normal_synthesis_changes_moments_by_what_is_predicted():
    """From draw to draw the changes vary by 6 % and 12 %; their average over twelve comes near."""
    ratios = {"order 3": [], "order 4": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = np.vstack([rng.exponential(size=(600, 2)), rng.normal(size=(400, 2)) + 4])
        part = Partition.of(np.repeat([0, 1], [600, 400]))
        records = shoal.Records.from_array(x)
        new = shoal.Normal().apply(records, records.quasi_identifiers, part, rng).records
        details = shoal.Moments().measure(records, new, partition=part, seed=rng).details
        changes, predicted = details["mean relative change"], details["predicted by normal groups"]
        assert max(changes["order 2"], predicted["order 2"]) < 1e-9
        for order, ratio in ratios.items():
            assert predicted[order] > 0.01
            ratio.append(changes[order] / predicted[order])
    assert np.mean(ratios["order 3"]) == pytest.approx(1, abs=0.06)
    assert np.mean(ratios["order 4"]) == pytest.approx(1, abs=0.11)


def test_the_same_table_and_an_offset():
    x = np.random.default_rng(2).lognormal(size=(200, 3)) + 1e8
    assert shoal.Moments().measure(x, x.copy()).value == 0
    assert shoal.Moments(order=2).measure(x, x * 2).value == pytest.approx(3)


def test_what_cannot_be_computed():
    x = np.random.default_rng(3).normal(size=(50, 2))
    assert "constant" in shoal.Moments().measure(np.ones((5, 1)), np.ones((5, 1))).reason
    assert "More than 1 continuous columns" in shoal.Moments(most=1).measure(x, x).reason
    symmetric = np.array([-1.0, 0, 1])
    finding = shoal.Moments(order=3).measure(symmetric, symmetric + 1)
    assert finding.value is None
    assert "Every moment of order 3 is 0" in finding.reason


def test_a_column_of_one_number_has_no_moments_but_those_of_rounding():
    """The mean of twelve times 0.3 is not 0.3 to the last bit: about it, moments changed by 1e66 percent."""
    rng = np.random.default_rng(5)
    x = np.column_stack([np.full(12, 0.3), rng.lognormal(size=12)])
    y = np.column_stack([rng.normal(size=12), x[:, 1] * 1.1])
    assert np.full(12, 0.3).std() > 0
    finding = shoal.Moments().measure(x, y)
    assert finding.value == pytest.approx(1.1**4 - 1)
    assert finding.details["constant columns"] == ["x0"]
    assert "constant" in shoal.Moments().measure(x[:, :1], y[:, :1]).reason
    varied = shoal.MeanVariation(share=1.0, samples=2).measure(x, y).details["mean over samples"]
    assert max(varied.values()) < 1e3
    assert "variance of x0" not in varied
    assert "no scale" in shoal.LowerBound(k=3).measure(x[:, :1], x[:, :1]).reason
    for value in (0.1, 0.3, 7.7):  # the sums of a table without inequality round to either side of 0
        equal = np.full((12, 1), value)
        assert 0 <= shoal.Gini().measure(equal, equal).details["original and released"]["x0"][0] < 1e-15
