import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.utility.sse import SSE
from utility.test_first_set import X


def test_sse_by_hand():
    # Mean 2, s = 1 (n - 1): standardised -1, 0, 1. Released 1, 1, 3: one error of 1. SST = 2, IL = 50.
    finding = SSE().measure([1.0, 2, 3], [1.0, 1, 3])
    assert finding.value == pytest.approx(50)
    assert finding.details["SSE"] == pytest.approx(1)
    assert finding.details["SST"] == pytest.approx(2)
    assert finding.details["normalised SSE"] == pytest.approx((1 / 2) ** 2 / 3)  # range 2, three records, one column
    assert SSE(figure="sse").measure([1.0, 2, 3], [1.0, 1, 3]).value == pytest.approx(1)
    assert SSE(figure="normalised").measure([1.0, 2, 3], [1.0, 1, 3]).value == pytest.approx(1 / 12)


def test_weights_of_columns_count_in_the_loss_and_not_in_the_normalised_error():
    roles = {"a": {"role": "quasi-identifier", "weight": 4.0}, "b": "quasi-identifier"}
    before = Microdata.of(pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 3]}), roles).records
    after = Microdata.of(pd.DataFrame({"a": [1.0, 1, 3], "b": [1.0, 2, 3]}), roles).records
    finding = SSE().measure(before, after)
    assert finding.details["SSE"] == pytest.approx(4)  # one error of 1 in a column that counts four times
    assert finding.details["normalised SSE"] == pytest.approx((1 / 2) ** 2 / 6)  # three records, two columns


def test_sse_of_the_mean_is_one_hundred_and_of_a_partition_its_own_loss():
    part = Partition(labels=np.arange(200) // 4)
    z = Records.from_array(X).matrix()
    grouped = part.means(X)[part.labels]
    assert SSE().measure(X, np.tile(X.mean(axis=0), (200, 1))).value == pytest.approx(100)
    assert SSE().measure(X, grouped).value == pytest.approx(part.information_loss(z))


def test_suppression_is_loss():
    original = Records.from_array(X)
    kept = original.take(np.arange(150))
    dropped = SSE(left_out="mean").measure(original, original.take(np.r_[0:10, 11:200]))
    assert dropped.value > 0
    assert dropped.details["share of records left out"] == pytest.approx(1 / 200)
    emptied = original.with_variables(original["x0"].with_values(np.full(200, np.nan)))
    assert SSE().measure(original, emptied).value == pytest.approx(100 / 3)
    assert SSE(left_out="mean").measure(original, original.take(np.arange(0))).value == pytest.approx(100)
    assert SSE().measure(original, original.take(np.arange(0))).value is None
    assert SSE().measure(original, kept).value is None  # rows 0..149 could be any 150 records
    assert "differ in length" in SSE().measure(original, kept).reason


def test_sse_of_categories():
    # Different categories are 1 apart: one of four changed. SST of half and half: 4 records at squared distance 1/4.
    roles = {"c": "quasi-identifier"}
    before = Microdata.of(pl.DataFrame({"c": ["a", "a", "b", "b"]}), roles).records
    after = Microdata.of(pl.DataFrame({"c": ["a", "b", "b", "b"]}), roles).records
    finding = SSE().measure(before, after)
    assert finding.details["SSE"] == pytest.approx(1)
    assert finding.value == pytest.approx(100 * 1 / (4 * 0.25))


def test_sampling_is_told_apart_from_distortion():
    records = Records.from_array(X)
    half = records.take(np.arange(1, len(X), 2))
    finding = SSE().measure(records, half)
    assert finding.value == 0
    assert finding.sentence.endswith("; 50 % of them were left out.")
    whole = SSE(left_out="mean").measure(records, half)
    assert whole.value == pytest.approx(50, abs=5)
    noisy = records.with_raw(records.names(), X + 0.3 * np.random.default_rng(1).normal(size=X.shape))
    every, some = SSE().measure(records, noisy), SSE().measure(records, noisy.take(np.arange(1, len(X), 2)))
    assert some.value == pytest.approx(every.value, rel=0.25)
