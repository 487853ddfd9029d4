import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import mixture as naive
from shoal.kernels.mixture.mixture import COVARIANCE_MODELS
from shoal.partition._em.starts import Starts, independent_columns, kmeans
from shoal.partition.gaussian_mixture import GaussianMixture
from shoal.vocabulary.errors import DataError, ParameterError

FAST = {"groups": 3, "models": ("EII", "VVV"), "kmeans_starts": 1}


def three_groups(n=90, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[truth], truth


def test_by_hand():
    # Two pairs of close records far apart, one dimension, equal variances: groups {0, 1} and {2, 3}.
    part = GaussianMixture(k=2, groups=2, models=("EII",)).partition([[0.0], [1.0], [100.0], [101.0]])
    assert part.labels[0] == part.labels[1] != part.labels[2] == part.labels[3]
    # Values in units of the n-1 standard deviation s: each group's variance is (1/2)^2/s^2, each density the same:
    # log L = 4 (log 1/2 - 1/2 log(2 pi v) - 1/2), as the other group is some hundred deviations away.
    s2 = np.var([0, 1, 100, 101], ddof=1)
    loglik = 4 * (np.log(0.5) - 0.5 * np.log(2 * np.pi * 0.25 / s2) - 0.5)
    assert part.details["log-likelihood"] == pytest.approx(loglik, rel=1e-9)
    assert part.details["parameters"] == 1 + 2 + 1
    assert part.details["BIC"] == pytest.approx(2 * loglik - 4 * np.log(4), rel=1e-9)


def test_separated_groups_are_found_and_bic_counts_them():
    x, truth = three_groups()
    part = GaussianMixture(k=5, groups="1..5").partition(x, seed=1)
    assert part.n_groups == 3
    assert (pd.crosstab(part.labels, truth).to_numpy() > 0).sum() == 3
    table = part.details["BIC by model and groups"]
    assert set(table) == set(COVARIANCE_MODELS)
    assert part.details["BIC"] == max(b for row in table.values() for b in row.values() if b is not None)
    json.dumps(part.details)


def test_same_bic_as_the_naive_twin():
    x, truth = three_groups(120, seed=3)
    part = GaussianMixture(k=10, groups=3, models=("VVV",), tolerance=1e-9).partition(x)
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    loglik = naive.em(z, np.eye(3)[truth], "VVV", 60, floor=10 / 120)[0]
    assert part.details["log-likelihood"] == pytest.approx(loglik, rel=1e-9)


@st.composite
def awkward_tables(draw):
    """Tables with ties, duplicates, constant and collinear columns, few records, outliers."""
    n = draw(st.integers(2, 60))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "integers", "binary", "duplicates", "constant", "outlier", "offset"]))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "integers": lambda: rng.integers(0, 4, (n, d)).astype(float),
        "binary": lambda: rng.integers(0, 2, (n, d)).astype(float),
        "duplicates": lambda: rng.normal(size=(3, d))[rng.integers(0, 3, n)],
        "constant": lambda: np.full((n, d), 7.25),
        "outlier": lambda: np.vstack([rng.normal(size=(n - 1, d)), np.full((1, d), 1e6)]),
        "offset": lambda: 1e9 + rng.normal(size=(n, d)),
    }[kind]()
    if draw(st.booleans()):
        x = np.column_stack([x, x.sum(axis=1), np.ones(n)])
    return x


@settings(max_examples=50)
@given(
    awkward_tables(), st.integers(1, 20), st.integers(1, 5), st.integers(0, 3),
    st.lists(st.sampled_from(COVARIANCE_MODELS), min_size=1, max_size=3), st.sampled_from(["normal", "t", "both"]),
    st.integers(0, 5),
)  # fmt: skip
def test_every_group_has_k_records_whatever_the_data(x, k, low, more, models, tails, seed):
    method = GaussianMixture(
        k=k, groups=f"{low}..{low + more}", models=tuple(models), tails=tails, kmeans_starts=seed % 2, most_steps=60
    )
    if low * k > len(x):
        with pytest.raises(ParameterError, match="Lower k"):
            method.partition(x, seed=seed)
        return
    part = method.partition(x, seed=seed)
    assert part.k >= k
    assert len(part) == len(x)
    numbers = [b for row in part.details.get("BIC by model and groups", {}).values() for b in row.values()]
    assert all(b is None or np.isfinite(b) for b in numbers)
    json.dumps(part.details, allow_nan=False)


