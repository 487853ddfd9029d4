"""SSE, IL1s, changes of means, variances and correlations."""

import numpy as np
import pandas as pd
import pytest

from shoal.table.microdata import Microdata
from shoal.utility.correlation_change import CorrelationChange
from shoal.utility.il1s import IL1s
from shoal.utility.sse import SSE
from shoal.utility.univariate_change import UnivariateChange
from shoal.vocabulary.errors import DataError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 2]]) + 5
ALL = [SSE(), IL1s(), UnivariateChange(), CorrelationChange()]


@pytest.mark.parametrize("measure", ALL)
def test_an_unchanged_table_loses_nothing(measure):
    assert measure.measure(X, X).value == 0


@pytest.mark.parametrize("measure", ALL)
def test_an_offset_of_1e8_changes_nothing_but_rounding(measure, rng):
    y = X + rng.normal(size=X.shape)
    assert measure.measure(X + 1e8, y + 1e8).value == pytest.approx(measure.measure(X, y).value, rel=1e-6)


@pytest.mark.parametrize("measure", ALL)
def test_tiny_and_huge_units_change_nothing(measure, rng):
    y = X + rng.normal(size=X.shape)
    for unit in (2.0**-500, 2.0**500):
        assert measure.measure(X * unit, y * unit).value == pytest.approx(measure.measure(X, y).value, rel=1e-9)


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
