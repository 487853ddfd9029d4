"""Missing cells in columns that are drawn from moments (`_residuals/gaps.py`, `drawing.py`)."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import shoal
from by_night import by_night, only_by_night
from shoal.replace._residuals.expectation import likeliest
from shoal.replace._residuals.gaps import NONE, GapDivision
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable

EXACT = (shoal.Normal(), shoal.MultivariateT(degrees_of_freedom=5.0), shoal.LatinHypercube())


def table(x, y=None):
    both = x if y is None else np.column_stack([x, y])
    names = [f"x{j}" for j in range(x.shape[1])] + [f"y{j}" for j in range(both.shape[1] - x.shape[1])]
    columns = zip(names, both.T)
    return Records.of(
        Variable(name=name, role="quasi-identifier", level="continuous", values=values.copy())
        for name, values in columns
    )


def synthesised(method, x, labels, y=None, seed=0):
    records = table(x, y)
    names = [name for name in records.names() if name.startswith("x")]
    change = method.apply(records, names, Partition.of(labels), np.random.default_rng(seed))
    return change.records.raw(names), change.details


def with_gaps(seed, n=240, groups=4, share=0.08, width=3):
    """Skewed columns that depend on each other, the last of them complete; and one more that depends on it."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(size=(n, width)) @ rng.normal(size=(width, width)) + 5
    x[:, :-1] = np.where(rng.random((n, width - 1)) < share, np.nan, x[:, :-1])
    return x, 3 * rng.normal(size=(n, 1)) + x[:, -1:], rng.permutation(np.arange(n) % groups)


def likeliest_by_hand(x):
    """Mean and covariance by the EM algorithm, record by record (Little & Rubin 2002, Section 11.2.1)."""
    mean, covariance = np.nanmean(x, axis=0), np.diag(np.nanvar(x, axis=0))
    for _ in range(2000):
        filled, more = np.empty_like(x), np.zeros_like(covariance)
        for row, out in zip(x, filled):
            o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
            slopes = covariance[np.ix_(m, o)] @ np.linalg.pinv(covariance[np.ix_(o, o)])
            out[o], out[m] = row[o], mean[m] + slopes @ (row[o] - mean[o])
            more[np.ix_(m, m)] += covariance[np.ix_(m, m)] - slopes @ covariance[np.ix_(o, m)]
        before, covariance = covariance, np.cov(filled.T, bias=True).reshape(len(more), -1) + more / len(x)
        mean = filled.mean(axis=0)
        if np.abs(covariance - before).max() < 1e-9 * np.abs(covariance).max():
            break
    return mean, covariance


def assert_moments_kept(x, new, y):
    """The EM algorithm finds the same mean and covariance in both tables, Y included."""
    (mean, covariance), (other, of_new) = (likeliest_by_hand(np.hstack([table, y])) for table in (x, new))
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(other / spread, mean / spread, atol=1e-5)
    np.testing.assert_allclose(of_new / np.outer(spread, spread), covariance / np.outer(spread, spread), atol=1e-5)


@given(st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.3]), st.sampled_from([1, 4]))
@settings(max_examples=by_night(6, 15))
@example(17057, 0.3, 4)  # of a base that is almost a plane nothing is left but what is expected
def test_the_expected_moments_are_exact_in_every_group(seed, share, groups):
    x, _, labels = with_gaps(seed, share=share, groups=groups)
    _, facts = synthesised(EXACT[seed % 3], x, labels, seed=1)
    assert facts["largest relative error inside a group"]["means"] < 1e-9
    assert facts["largest relative error inside a group"]["covariances"] < 1e-9


