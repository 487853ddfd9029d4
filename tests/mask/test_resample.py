import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError


def resampled(x, seed=0, **parameters):
    records = Records.from_array(np.asarray(x, dtype=float))
    step = shoal.Resample(**parameters).apply(records, records.quasi_identifiers, np.random.default_rng(seed))
    return step.records.raw()


class Draws:
    """A generator that draws given places and breaks ties in the order of the rows."""

    def __init__(self, *places):
        self.places = list(places)

    def integers(self, n, size):
        return np.array(self.places.pop(0))

    def permutation(self, n):
        return np.arange(n)


def test_by_hand():
    # Two samples of (30, 10, 20): 10, 10, 30 and 20, 20, 30 when sorted, with the means 15, 15, 30 by rank. The lowest
    # value, 10, gets 15, the middle one 15 and the highest 30.
    records = Records.from_array(np.array([30.0, 10, 20]))
    step = shoal.Resample(samples=2).apply(records, ["x0"], Draws([1, 0, 1], [2, 2, 0]))
    assert step.records["x0"].values.tolist() == [30, 15, 15]
    assert step.averaged == ("x0",)


@given(values=st.lists(st.integers(-9, 9), min_size=1, max_size=30), samples=st.integers(1, 4), seed=st.integers(0, 99))
def test_same_as_sorting_each_sample(values, samples, seed):
    x = np.array(values, dtype=float)
    new = resampled(x, seed, samples=samples)[:, 0]
    rng = np.random.default_rng(seed)
    drawn = [sorted(x[i] for i in rng.integers(len(x), size=len(x))) for _ in range(samples)]
    means = [sum(sample[rank] / samples for sample in drawn) for rank in range(len(x))]
    assert sorted(new) == pytest.approx(means)
    assert all(new[i] <= new[j] + 1e-12 for i in range(len(x)) for j in range(len(x)) if x[i] < x[j])
    assert x.min() - 1e-12 <= new.min() and new.max() <= x.max() + 1e-12


def test_more_samples_come_nearer_to_what_ranks_expect(rng):
    x = np.sort(rng.normal(size=200))
    far = [np.abs(resampled(x, seed, samples=t)[:, 0] - x).mean() for seed, t in ((1, 1), (1, 10), (1, 200))]
    assert far == sorted(far, reverse=True)


def test_strata_missing_cells_constants(rng):
    frame = pd.DataFrame({"x": np.r_[np.zeros(50), rng.uniform(10, 20, 50)], "s": np.repeat(["a", "b"], 50)})
    frame.loc[::7, "x"] = np.nan
    roles = {"x": {"role": "confidential", "missing": "keep"}, "s": "stratum"}
    records = shoal.Microdata.of(frame, roles).records
    new = shoal.Resample(samples=2).apply(records, ["x"], rng).records["x"].values
    assert (np.isnan(new) == frame["x"].isna()).all()
    assert np.nanmax(new[:50]) == 0  # one value for all stays that value
    assert np.nanmin(new[50:]) >= 10


def test_bad_input_refused():
    with pytest.raises(ParameterError, match="resample: samples must be greater than or equal to 1; got 0"):
        shoal.Resample(samples=0)
    records = shoal.Microdata.of(pd.DataFrame({"c": ["a", "b"]}), {"c": "quasi-identifier"}).records
    with pytest.raises(DataError, match="Column 'c' is nominal; resample needs columns that are continuous"):
        shoal.Resample().apply(records, ["c"], np.random.default_rng(0))
