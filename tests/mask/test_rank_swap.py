import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import shoal
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import InputError

values = st.lists(st.integers(-50, 50), min_size=20, max_size=120)


def rng(seed=0):
    return np.random.default_rng(seed)


@given(values=values, p=st.sampled_from([0.05, 0.1, 0.5, 1.0]), seed=st.integers(0, 99))
def test_window_kept_and_marginals_identical(values, p, seed):
    x = np.array(values, dtype=float)
    new = (
        shoal.RankSwap(p=p).apply(data := Records.from_array(x), data.quasi_identifiers, rng(seed)).records["x0"].values
    )
    assert np.array_equal(np.sort(new), np.sort(x))
    ordered = np.sort(x)
    low, high = np.searchsorted(ordered, new, "left"), np.searchsorted(ordered, new, "right") - 1
    own_low, own_high = np.searchsorted(ordered, x, "left"), np.searchsorted(ordered, x, "right") - 1
    gap = np.maximum(0, np.maximum(low - own_high, own_low - high))  # least difference of ranks that ties allow
    assert (gap <= p * len(x)).all()


def test_by_hand_two_values_change_places():
    x = np.array([10.0, 20.0])
    assert shoal.RankSwap(p=0.5).apply(data := Records.from_array(x), data.quasi_identifiers, rng()).records[
        "x0"
    ].values.tolist() == [20.0, 10.0]


def test_swaps_stay_inside_strata_and_missing_cells_stay_put():
    n = 200
    x = rng(1).normal(size=n)
    x[::7] = np.nan
    stratum = np.repeat([0, 1], n // 2).astype(np.int32)
    records = Records.of(
        [
            Variable(name="x", role="confidential", level="continuous", values=x),
            Variable(name="s", role="stratum", level="nominal", values=stratum, categories=("a", "b")),
        ]
    )
    new = shoal.RankSwap(p=0.2).apply(records, ["x"], rng()).records["x"].values
    assert np.array_equal(np.isnan(new), np.isnan(x))
    for s in (0, 1):
        assert np.array_equal(np.sort(new[stratum == s]), np.sort(x[stratum == s]), equal_nan=True)
    assert (new != x)[~np.isnan(x)].mean() > 0.9


def test_a_larger_window_disturbs_more():
    x = np.sort(rng(2).normal(size=2000))

    def moved(p):
        return np.abs(
            shoal.RankSwap(p=p).apply(data := Records.from_array(x), data.quasi_identifiers, rng()).records["x0"].values
            - x
        ).mean()

    assert moved(0.01) < moved(0.1) < moved(1.0)


def test_bad_input_refused():
    with pytest.raises(InputError, match="p must be less than or equal to 1"):
        shoal.RankSwap(p=5)
    with pytest.raises(InputError, match="p times the number of values must be at least 1; column 'x0' has 10 values"):
        shoal.RankSwap(p=0.05).apply(data := Records.from_array(np.arange(10.0)), data.quasi_identifiers, rng())
    records = shoal.Microdata.of(pd.DataFrame({"c": ["a", "b"]}), {"c": "quasi-identifier"}).records
    with pytest.raises(InputError, match="Column 'c' is nominal"):
        shoal.RankSwap(p=0.5).apply(records, records.quasi_identifiers, rng())


@pytest.mark.parametrize("kept", [0.98, 0.9, 0.7])
def test_a_share_of_correlations_is_kept(kept):
    """R0 of Moore (1996): at least this share of the rank correlation of two swapped columns, and not much more."""
    first = rng(1).normal(size=20_000)
    x = np.column_stack([first, 0.8 * first + 0.6 * rng(2).normal(size=20_000)])
    data, method = Records.from_array(x), shoal.RankSwap(correlation=kept)
    new = method.apply(data, data.quasi_identifiers, rng(3)).records.raw()
    assert kept - 0.005 < spearmanr(new).statistic / spearmanr(x).statistic < kept + 0.06
    assert method.reach == pytest.approx(((1 - kept**0.5) / 2.4) ** 0.5)


def test_p_or_a_correlation():
    assert shoal.RankSwap().reach == 0.1
    with pytest.raises(InputError, match="rank-swap takes only one of the parameters 'p' and 'correlation'"):
        shoal.RankSwap(p=0.1, correlation=0.9)
    data = Records.from_array(np.arange(10.0))
    with pytest.raises(InputError, match=r"p is 0\.0457\. Lower correlation"):
        shoal.RankSwap(correlation=0.99).apply(data, data.quasi_identifiers, rng())