def test_proportions_do_not_bound_the_counts_and_the_repair_does():
    # A dense group and a wide one around it: most records are more probable in the dense one.
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(400, 2)), 4 * rng.normal(size=(30, 2))])
    part = GaussianMixture(k=100, groups=4, models=("VVV",)).partition(x)
    repair = part.details["assignment"]
    assert min(part.details["proportions"]) >= 100 / 430
    assert repair["groups short of k before"] >= 1
    assert repair["smallest before"] < 100
    assert repair["records moved"] >= 100 - repair["smallest before"]
    assert repair["log posterior lost"] > 0
    assert part.k >= 100


def test_full_groups_have_uniform_proportions():
    x, _ = three_groups()
    part = GaussianMixture(k=30, **FAST).partition(x)
    assert part.details["proportions"] == pytest.approx([1 / 3] * 3, rel=1e-14)
    assert part.sizes.tolist() == [30, 30, 30]


def test_groups_beyond_what_the_table_can_fill():
    x, _ = three_groups()
    with pytest.raises(ParameterError) as error:
        GaussianMixture(k=31, **FAST).partition(x)
    assert str(error.value) == (
        "gaussian-mixture: 3 groups of at least k = 31 need 93 records; there are 90. Lower k or groups."
    )
    part = GaussianMixture(k=20, groups="2..10", models=("EII",)).partition(x)
    assert set(part.details["BIC by model and groups"]["EII"]) == {"2", "3", "4"}


def test_constant_and_collinear_columns_are_left_out():
    x, _ = three_groups()
    wide = np.column_stack([np.ones(len(x)), x, x @ [2, -1] + 5])
    part = GaussianMixture(k=5, **FAST).partition(wide)
    assert part.details["columns left out"] == ["x0", "x3"]
    assert part.model.columns == ("x1", "x2")
    assert (part.labels == GaussianMixture(k=5, **FAST).partition(x).labels).all()
    constant = GaussianMixture(k=5, **FAST).partition(np.ones((20, 2)))
    assert constant.n_groups == 1
    assert constant.details["columns left out"] == ["x0", "x1"]
    assert independent_columns(np.array([[1.0, 1], [2, 2], [4, 4]])) == [0]


def test_singular_models_are_out_of_the_comparison_and_named():
    rng = np.random.default_rng(2)
    x = np.vstack([np.repeat([[0.0, 0.0]], 30, axis=0), rng.normal(size=(60, 2)) + 8])
    part = GaussianMixture(k=10, groups=2, models=("EII", "VVV")).partition(x)
    assert part.details["covariance model"] == "EII"
    assert part.details["BIC by model and groups"]["VVV"]["2"] is None
    assert part.details["not fitted"] == ["VVV, 2 groups: a covariance became singular"]
    # Only models that cannot be fitted: they are fitted with a ridge, and the facts say so.
    rescued = GaussianMixture(k=10, groups=2, models=("VVV",)).partition(x)
    assert rescued.details["regularised by"] == 1e-6
    assert rescued.k >= 10


def test_t_components_for_long_tails():
    rng = np.random.default_rng(5)
    x = rng.standard_t(3, size=(600, 2))
    part = GaussianMixture(k=30, groups=1, models=("VVV",), tails="both").partition(x)
    assert part.details["tails"] == "t"
    assert 2.1 < part.details["degrees of freedom"][0] < 6
    # proportions 0, means 2, covariance 3, degrees of freedom 1
    assert part.details["parameters"] == 6


def test_selection_on_a_sample():
    x, _ = three_groups(600)
    method = GaussianMixture(k=50, groups="2..4", models=("EII", "VVI"), selection_records=150, hierarchy_records=60)
    part = method.partition(x, seed=3)
    assert part.n_groups == 3
    assert part.details["BIC from a sample of"] == 150
    assert part.sizes.tolist() == [200, 200, 200]


