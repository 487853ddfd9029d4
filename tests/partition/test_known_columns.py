"""Item non-response: records that lack the same columns are grouped by the others, among themselves."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError

K = 3
METHODS = [shoal.MDAV(k=K), shoal.VMDAV(k=K), shoal.MuApprox(k=K), shoal.Refined(start=shoal.MDAV(k=K))]


def table(x: np.ndarray) -> Records:
    return Records.of(
        Variable(name=f"x{j}", role="quasi-identifier", level="continuous", values=x[:, j].copy())
        for j in range(x.shape[1])
    )


def with_kinds(seed: int, n: int = 90, d: int = 3) -> np.ndarray:
    """Four kinds of records: complete ones, two that lack something, one that lacks everything."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    kind = rng.permutation(np.arange(n) % 4)
    x[kind == 1, 0] = np.nan
    x[np.ix_(kind == 2, [0, 2])] = np.nan
    x[kind == 3] = np.nan
    return x


@settings(max_examples=by_night(12, 150))
@given(st.integers(0, 300), st.sampled_from(METHODS))
def test_it_is_each_kind_partitioned_by_itself(seed, method):
    x = with_kinds(seed)
    part = method.partition(table(x), seed=seed)
    rng = np.random.default_rng(seed)
    for lacking in np.unique(np.isnan(x), axis=0):
        rows = np.flatnonzero((np.isnan(x) == lacking).all(axis=1))
        own = np.unique(part.labels[rows], return_inverse=True)[1]
        assert not np.isin(part.labels[rows], np.delete(part.labels, rows)).any()
        if lacking.all():
            assert (own == 0).all()
        elif not isinstance(method, shoal.Refined):  # which draws, so that the order of the kinds matters
            alone = method.partition(table(x[np.ix_(rows, ~lacking)]), seed=rng).labels
            pairs = np.unique(np.column_stack([own, alone]), axis=0)
            assert len(pairs) == own.max() + 1 == alone.max() + 1
    assert part.k >= K


@given(st.integers(0, 300))
def test_one_column_is_the_known_cells_and_a_group_of_the_missing(seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((60, 1)) < 0.2, np.nan, rng.normal(size=(60, 1)).round(1))
    x[:K] = np.nan
    known = np.flatnonzero(~np.isnan(x[:, 0]))
    part = shoal.Univariate(k=K).partition(table(x))
    alone = shoal.Univariate(k=K).partition(table(x[known]))
    assert part.n_groups == alone.n_groups + 1
    assert len(np.unique(np.column_stack([part.labels[known], alone.labels]), axis=0)) == alone.n_groups


@pytest.mark.parametrize("continuous", ["mean", "median", "medoid"])
@pytest.mark.parametrize("partition", ["mdav", "vmdav", "mu-approx"])
def test_a_release_is_k_anonymous_and_cells_are_missing_where_they_were(partition, continuous):
    x = with_kinds(5)
    grades = np.where(np.isnan(x[:, 2]), None, np.random.default_rng(5).integers(1, 6, len(x)))
    frame = pl.DataFrame(x, schema=["a", "b", "c"], nan_to_null=True).with_columns(
        grade=pl.Series(grades.tolist(), dtype=pl.Int64)
    )
    keep = {"role": "quasi-identifier", "missing": "keep"}
    plan = {
        "columns": dict.fromkeys("abc", keep) | {"grade": {**keep, "level": "ordinal"}},
        "steps": [{"partition": partition, "k": K, "replace": {"method": "centroid", "continuous": continuous}}],
        "requirements": [{"privacy": "k-anonymity", "k": K, "missing": "equal"}],
        "output": {"shuffle": False},
    }
    released = shoal.protect(frame, plan, seed=1).data
    assert released.select(pl.all().is_null()).equals(frame.select(pl.all().is_null()))


def test_a_kind_of_fewer_than_k_is_refused_with_what_to_do():
    x = np.random.default_rng(1).normal(size=(30, 2))
    x[:2, 1] = np.nan
    with pytest.raises(DataError, match=r"only 2 records lack 'x1', fewer than k = 3\. Set missing: drop or impute"):
        shoal.MDAV(k=3).partition(table(x))
    with pytest.raises(DataError, match="gaussian-mixture groups records by themselves that lack the same columns"):
        shoal.GaussianMixture(k=3).partition(table(x))
    x[2:, 1] = np.nan
    with pytest.raises(DataError, match="only 2 records lack none, fewer than k = 3"):
        shoal.MDAV(k=3).partition(table(np.vstack([x[2:], [[1, 2], [3, 4]]])))


def test_households_are_not_grouped_with_missing_cells():
    frame = pl.DataFrame({"age": [1.0, None, 3.0, 4.0, None, 6.0], "home": [1, 1, 2, 2, 3, 3]})
    columns = {"age": {"role": "quasi-identifier", "missing": "keep"}, "home": "household"}
    with pytest.raises(DataError, match="Column 'age' has 2 missing values; mdav needs complete columns"):
        shoal.MDAV(k=2).partition(shoal.Microdata.of(frame, columns))


