import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from shoal.table.records import Records
from shoal.table.robust_covariance import chi_squared_quantile, robust_ellipsoid
from shoal.vocabulary.errors import DataError, ParameterError


def coded(x, seed=0, **parameters):
    records = Records.from_array(np.asarray(x, dtype=float))
    step = shoal.MultivariateTopCode(**parameters).apply(
        records, records.quasi_identifiers, np.random.default_rng(seed)
    )
    return step.records.raw(), step.details["records pulled in"]


def naive(x, centre, covariance, cut):
    """Record by record, with the inverse of the covariance."""
    inverse, out = np.linalg.inv(covariance), []
    for row in x:
        square = (row - centre) @ inverse @ (row - centre)
        out.append(row if square <= cut else centre + (row - centre) * np.sqrt(cut / square))
    return np.array(out)


def test_the_quantiles_by_hand():
    """Two columns: P(square <= q) = 1 - exp(-q / 2), so that a tail of e^-4 begins at 8."""
    assert chi_squared_quantile(1 - np.exp(-4), 2) == pytest.approx(8, abs=1e-8)


def test_by_hand_in_one_column():
    # Nine values -2, -1.5 ... 2 and one of 100: the robust mean is 0, and what lies beyond the bound comes to it.
    x = np.r_[np.linspace(-2, 2, 9), 100.0]
    new, pulled = coded(x)
    ellipsoid = robust_ellipsoid(x[:, None], np.random.default_rng(0))
    assert ellipsoid.centre[0] == pytest.approx(0)
    assert pulled == 1 and np.array_equal(new[:-1, 0], x[:-1])
    assert new[-1, 0] == pytest.approx(np.sqrt(chi_squared_quantile(0.975, 1) * ellipsoid.covariance[0, 0]))


@settings(max_examples=by_night(6, 15), deadline=None)
@given(seed=st.integers(0, 10**6), columns=st.integers(1, 4), tail=st.sampled_from([0.01, 0.1, 0.4]))
def test_same_as_record_by_record(seed, columns, tail):
    rng = np.random.default_rng(seed)
    x = rng.standard_t(2, size=(60, columns)) @ rng.normal(size=(columns, columns)) * 10.0 ** rng.integers(-3, 4)
    new, pulled = coded(x, seed, tail=tail)
    ellipsoid = robust_ellipsoid(x, np.random.default_rng(seed))
    expected = naive(x, ellipsoid.centre, ellipsoid.covariance, chi_squared_quantile(1 - tail, columns))
    assert new == pytest.approx(expected, rel=1e-7, abs=1e-9 * np.abs(x).max())
    assert pulled == (new != x).any(axis=1).sum()


def test_who_hides_in_a_crowd_of_outliers_or_in_a_combination_is_seen(rng):
    x = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], 400)
    x[:40] = [60, 60]  # which would widen a plain covariance until none of them is far out
    x[40] = [1.8, -1.8]  # neither value is extreme
    new, _ = coded(x)
    assert np.abs(new[:40]).max() < 5
    assert np.abs(new[40]).max() < 1
    assert np.sign(new[40]).tolist() == [1, -1]
    assert (new == x).all(axis=1).mean() > 0.8


def test_missing_cells_are_left_and_the_known_ones_pulled(rng):
    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    frame.loc[0] = [50.0, np.nan]
    frame.loc[1] = [np.nan, np.nan]
    roles = {name: {"role": "confidential", "missing": "keep"} for name in frame}
    records = shoal.Microdata.of(frame, roles).records
    new = shoal.MultivariateTopCode().apply(records, ["a", "b"], rng).records.raw(["a", "b"])
    assert (np.isnan(new) == frame.isna().to_numpy()).all()
    assert 1 < new[0, 0] < 5


def test_constants_units_and_order(rng):
    x = rng.standard_t(2, size=(80, 2))
    flat, _ = coded(np.column_stack([x, np.full(80, 7.0)]))
    assert np.array_equal(flat[:, :2], coded(x)[0]) and (flat[:, 2] == 7).all()
    units = np.array([2.0**30, 2.0**-30])
    assert coded(x * units)[0] == pytest.approx(coded(x)[0] * units, rel=1e-9)
    assert coded(np.ones((5, 2)))[1] == 0


def test_bad_input_refused(rng):
    with pytest.raises(ParameterError, match="multivariate-top-code: tail must be less than 1"):
        shoal.MultivariateTopCode(tail=1)
    assert coded(rng.normal(size=(3, 2)))[1] == 0  # three records of two columns are all equally far out
    frame = pd.DataFrame(rng.normal(size=(9, 2)), columns=["a", "b"])
    frame.loc[:5, "b"] = np.nan
    roles = {name: {"role": "confidential", "missing": "keep"} for name in frame}
    with pytest.raises(DataError, match="needs 4 records or more that are complete in 'a', 'b'; there are 3"):
        shoal.MultivariateTopCode().apply(shoal.Microdata.of(frame, roles).records, ["a", "b"], rng)
    x = rng.normal(size=(50, 2))
    with pytest.raises(DataError, match="half of the records of 'x0', 'x1' lie in fewer dimensions"):
        coded(np.column_stack([x[:, 0], 2 * x[:, 0]]))
    x[:40, 0] = 0
    with pytest.raises(DataError, match="lie in fewer dimensions"):
        coded(x)
