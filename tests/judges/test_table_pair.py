import numpy as np
import polars as pl
import pytest

from shoal.judges.space import embedded
from shoal.judges.table_pair import common, comparable, counterparts, moved_constant
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError

X = Records.from_array(np.arange(6.0))


def table(**columns):
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in columns}
    return Microdata.of(pl.DataFrame(columns), roles).records


def test_counterparts_go_by_row_number():
    assert counterparts(X, X).tolist() == [0, 1, 2, 3, 4, 5]
    rows = np.array([5, 1, 3])
    assert counterparts(X, X.take(rows)).tolist() == [5, 1, 3]
    assert counterparts(X.take(np.array([3, 1, 5])), X.take(np.array([5, 3]))).tolist() == [2, 0]
    assert counterparts(X, X.take(np.arange(4))) is None  # any four records could be meant
    assert counterparts(X, X.take(np.arange(4)), traced=True).tolist() == [0, 1, 2, 3]  # unless these are known to be
    assert counterparts(X.take(np.array([0, 2, 4])), X.take(np.array([1, 3])), traced=True) is None
    assert counterparts(X, X.take(np.arange(0))).tolist() == []


def test_common_columns():
    before, after = table(a=[1.0], b=["x"]), table(a=["1"], c=["y"])
    assert common(before, after, None, "quasi-identifier") == ("a",)
    assert comparable(before, after, ["a"]) == ()
    with pytest.raises(DataError, match="Columns must be in both tables; 'b' is not"):
        common(before, after, ["b"])


def test_missing_cells_are_put_at_the_mean():
    # Mean 2, s = 1: the missing released cell lies at the mean, 0; so does the missing category: half way.
    before = table(a=[1.0, 2, 3], s=["f", "m", None])
    after = table(a=[1.0, None, 3], s=["f", None, "m"])
    x, y = embedded(before, after, ["a"])
    assert x[:, 0].tolist() == [-1, 0, 1]
    assert y[:, 0].tolist() == [-1, 0, 1]
    x, y = embedded(before, after, ["s"])
    np.testing.assert_allclose(x[2], x[:2].mean(axis=0))
    np.testing.assert_allclose(y[1], x[:2].mean(axis=0))
    np.testing.assert_allclose(y[[0, 2]], x[[0, 1]])


def test_recoded_values_are_put_at_the_mean_of_what_they_stand_for():
    before, after = table(a=[1.0, 2, 3, 6]), table(a=["1-2", "1-2", "3-6", "3-6"])
    x, y = embedded(before, after, ["a"], counterparts(before, after))
    np.testing.assert_allclose(y[:, 0], [x[:2].mean(), x[:2].mean(), x[2:].mean(), x[2:].mean()])
    with pytest.raises(DataError, match="Column 'a' holds labels in the released table"):
        embedded(before, after, ["a"])
    cities, regions = table(c=["u", "v", "w"]), table(c=["uv", "uv", "w"])
    x, y = embedded(cities, regions, ["c"], counterparts(cities, regions))
    np.testing.assert_allclose(y, [(x[0] + x[1]) / 2, (x[0] + x[1]) / 2, x[2]])


def test_a_constant_that_moved():
    assert not moved_constant(table(a=[0.1, 0.1])["a"], table(a=[0.1, 0.1 + 1e-16])["a"])  # a mean's last bit
    assert not moved_constant(table(a=[0.1, 0.1])["a"], table(a=[0.1, None])["a"])
    assert not moved_constant(table(a=[1.0, 2.0])["a"], table(a=[5.0, 7.0])["a"])
    assert moved_constant(table(a=[0.1, 0.1])["a"], table(a=[0.1, 0.2])["a"])
    assert moved_constant(table(a=[0.1, 0.1])["a"], table(a=["0-1", "0-1"])["a"])
    assert moved_constant(table(a=[0.0, 0.0])["a"], table(a=[0.0, 1e-50])["a"])