@pytest.mark.parametrize("continuous", ["mean", "median"])
def test_a_centre_of_a_column_that_groups_are_not_formed_by_is_that_of_its_known_cells(continuous):
    frame = pl.DataFrame({"age": [1.0, 2, 3, 10, 11, 12], "pay": [1.0, None, 3, 4, 5, None]})
    columns = {"age": "quasi-identifier", "pay": {"role": "confidential", "missing": "keep"}}
    centroid = {"method": "centroid", "continuous": continuous}
    step = {"partition": "mdav", "k": 3, "replace": centroid, "columns": ["age", "pay"], "by": ["age"]}
    plan = {"columns": columns, "steps": [step], "output": {"shuffle": False}}
    assert shoal.protect(frame, plan, seed=1).data["pay"].to_list() == [2, None, 2, 4.5, 4.5, None]
    step["replace"] = {"method": "centroid", "continuous": "medoid"}
    with pytest.raises(DataError, match="Column 'pay' has missing values in groups that have known ones, too"):
        shoal.protect(frame, plan, seed=1)


def test_columns_microaggregated_one_by_one_may_lack_cells():
    x = with_kinds(2)
    change = shoal.MicroaggregateColumns(grouping=shoal.Univariate(k=K), size=1).apply(
        table(x), ["x0", "x1", "x2"], np.random.default_rng(0)
    )
    after = change.records.raw()
    np.testing.assert_array_equal(np.isnan(after), np.isnan(x))
    for j in range(3):
        assert np.unique(after[~np.isnan(after[:, j]), j], return_counts=True)[1].min() >= K


def test_columns_are_joined_by_the_correlation_of_records_that_know_both():
    """The first and the last go together, although the middle one is nearer to each of them where it is missing."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=200)
    x = np.column_stack([first, rng.normal(size=200), first + 0.1 * rng.normal(size=200)])
    x[:40, 0], x[40:80, 1], x[80:120, 2] = np.nan, np.nan, np.nan
    change = shoal.MicroaggregateColumns(grouping=shoal.MDAV(k=K), size=2).apply(
        table(x), ["x0", "x1", "x2"], np.random.default_rng(0)
    )
    assert set(change.facts["column groups"].facts) == {"x0, x2", "x1"}
    np.testing.assert_array_equal(np.isnan(change.records.raw()), np.isnan(x))


REQUIRING = [
    shoal.TClosenessFirst(k=K, t=0.25),
    shoal.TClosenessMerge(k=K, t=0.25),
    shoal.KAnonymityFirst(k=K, t=0.25),
    shoal.TClosenessRefined(k=K, t=0.25, moves=0),
    shoal.LDiverse(k=K, l=3, moves=0),
    shoal.PSensitive(k=K, p=3, moves=0),
]


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("method", REQUIRING, ids=lambda method: method.method_name)
def test_groups_of_every_kind_are_held_to_the_whole_table(method, strata):
    """Distances and diversity of each group, counted anew, by a naive look at the sorted values of the table."""
    x, rng = with_kinds(8, n=160), np.random.default_rng(8)
    pay = rng.permutation(160).astype(float)
    records = table(x).with_variables(Variable(name="pay", role="confidential", level="continuous", values=pay))
    if strata:
        side = (np.arange(160) // 80).astype(np.int32)
        of_stratum = Variable(name="s", role="stratum", level="nominal", values=side, categories=("a", "b"))
        records = records.with_variables(of_stratum)
    part = method.partition(records, columns=["x0", "x1", "x2"], seed=1)
    kinds = np.isnan(x) @ [1, 2, 4] + (8 * side if strata else 0)
    assert part.k >= K
    for g, rows in enumerate(part.members()):
        assert len(set(kinds[rows])) == 1, g
        if hasattr(method, "t"):
            steps = np.array([(pay[rows] <= value).mean() - (pay <= value).mean() for value in np.sort(pay)])
            assert np.abs(steps).sum() / (len(pay) - 1) <= 0.25 + 1e-9
        else:
            assert len(set(pay[rows])) >= 3


def test_a_kind_too_unlike_the_table_is_refused_with_what_to_do():
    x = with_kinds(8, n=160)
    pay = np.isnan(x).all(axis=1).astype(float)  # all that is known of those of whom nothing is known
    records = table(x).with_variables(Variable(name="pay", role="confidential", level="continuous", values=pay))
    with pytest.raises(
        shoal.Refused, match=r"do not satisfy the requirement even as one group \(t 0\.75\)\. Set missing"
    ):
        shoal.TClosenessFirst(k=K, t=0.2).partition(records, columns=["x0", "x1", "x2"])
    with pytest.raises(DataError, match="tcloseness-first with n needs complete columns"):
        shoal.TClosenessFirst(k=K, t=0.2, n=20).partition(records, columns=["x0", "x1", "x2"])