@pytest.mark.parametrize("seed", range(by_night(1, 2)))
def test_the_em_algorithm_finds_the_same_moments_in_every_group(seed):
    n = by_night(60, 160)
    x, _, labels = with_gaps(seed, n=n, share=0.3, groups=2)
    new, _ = synthesised(EXACT[seed % 3], x, labels, seed=1)
    for g in range(2):
        assert_moments_kept(x[labels == g], new[labels == g], np.zeros((n // 2, 0)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "tables", "ours", "best"), [(1000, 6, 0.029, 0.054), pytest.param(200, 25, 0.119, 0.119, marks=only_by_night)]
)
def test_correlations_of_pairs_known_together_move_no_more_than_gaps_make_them(n, tables, ours, best):
    """Five columns, 30 % missing: the mean of the largest change of ten correlations.

    `best`: a complete table with exactly the mean and the covariance of the complete original, which nobody has,
    with the same gaps. What moves is which records a pair is known of.
    """
    moved, at_best = [], []
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        whole = rng.multivariate_normal(np.zeros(5), 0.6 + 0.4 * np.eye(5), n)
        gaps = rng.random(whole.shape) < 0.3
        rng.permutation(n)
        x = np.where(gaps, np.nan, whole)
        about, u = whole - whole.mean(axis=0), rng.normal(size=whole.shape)
        frame = np.linalg.qr(u - u.mean(axis=0))[0]
        alike = np.where(gaps, np.nan, frame @ np.linalg.cholesky(about.T @ about).T)
        new = synthesised(shoal.Normal(), x, np.zeros(n), seed=seed)[0]
        for changes, other in ((moved, new), (at_best, alike)):
            changes.append(np.abs(pairwise(other) - pairwise(x)).max())
    assert np.mean(moved) == pytest.approx(ours, abs=0.002)
    assert np.mean(at_best) == pytest.approx(best, abs=0.002)


def pairwise(x):
    return pl.DataFrame(x).to_pandas().corr().to_numpy()


def test_the_covariance_of_monotone_gaps_is_that_of_the_closed_form():
    """x1 missing for some: its moments follow from its regression on x0 (Anderson 1957; Little & Rubin 2002, 7.2)."""
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal([5, -1], [[2.0, 1.2], [1.2, 1.5]], 60)
    x[:25, 1] = np.nan
    there = x[25:]
    (a, c), (_, s) = np.cov(there.T, bias=True)
    slope, mean, spread = c / a, x[:, 0].mean(), x[:, 0].var()
    likely = likeliest(x, np.zeros(2))
    assert likely.mean == pytest.approx([mean, there[:, 1].mean() + slope * (mean - there[:, 0].mean())])
    below = s - slope * c + slope**2 * spread
    np.testing.assert_allclose(likely.covariance, [[spread, slope * spread], [slope * spread, below]], rtol=1e-8)


def test_no_other_mean_and_covariance_are_likelier():
    """Against the likelihood of the known cells itself, climbed from where the algorithm stopped."""
    rng = np.random.default_rng(4)
    x = rng.multivariate_normal([1, 2, 3], 0.5 + 0.5 * np.eye(3), by_night(15, 40))
    x[rng.random(x.shape) < 0.3] = np.nan
    likely, lower = likeliest(x, np.zeros(3)), np.tril_indices(3)

    def loss(parameters):
        root = np.zeros((3, 3))
        root[lower] = parameters[3:]
        covariance, total = root @ root.T, 0.0
        for row in x:
            o = np.flatnonzero(~np.isnan(row))
            if o.size:
                total -= multivariate_normal(parameters[o], covariance[np.ix_(o, o)], allow_singular=True).logpdf(
                    row[o]
                )
        return total

    start = np.concatenate([likely.mean, np.linalg.cholesky(likely.covariance)[lower]])
    best = minimize(loss, start, method="BFGS")
    assert best.fun == pytest.approx(loss(start), abs=1e-6)
    np.testing.assert_allclose(best.x, start, atol=1e-3)
    away = minimize(loss, start + 0.2, method="BFGS")  # it finds the same from elsewhere
    assert away.fun == pytest.approx(best.fun, abs=1e-5)


def test_a_column_without_a_cell_and_one_that_another_determines_are_filled_in():
    x = np.arange(24.0).reshape(8, 3) ** 2
    x[:, 1], x[:, 2] = np.nan, 3 * x[:, 0]
    x[2:4, 0] = np.nan
    likely = likeliest(x, np.array([0.0, 7.0, 0.0]))
    filled = likely.filled(x)
    assert (filled[:, 1] == 7).all()
    np.testing.assert_allclose(3 * filled[:, 0], filled[:, 2], rtol=1e-4)
    np.testing.assert_allclose(likely.filled(np.full((1, 3), np.nan))[0], likely.mean)


def test_a_regression_on_kept_columns_stays_exact_too():
    x, y, labels = with_gaps(3)
    new, facts = synthesised(shoal.IPSO(given=("y0",)), x, labels, y)
    assert facts["records drawn with others, as few have the same cells"] > 10
    for g in range(4):
        assert_moments_kept(x[labels == g], new[labels == g], y[labels == g])
    np.testing.assert_array_equal(np.isnan(new), np.isnan(x))  # who stays recognisable by Y keeps the missing cells


def test_without_missing_cells_nothing_is_dealt_out_anew():
    x = np.random.default_rng(5).normal(size=(60, 2))
    assert "records drawn with others, as few have the same cells" not in synthesised(EXACT[0], x, np.zeros(60))[1]


def test_missing_cells_are_dealt_out_anew_in_the_group():
    x, _, labels = with_gaps(7)
    new, facts = synthesised(shoal.Normal(), x, labels)
    assert facts["records unchanged"] == 0
    for g in range(4):
        np.testing.assert_array_equal(np.isnan(new[labels == g]).sum(axis=0), np.isnan(x[labels == g]).sum(axis=0))
    assert (np.isnan(new) & np.isnan(x)).sum() < 0.4 * np.isnan(x).sum()


def test_what_records_without_a_cell_are_like_is_kept():
    """Those 80 of 300 without x0 have an x1 of 3 instead of 0, and keep it: their moments are their own."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 2))
    x[:80] = np.column_stack([np.full(80, np.nan), rng.normal(size=80) + 3])
    new, _ = synthesised(shoal.Normal(), x, np.zeros(300))
    gap = np.isnan(new[:, 0])
    assert new[gap, 1].mean() == pytest.approx(x[:80, 1].mean(), abs=1e-9)
    assert new[gap, 1].var() == pytest.approx(x[:80, 1].var(), rel=1e-9)


def test_a_cell_that_one_record_has_alone_is_not_given_away():
    """One of 40 lacks x1; kept sums over the 39 others would give its x0 away. It is drawn with them."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(40, 2))
    x[0] = (2.5, np.nan)
    released = []
    for seed in range(20):
        new, _ = synthesised(shoal.Normal(), x, np.zeros(40), seed=seed)
        (row,) = np.flatnonzero(np.isnan(new[:, 1]))
        released.append(new[row, 0])
        assert new[:, 0].mean() == pytest.approx(x[:, 0].mean())
    assert np.std(released) > 0.5
    assert np.abs(np.array(released) - 2.5).min() > 1e-3


def test_who_is_joined_to_whom_by_hand():
    # 8 complete records, 4 lack b, 1 lacks a, 1 has nothing. With 5 enough only the complete stand alone; with 4 those
    # without b do, too, and the one without a joins the complete. Three of one column would give each other away.
    known = np.array([[1, 1]] * 8 + [[1, 0]] * 4 + [[0, 1]] + [[0, 0]], dtype=bool)
    one = Partition(labels=np.zeros(14, dtype=np.int32))
    joined = GapDivision.of(one, known, 5, 0)
    assert joined.patterns.tolist() == [[False, False], [False, True], [True, False], [True, True]]
    assert joined.base.tolist() == [NONE] * 8 + [3] * 6
    assert GapDivision.of(one, known, 4, 0).base.tolist() == [NONE] * 12 + [3] * 2
    assert not GapDivision.of(one, known, 0, 0).joined.any()
    four = Partition(labels=np.zeros(4, dtype=np.int32))
    assert GapDivision.of(four, known[8:12], 4, 0).dimensions(np.empty((4, 0))).tolist() == [np.iinfo(np.int64).max]


def test_groups_in_which_nobody_can_be_a_base():
    """Half of ten lack x0, the others x1: no five may have moments of their own where groups are of ten."""
    x = np.random.default_rng(1).normal(size=(20, 2))
    x[:5, 0] = x[5:10, 1] = np.nan
    labels = np.arange(20) // 10
    message = (
        "records of a group together that have the same cells, and needs 10 of them. 1 group of 2 has fewer: one has "
        "5 cells of 'x0' in 10 records. .*set small: merge"
    )
    with pytest.raises(shoal.ParameterError, match=message):
        synthesised(shoal.Normal(), x, labels)
    new, facts = synthesised(shoal.Normal(small="merge"), x, labels)
    assert facts["groups merged because too small"] == 1
    assert_moments_kept(x, new, np.zeros((20, 0)))
    new, _ = synthesised(shoal.Normal(small="allow"), x, labels)
    assert np.isnan(new[:10]).sum(axis=0).tolist() == [5, 5]


def test_a_column_with_few_cells_is_refused_with_advice_that_helps():
    x = np.random.default_rng(0).normal(size=(200, 2))
    x[40:, 0] = np.nan
    with pytest.raises(shoal.ParameterError, match=r"needs 50 of them.*one has 40 cells of 'x0' in 200 records") as why:
        synthesised(shoal.Normal(), x[:, :1], np.zeros(200))
    assert "Raise k" not in str(why.value) and "small: merge" not in str(why.value)
    new, _ = synthesised(shoal.Normal(small="allow"), x[:, :1], np.zeros(200))
    assert np.nanmean(new) == pytest.approx(np.nanmean(x[:, 0]))
    np.nan_to_num(x, copy=False)
    synthesised(shoal.Normal(), x[:, :1], np.zeros(200))


def test_a_column_without_cells_stays_without():
    x = np.random.default_rng(1).normal(size=(30, 2))
    x[:, 1] = np.nan
    new, _ = synthesised(shoal.Normal(), x, np.zeros(30))
    assert np.isnan(new[:, 1]).all()
    assert new[:, 0].mean() == pytest.approx(x[:, 0].mean())
    assert np.isfinite(synthesised(shoal.Normal(), x[:4], np.zeros(4))[0][:, 0]).all()  # four for one column with cells


def test_the_support_binds_all_records():
    rng = np.random.default_rng(2)
    x = np.round(rng.exponential(size=(300, 2)), 1)
    x[:60, 0] = 0
    x[rng.random(300) < 0.1, 0] = np.nan
    x[rng.random(300) < 0.1, 1] = np.nan
    rules = ("range", "zeros", "decimals")
    new, facts = synthesised(shoal.Normal(support=rules), x, np.arange(300) % 3)
    assert facts["values as released"]["outside the observed range"] == 0
    np.testing.assert_array_equal((new == 0).sum(axis=0), (x == 0).sum(axis=0))
    known = new[~np.isnan(new)]
    np.testing.assert_allclose(known, np.round(known, 1), atol=1e-12)
    shaped, _ = synthesised(shoal.Normal(marginals="quantile"), x, np.arange(300) % 3)
    for g in range(3):
        assert_moments_kept(x[g::3], shaped[g::3], np.zeros((100, 0)))


def test_muralidhar_sarathy_wants_columns_that_are_missing_together():
    x, _, labels = with_gaps(1)
    with pytest.raises(shoal.DataError, match="cells are missing where others of the step's columns are known"):
        synthesised(shoal.MuralidharSarathy(alpha=0.5), x, labels)


def test_a_released_file_has_the_types_that_it_had(tmp_path):
    rng = np.random.default_rng(4)
    age = pl.Series("age", rng.integers(20, 80, 200)).to_frame().with_columns(income=pl.Series(rng.normal(size=200)))
    frame = age.with_columns(pl.when(pl.Series(rng.random(200) < 0.2)).then(None).otherwise(pl.col("age")).alias("age"))
    plan = {
        "columns": {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns},
        "steps": [{"partition": "whole", "replace": {"method": "normal", "support": ["coarse-range", "decimals"]}}],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 200}],
    }
    release = shoal.protect(frame, plan, seed=1)
    assert release.data["age"].dtype == pl.Int64
    assert release.data["age"].null_count() == frame["age"].null_count()


def test_the_same_table_in_any_frame():
    x, _, _ = with_gaps(6, n=80)
    frame = pl.DataFrame({f"x{j}": pl.Series(column, nan_to_null=True) for j, column in enumerate(x.T)})
    schema = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    raw = [
        shoal.Normal()
        .apply(
            (records := Microdata.of(form, schema).records),
            records.names(),
            Partition(labels=np.zeros(80, dtype=np.int32)),
            np.random.default_rng(1),
        )
        .records.raw()
        for form in (frame, frame.to_pandas(), frame.to_arrow())
    ]
    np.testing.assert_array_equal(raw[0], raw[1])
    np.testing.assert_array_equal(raw[0], raw[2])
