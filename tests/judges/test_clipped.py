import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.judges.clipped import clipped_change, clipped_mean_change
from shoal.judges.table_pair import TablePair


def pair(x, y):
    return TablePair.of(shoal.Records.from_array(np.array(x, float)), shoal.Records.from_array(np.array(y, float)))


def test_by_hand():
    # released range 10; 25 is clipped to 10, so the changes are 0, 0.5 and 0
    two = pair([0, 0, 25], [0, 5, 10])
    assert clipped_change(two, ("x0",)).value == pytest.approx(0.5 / 3)
    assert clipped_change(two, ("x0",), power=2).value == pytest.approx(0.25 / 3)
    # clipped means: 10/3 and 5 of a range of 10
    assert clipped_mean_change(two, ("x0",)).value == pytest.approx((5 - 10 / 3) / 10)


def test_what_lies_beyond_the_release_tells_nothing():
    near, far = pair([0, 0, 11], [0, 5, 10]), pair([0, 0, 1e9], [0, 5, 10])
    assert clipped_change(near, ("x0",)) == clipped_change(far, ("x0",))
    assert clipped_mean_change(near, ("x0",)) == clipped_mean_change(far, ("x0",))


@given(st.integers(0, 1000), st.floats(-1e6, 1e6))
def test_no_record_moves_it_by_more_than_its_influence(seed, value):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=12), rng.normal(size=12)
    other = x.copy()
    other[3] = value
    for measure in (clipped_change, clipped_mean_change):
        one, two = measure(pair(x, y), ("x0",)), measure(pair(other, y), ("x0",))
        assert abs(one.value - two.value) <= one.influence


def test_categories_and_missing_cells():
    columns = {"c": "quasi-identifier", "x": {"role": "quasi-identifier", "missing": "keep"}}
    before = shoal.Microdata.of(pd.DataFrame({"c": ["a", "b", "a"], "x": [0.0, np.nan, 1.0]}), columns).records
    after = shoal.Microdata.of(pd.DataFrame({"c": ["a", "a", "a"], "x": [0.0, np.nan, np.nan]}), columns).records
    assert clipped_change(TablePair.of(before, after), ("c",)).value == pytest.approx(1 / 3)
    assert clipped_change(TablePair.of(before, after), ("x",)).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("measure", [shoal.SSE(), shoal.IL1s(), shoal.UnivariateChange()])
def test_losses_are_told_in_bands_that_a_top_coded_value_does_not_move(measure):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = x + rng.normal(size=2000) / 10
    one, other = x.copy(), x.copy()
    one[0], other[0] = y.max() + 5, y.max() + 500
    shown = [measure.measure(z, y).public_form() for z in (one, other)]
    assert shown[0] == shown[1]
    assert shown[0]["value"] is not None


def test_shares_of_records_have_a_bounded_influence():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    finding = shoal.IntervalDisclosure().measure(x, x + rng.normal(size=500))
    assert finding.influence == pytest.approx(1 / 499)
    labels = pd.DataFrame({"c": rng.choice(list("ab"), 500)})
    assert shoal.Contingency().measure(labels, labels).influence == pytest.approx(1 / 500)
    assert shoal.Contingency().measure(x, x).influence is None  # bins are cut at quantiles of the original
