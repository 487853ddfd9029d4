import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from published.reference import reference
from shoal.table.partition import Partition
from shoal.table.records import Records


def hybrid(x, y, alpha, labels=None, seed=0, **parameters):
    names = [f"x{j}" for j in range(x.shape[1])]
    kept = tuple(f"y{j}" for j in range(y.shape[1]))
    records = Records.from_array(np.column_stack([x, y]), names=[*names, *kept])
    part = shoal.Whole().partition(records) if labels is None else Partition.of(labels)
    method = shoal.MuralidharSarathy(alpha=alpha, given=kept, **parameters)
    change = method.apply(records, names, part, np.random.default_rng(seed))
    return change.records.raw(names), change.details


def data(seed, n=60, wide=2, kept=2):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, kept))
    return y @ rng.normal(size=(kept, wide)) + rng.exponential(size=(n, wide)), y


def second_moments(x, y):
    return np.cov(np.column_stack([x, y]).T)


def test_all_or_nothing():
    x, y = data(1)
    new, facts = hybrid(x, y, 1.0)
    np.testing.assert_allclose(new, x, atol=1e-7)
    assert facts["records unchanged"] == 60
    new, _ = hybrid(x, y, 0.0)
    residuals = [
        values - np.column_stack([np.ones(60), y]) @ np.linalg.lstsq(np.column_stack([np.ones(60), y]), values)[0]
        for values in (x, new)
    ]
    np.testing.assert_allclose(residuals[0].T @ residuals[1], 0, atol=1e-9)  # nothing of the record's own is left


@given(st.integers(0, 2**32), st.floats(-1, 1), st.integers(1, 3), st.integers(0, 3))
def test_equal_shares_are_always_possible_and_exact(seed, alpha, wide, kept):
    x, y = data(seed, wide=wide, kept=kept) if kept else (data(seed, wide=wide)[0], np.empty((60, 0)))
    new, _ = hybrid(x, y, alpha)
    np.testing.assert_allclose(new.mean(axis=0), x.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(second_moments(new, y), second_moments(x, y), atol=1e-9)


def test_the_formula():
    # x' - x alpha' - y beta' - gamma = e is orthogonal to 1, X and Y and has covariance R - alpha R alpha'.
    x, y = data(2)
    alpha = np.array([[0.7, 0.1], [0.0, 0.6]])
    new, _ = hybrid(x, y, tuple(map(tuple, alpha.tolist())))
    s = np.cov(np.column_stack([x, y]).T)
    beta = np.linalg.solve(s[2:, 2:], s[2:, :2]) @ (np.eye(2) - alpha.T)
    e = new - x @ alpha.T - y @ beta
    e -= x.mean(axis=0) @ (np.eye(2) - alpha.T) - y.mean(axis=0) @ beta
    assert np.abs(np.column_stack([np.ones(60), x, y]).T @ e).max() < 1e-9
    r = s[:2, :2] - s[:2, 2:] @ np.linalg.solve(s[2:, 2:], s[2:, :2])
    np.testing.assert_allclose(e.T @ e / 59, r - alpha @ r @ alpha.T, atol=1e-10)


def test_impossible_shares_are_explained_or_clipped():
    rng = np.random.default_rng(3)
    a = rng.normal(size=100)
    x = np.column_stack([a, a + 0.01 * rng.normal(size=100)])
    with pytest.raises(shoal.ParameterError, match="alpha must leave the noise a covariance matrix"):
        hybrid(x, np.empty((100, 0)), (0.8, 0.3))
    new, facts = hybrid(x, np.empty((100, 0)), (0.8, 0.3), clip=True)
    assert facts["smallest eigenvalue of the noise covariance that was clipped"] < -0.05
    assert 0.01 < facts["largest relative error overall"]["covariances"] < 1
    np.testing.assert_allclose(new.mean(axis=0), x.mean(axis=0), atol=1e-12)


def test_eia_cannot_take_the_second_alpha_of_the_paper():
    # Domingo-Ferrer & Gonzalez-Nicolas (2010), Section 5.3, use alpha_2 = diag(.8, .3) on EIA all the same.
    frame = pl.read_csv(reference("eia.csv"))
    x = frame[["INDREVENUE", "INDSALES"]].to_numpy().astype(float)
    y = frame[["TOTREVENUE", "TOTSALES"]].to_numpy().astype(float)
    with pytest.raises(shoal.ParameterError, match="muralidhar-sarathy: alpha must leave"):
        hybrid(x, y, (0.8, 0.3))
    new, _ = hybrid(x, y, 0.9)
    np.testing.assert_allclose(second_moments(new, y), second_moments(x, y), rtol=1e-9)


@pytest.mark.parametrize("alpha", [2, -1.5, (0.5, 1.1)])
def test_a_share_beyond_the_whole_is_refused_for_what_it_is(alpha):
    with pytest.raises(shoal.ParameterError, match=r"share of a column's own value, must lie in \[-1, 1\]"):
        hybrid(*data(4), alpha)


@pytest.mark.parametrize("alpha", [(0.1, 0.2, 0.3), ((0.1, 0.2),), ((0.1,), (0.2, 0.3)), float("nan")])
def test_alpha_of_the_wrong_shape(alpha):
    with pytest.raises(shoal.ParameterError, match="alpha must be one number, 2 numbers, or 2 rows"):
        hybrid(*data(4), alpha)


def test_collinear_and_constant_columns_and_groups():
    x, y = data(5)
    x = np.column_stack([x[:, 0], 3 * x[:, 0], np.full(60, 2.0)])
    new, _ = hybrid(x, y, 0.5, labels=np.arange(60) % 3)
    np.testing.assert_allclose(new[:, 1], 3 * new[:, 0], atol=1e-9)
    np.testing.assert_array_equal(new[:, 2], 2.0)
    with pytest.raises(shoal.ParameterError, match="needs groups of 10 records, with 2 columns kept"):
        hybrid(x, y, 0.5, labels=np.arange(60) // 6)
    with pytest.raises(shoal.ParameterError, match="small must be 'refuse' or 'merge'"):
        shoal.MuralidharSarathy(alpha=0.5, small="allow")
