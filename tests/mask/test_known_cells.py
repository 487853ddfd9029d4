"""Item non-response: noise, shuffling and rank swapping work on known cells, and missing ones stay where they are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import shoal
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError

NOISE = [shoal.Noise(kind=kind, variance=0.5) for kind in ("uncorrelated", "correlated", "kim", "multiplicative")]
ALONE = [
    *NOISE,
    shoal.Noise(kind="restricted", variance=0.5),
    shoal.Noise(kind="sullivan", variance=0.5, exact=True),
    shoal.Noise(kind="orthogonal", variance=0.5),
    shoal.Noise(kind="kim", variance=0.5, exact=True),
    shoal.Shuffle(),
    shoal.RankSwap(p=0.2),
]


def table(x: np.ndarray, strata: np.ndarray | None = None) -> Records:
    columns = [
        Variable(name=f"x{j}", role="quasi-identifier", level="continuous", values=x[:, j].copy())
        for j in range(x.shape[1])
    ]
    if strata is not None:
        codes = strata.astype(np.int32)
        columns.append(Variable(name="s", role="stratum", level="nominal", values=codes, categories=("a", "b")))
    return Records.of(columns)


def masked(method, x, columns=None, seed=0, strata=None, rows=None):
    records = table(x, strata)
    records = records if rows is None else replace(records, rows=rows)
    names = [f"x{j}" for j in range(x.shape[1])]
    change = method.apply(records, columns or names, np.random.default_rng(seed))
    return change.records.raw(names)


def with_gaps(seed: int, n: int, d: int, share: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    return np.where(rng.random((n, d)) < share, np.nan, x)


@given(st.integers(0, 500), st.sampled_from(ALONE))
def test_one_column_is_masked_as_if_records_without_it_were_not_there(seed, method):
    """The naive twin drops what is missing, masks, and puts it back."""
    x = with_gaps(seed, 40, 1)
    known = ~np.isnan(x[:, 0])
    expected = np.full_like(x, np.nan)
    expected[known] = masked(method, x[known], seed=seed, rows=np.flatnonzero(known))
    np.testing.assert_array_equal(masked(method, x, seed=seed), expected)


@given(st.integers(0, 500), st.sampled_from(ALONE))
def test_columns_that_are_missing_together_are_masked_together(seed, method):
    x = with_gaps(seed, 60, 2, share=0.0)
    lacking = np.random.default_rng(seed).random(60) < 0.3
    x[lacking] = np.nan
    after = masked(method, x, seed=seed)
    assert np.isnan(after[lacking]).all()
    if not isinstance(method, shoal.RankSwap):  # which draws column by column all the same
        np.testing.assert_array_equal(
            after[~lacking], masked(method, x[~lacking], seed=seed, rows=np.flatnonzero(~lacking))
        )


@pytest.mark.parametrize("method", [*NOISE, shoal.Noise(kind="restricted", variance=0.5), shoal.Shuffle()], ids=str)
def test_missing_cells_stay_and_known_ones_change(method):
    x = with_gaps(1, 300, 3)
    strata = np.arange(300) % 2
    if getattr(method, "kind", "") not in ("correlated", "kim"):
        x[strata == 1, 2] = np.nan  # a stratum that lacks a column, of which no records show how it varies with others
    after = masked(method, x, strata=strata)
    np.testing.assert_array_equal(np.isnan(after), np.isnan(x))
    assert (after != x)[~np.isnan(x)].mean() > 0.9


@pytest.mark.parametrize(("kind", "grown"), [("uncorrelated", (1.5, 1)), ("correlated", (1.5, 1.5)), ("kim", (1, 1))])
def test_noise_is_as_large_as_the_known_cells_ask(kind, grown):
    x = with_gaps(2, 40_000, 3)
    before, after = x, masked(shoal.Noise(kind=kind, variance=0.5), x)
    complete = ~np.isnan(x).any(axis=1)
    own, new = np.cov(before[complete].T), np.cov(after[complete].T)
    factor = np.where(np.eye(3) > 0, *grown)
    np.testing.assert_allclose(new, own * factor, atol=0.04 * np.diag(own).max())
    np.testing.assert_allclose(np.nanvar(after, axis=0), grown[0] * np.nanvar(before, axis=0), rtol=0.04)


def test_noise_without_enough_complete_records_or_with_exact_moments_is_refused_with_what_to_do():
    x = with_gaps(3, 30, 2, share=0.0)
    x[:15, 0], x[15:, 1] = np.nan, np.nan
    with pytest.raises(DataError, match=r"at least 2 records with all of its columns .* Take the kind uncorrelated"):
        masked(shoal.Noise(variance=0.1), x)
    assert (np.isnan(masked(shoal.Noise(kind="uncorrelated", variance=0.1), x)) == np.isnan(x)).all()
    for method in (shoal.Noise(kind="kim", variance=0.1, exact=True), shoal.Noise(kind="sullivan", variance=0.1)):
        with pytest.raises(DataError, match=r"'x0', 'x1': cells are missing where .* a step of its own"):
            masked(method, x)
    x[1:15, 1] = np.nan
    with pytest.raises(DataError, match="at least 2 records in every stratum"):
        masked(shoal.Noise(kind="uncorrelated", variance=0.1), x)


def test_shuffling_keeps_known_values_and_correlations_with_what_is_known_of_given_columns():
    rng = np.random.default_rng(4)
    s = rng.normal(size=(6000, 1))
    x = np.hstack([s + 0.5 * rng.normal(size=(6000, 2)), s])
    x[rng.random(x.shape) < 0.2] = np.nan
    after = masked(shoal.Shuffle(given=("x2",)), x, ["x0", "x1"])
    np.testing.assert_array_equal(np.isnan(after), np.isnan(x))
    np.testing.assert_array_equal(np.sort(after, axis=0), np.sort(x, axis=0))
    np.testing.assert_array_equal(after[:, 2], x[:, 2])
    for rows in (~np.isnan(x).any(axis=1), np.isnan(x[:, 2]) & ~np.isnan(x[:, :2]).any(axis=1)):
        width = 3 if not np.isnan(x[rows, 2]).any() else 2
        before, new = (spearmanr(cells[rows][:, :width]).statistic for cells in (x, after))
        assert np.abs(before - new).max() < 0.08
