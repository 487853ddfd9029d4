"""SSE, IL1s, changes of means, variances and correlations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import DataError
from shoal.utility.correlation_change import CorrelationChange
from shoal.utility.eigenvalues import Eigenvalues
from shoal.utility.il1s import IL1s
from shoal.utility.sse import SSE
from shoal.utility.univariate_change import UnivariateChange

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 2]]) + 5
ALL = [SSE(), IL1s(), UnivariateChange(), CorrelationChange()]


@pytest.mark.parametrize("measure", ALL)
def test_an_unchanged_table_loses_nothing(measure):
    assert measure.measure(X, X).value == 0


@pytest.mark.parametrize("measure", ALL)
def test_an_offset_of_1e8_changes_nothing_but_rounding(measure):
    y = X + RNG.normal(size=X.shape)
    assert measure.measure(X + 1e8, y + 1e8).value == pytest.approx(measure.measure(X, y).value, rel=1e-6)


@pytest.mark.parametrize("measure", ALL)
def test_tiny_and_huge_units_change_nothing(measure):
    y = X + RNG.normal(size=X.shape)
    for unit in (2.0**-500, 2.0**500):
        assert measure.measure(X * unit, y * unit).value == pytest.approx(measure.measure(X, y).value, rel=1e-9)


def test_sse_by_hand():
    # Mean 2, s = 1 (n - 1): standardised -1, 0, 1. Released 1, 1, 3: one error of 1. SST = 2, IL = 50.
    found = SSE().measure([1.0, 2, 3], [1.0, 1, 3])
    assert found.value == pytest.approx(50)
    assert found.details["SSE"] == pytest.approx(1)
    assert found.details["SST"] == pytest.approx(2)
    assert found.details["normalised SSE"] == pytest.approx((1 / 2) ** 2 / 3)  # range 2, three records, one column
    assert SSE(figure="sse").measure([1.0, 2, 3], [1.0, 1, 3]).value == pytest.approx(1)
    assert SSE(figure="normalised").measure([1.0, 2, 3], [1.0, 1, 3]).value == pytest.approx(1 / 12)


def test_weights_of_columns_count_in_the_loss_and_not_in_the_normalised_error():
    roles = {"a": {"role": "quasi-identifier", "weight": 4.0}, "b": "quasi-identifier"}
    before = Microdata.of(pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 3]}), roles).records
    after = Microdata.of(pd.DataFrame({"a": [1.0, 1, 3], "b": [1.0, 2, 3]}), roles).records
    found = SSE().measure(before, after)
    assert found.details["SSE"] == pytest.approx(4)  # one error of 1 in a column that counts four times
    assert found.details["normalised SSE"] == pytest.approx((1 / 2) ** 2 / 6)  # three records, two columns


def test_sse_of_the_mean_is_one_hundred_and_of_a_partition_its_own_loss():
    part = Partition(labels=np.arange(200) // 4)
    z = Records.from_array(X).matrix()
    grouped = part.means(X)[part.labels]
    assert SSE().measure(X, np.tile(X.mean(axis=0), (200, 1))).value == pytest.approx(100)
    assert SSE().measure(X, grouped).value == pytest.approx(part.information_loss(z))


def test_suppression_is_loss():
    original = Records.from_array(X)
    kept = original.take(np.arange(150))
    dropped = SSE().measure(original, original.take(np.r_[0:10, 11:200]))
    assert dropped.value > 0
    assert dropped.details["share of records left out"] == pytest.approx(1 / 200)
    emptied = original.with_variables(original["x0"].with_values(np.full(200, np.nan)))
    assert SSE().measure(original, emptied).value == pytest.approx(100 / 3)
    assert SSE().measure(original, original.take(np.arange(0))).value == pytest.approx(100)
    assert SSE().measure(original, kept).value is None  # rows 0..149 could be any 150 records
    assert "differ in length" in SSE().measure(original, kept).reason


def test_sse_of_categories():
    # Different categories are 1 apart: one of four changed. SST of half and half: 4 records at squared distance 1/4.
    roles = {"c": "quasi-identifier"}
    before = Microdata.of(pl.DataFrame({"c": ["a", "a", "b", "b"]}), roles).records
    after = Microdata.of(pl.DataFrame({"c": ["a", "b", "b", "b"]}), roles).records
    found = SSE().measure(before, after)
    assert found.details["SSE"] == pytest.approx(1)
    assert found.value == pytest.approx(100 * 1 / (4 * 0.25))


def test_il1s_by_hand():
    # |changes| 1 and 2 in a column with s = sqrt(2): (1 + 2) / (sqrt(2) sqrt(2)).
    found = IL1s().measure([0.0, 2.0], [1.0, 0.0])
    assert found.value == pytest.approx(1.5)
    assert found.details["mean per cell"] == pytest.approx(0.75)


def test_il1s_says_what_it_could_not_compare():
    original = Records.from_array(X)
    holes = X.copy()
    holes[:20, 0] = np.nan
    released = original.with_variables(original["x0"].with_values(holes[:, 0]))
    assert IL1s().measure(original, released).details["cells not compared"] == 20
    gone = original.with_variables(*(original[n].with_values(np.full(200, np.nan)) for n in ("x0", "x1", "x2")))
    assert IL1s().measure(original, gone).value is None


def test_univariate_change_by_hand():
    # 0, 2, 4 has mean 2, variance 4; 2, 4, 6 the same variance; 0, 1, 2 a quarter of it and a mean 1/2 s lower.
    moved = UnivariateChange().measure([0.0, 2, 4], [2.0, 4, 6])
    assert moved.by_column.columns["x0"] == pytest.approx({"mean": 1.0, "variance": 0.0})
    narrowed = UnivariateChange().measure([0.0, 2, 4], [0.0, 1, 2])
    assert narrowed.value == pytest.approx(0.75)
    assert narrowed.by_column.columns["x0"] == pytest.approx({"mean": -0.5, "variance": -0.75})


def test_univariate_change_of_tables_of_other_length():
    assert UnivariateChange().measure([0.0, 2, 4], [0.0, 0, 2, 2, 4, 4]).by_column.columns["x0"]["mean"] == 0


def test_correlation_change_by_hand():
    # Correlation 1 becomes -1.
    assert CorrelationChange().measure([[0.0, 0], [1, 1], [2, 2]], [[0.0, 2], [1, 1], [2, 0]]).value == pytest.approx(2)
    # The release made a column constant: its correlation of 1 is lost.
    assert CorrelationChange().measure([[0.0, 0], [1, 1], [2, 2]], [[0.0, 1], [1, 1], [2, 1]]).value == pytest.approx(1)


def test_correlations_of_a_permuted_column_vanish():
    y = X.copy()
    y[:, 1] = RNG.permutation(y[:, 1])
    before, after = np.corrcoef(X.T), np.corrcoef(y.T)
    expected = np.abs(after - before)[np.triu_indices(3, 1)].mean()
    assert CorrelationChange().measure(X, y).value == pytest.approx(expected)


def test_constant_columns_have_no_scale():
    x, y = np.column_stack([X[:, 0], np.ones(200)]), np.column_stack([X[:, 0], np.r_[2.0, np.ones(199)]])
    for measure in (SSE(), IL1s(), UnivariateChange()):
        assert measure.measure(x, x).value == 0
    assert "no scale" in SSE().measure(np.full((7, 2), 0.1), np.full((7, 2), 0.3)).reason
    for measure in (SSE(), SSE(figure="normalised"), IL1s(), UnivariateChange()):
        assert measure.measure(x, y).value is None
        assert "constant" in measure.measure(x, y).reason.lower()
    assert "vary" in CorrelationChange().measure(x, x).reason


@pytest.mark.parametrize("measure", ALL)
def test_nothing_to_compare_gives_no_figure(measure):
    table = Microdata.of(pd.DataFrame({"name": ["a", "b"]}), {"name": "identifier"}).records
    assert measure.measure(table, table).value is None
    assert measure.measure(table, table).reason


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(DataError, match="'wage' is not"):
        IL1s(columns=("wage",)).measure(X, X)
    roles = {"c": "quasi-identifier"}
    table = Microdata.of(pd.DataFrame({"c": ["a", "b"]}), roles).records
    with pytest.raises(DataError, match="1 column not continuous in both tables: 'c'"):
        IL1s(columns=("c",)).measure(table, table)


def test_the_mean_of_a_constant_column_is_no_change():
    constant = np.column_stack([X[:, 0], np.full(200, 0.1)])
    part = Partition(labels=np.arange(200) // 7)
    grouped = part.means(constant)[part.labels]
    grouped[:, 1] = np.nextafter(0.1, 1)
    for measure in ALL[:3]:
        assert measure.measure(constant, grouped).value > 0


def test_eigenvalues_by_hand():
    # A correlation of r has the eigenvalues 1 + r and 1 - r: from r = 0.6 to r = 0 they go from 1.6 and 0.4 to 1.
    x = np.array([[1.0, 1], [1, 1], [1, 1], [1, 1], [-1, -1], [-1, -1], [-1, -1], [-1, -1], [1, -1], [-1, 1]])
    y = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert Eigenvalues().measure(x, y).value == pytest.approx(0.6 / 1.6 + 0.6 / 0.4)