def test_strata_and_households():
    x, _ = three_groups(120)
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(s=np.arange(120) // 60, h=np.arange(120) // 2)
    from shoal.table.microdata import Microdata

    qi = "quasi-identifier"
    data = Microdata.of(frame, {"a": qi, "b": qi, "s": "stratum", "h": "other"})
    part = GaussianMixture(k=10, groups=2, models=("EII",)).partition(data)
    assert part.n_groups == 4
    assert set(part.model) == {0, 1}
    homes = Microdata.of(frame, {"a": qi, "b": qi, "s": "other", "h": "household"})
    part = GaussianMixture(k=10, groups=2, models=("EII",)).partition(homes)
    assert (part.labels[::2] == part.labels[1::2]).all()


def test_bad_input_refused():
    with pytest.raises(ParameterError, match=r"a number of groups, at least 1, or a range such as '2\.\.10'"):
        GaussianMixture(k=5, groups="10..2")
    with pytest.raises(ParameterError, match="k must be"):
        GaussianMixture(k=0)
    with pytest.raises(ParameterError, match=r"models must be 'all' or 'EII', .* or 'VVV'; got "):
        GaussianMixture(k=5, models=("XYZ",))
    with pytest.raises(ParameterError, match="models must be 'all' or a list; got 'VVV'"):
        GaussianMixture(k=5, models="VVV")
    with pytest.raises(ParameterError, match=r"models must be 'all' or a list that is not empty; got \(\)"):
        GaussianMixture(k=5, models=())
    with pytest.raises(DataError, match="needs continuous columns; 'b' is not"):
        GaussianMixture(k=1).partition(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}))


def test_same_seed_same_groups_for_every_frame():
    x, _ = three_groups()
    method = GaussianMixture(k=5, **FAST)
    expected = method.partition(x, seed=4).labels.tolist()
    columns = {"a": x[:, 0], "b": x[:, 1]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert method.partition(frame, seed=4).labels.tolist() == expected


def test_kmeans_start():
    x, truth = three_groups()
    labels = kmeans(x, 3, np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(labels, truth)}) == 3
    # More classes than distinct points: every class still gets a record.
    assert np.bincount(kmeans(np.zeros((5, 1)), 4, np.random.default_rng(0)), minlength=4).min() == 1


def test_more_groups_than_the_hierarchy_has_records_begin_at_k_means():
    x, _ = three_groups()
    method = GaussianMixture(k=1, groups=12, models=("EII",), hierarchy_records=10, kmeans_starts=0)
    assert method.partition(x, seed=1).details["start"] == "k-means 1"


def test_starts_are_never_singular():
    x = np.random.default_rng(1).normal(size=(40, 3))
    for start in Starts(x, 2000, 1, np.random.default_rng(0)).of(20):  # classes of one or two records
        assert np.linalg.eigvalsh(start.statistics.scatter).min() > 0.1


@pytest.mark.parametrize("sampled", [{}, {"hierarchy_records": 100}])
def test_more_starts_never_end_worse(sampled):
    """Every start goes to convergence, the hierarchical one among them: the best is as good as any alone."""
    rng = np.random.default_rng(8)
    x = np.vstack([rng.normal(size=(120, 3)) * rng.lognormal(size=3) + rng.normal(size=3) * 2 for _ in range(4)])
    for groups in (4, "2..6"):
        reached = [
            GaussianMixture(k=20, groups=groups, models=("VVV",), kmeans_starts=starts, **sampled)
            .partition(x, seed=1)
            .details["BIC"]
            for starts in range(8)
        ]
        assert reached == sorted(reached)
        assert reached[-1] > reached[0]


def test_principal_components_find_groups_that_lie_along_them():
    """Two groups apart in one direction of ten; the model of three components is theirs, with 6 parameters, not 55."""
    rng = np.random.default_rng(5)
    group = np.arange(400) % 2
    along = rng.normal(size=10)
    x = np.outer(6 * group, along / np.abs(along).max()) + rng.normal(size=(400, 10))
    method = GaussianMixture(k=20, groups=2, models=("VVV",), components=3)
    part = method.partition(x, seed=1)
    assert {frozenset(group[part.labels == g]) for g in range(2)} == {frozenset({0}), frozenset({1})}
    assert part.details["parameters"] == 2 * (3 + 6) + 1
    assert part.details["principal components"] == 3
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    values = np.linalg.eigvalsh(z.T @ z)[::-1]
    assert part.details["share of the variance in them"] == pytest.approx(values[:3].sum() / values.sum())
    axes = part.model.components
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert (axes[np.abs(axes).argmax(axis=0), range(3)] > 0).all()


def test_as_many_components_as_columns_change_nothing():
    x = np.random.default_rng(6).normal(size=(120, 2))
    plain, turned = (
        GaussianMixture(k=20, groups=2, models=("EII",), components=c).partition(x, seed=1) for c in (None, 2)
    )
    assert plain.labels.tolist() == turned.labels.tolist()
    assert "principal components" not in turned.details
