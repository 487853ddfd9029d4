import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from shoal.replace.decimals import Decimals
from shoal.replace.marginals import margin
from shoal.replace.support import Support
from shoal.table.partition import Partition
from shoal.table.records import Records

RULES = ["range", "group-range", "non-negative", "zeros", "integers", "decimals"]


def skewed(seed, n=120):
    """An income-like column of whole numbers with heaps of zeros, and one of both signs."""
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.3, 0.0, np.rint(rng.lognormal(3, 1, n)))
    return np.column_stack([income, rng.normal(size=n) * 5 + income / 10])


def synthesise(x, method, groups=4):
    labels = np.argsort(np.argsort(x[:, 0], kind="stable")) * groups // len(x)
    change = method.apply(
        data := Records.from_array(x), data.quasi_identifiers, Partition.of(labels), np.random.default_rng(1)
    )
    return change.records.raw(), change.details, labels


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(RULES), unique=True, min_size=1),
    st.booleans(),
    st.sampled_from(["raw", "quantile"]),
)
def test_every_rule_asked_for_holds(seed, rules, exact, marginals):
    x = skewed(seed)
    new, facts, labels = synthesise(x, shoal.Normal(support=tuple(rules), exact=exact, marginals=marginals))
    assert np.isfinite(new).all()
    if "range" in rules:
        assert (new >= x.min(axis=0)).all() and (new <= x.max(axis=0)).all()
        assert facts["values as released"]["outside the observed range"] == 0
    if "group-range" in rules:
        for g in range(4):
            assert (new[labels == g] >= x[labels == g].min(axis=0)).all()
            assert (new[labels == g] <= x[labels == g].max(axis=0)).all()
    if "non-negative" in rules:
        assert (new[:, 0] >= 0).all()
    if "integers" in rules or "decimals" in rules:
        np.testing.assert_array_equal(new[:, 0], np.rint(new[:, 0]))
        assert facts["values as released"]["fractions in a column of whole numbers"] == 0
    if "zeros" in rules:
        for g in range(4):
            assert ((new == 0) & (labels == g)[:, None]).sum(axis=0).tolist() == (
                (x == 0) & (labels == g)[:, None]
            ).sum(axis=0).tolist()


@settings(max_examples=by_night(12, 40))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1.5, 4.0, -3.0]),
    st.lists(st.sampled_from(RULES), unique=True),
    st.booleans(),
    st.sampled_from(["raw", "quantile"]),
)
def test_as_many_zeros_as_before_whatever_the_draw(seed, value, rules, exact, marginals):
    # Two values only, or heavy tails on one side of many zeros: quantiles and reflections give zeros of their own.
    rng = np.random.default_rng(seed)
    tail = rng.standard_cauchy(200) ** 2 * (-1) ** seed
    other = value or (tail if rng.random() < 0.5 else np.rint(tail))
    x = np.where(rng.random(200) < rng.random(), 0.0, other)[:, None]
    labels = rng.permutation(np.arange(200) % 4)
    method = shoal.Normal(support=(*{*rules, "zeros"},), exact=exact, marginals=marginals)
    change = method.apply(
        data := Records.from_array(x), data.quasi_identifiers, Partition(labels=labels), np.random.default_rng(seed)
    )
    new = change.records.raw()
    np.testing.assert_array_equal(
        np.bincount(labels[new[:, 0] == 0], minlength=4), np.bincount(labels[x[:, 0] == 0], minlength=4)
    )
    assert change.details["values as released"]["largest change of a column's share of exact zeros"] == 0
    if "group-range" in rules:
        for g in range(4):
            assert x[labels == g].min() <= new[labels == g].min() and new[labels == g].max() <= x[labels == g].max()


def test_zeros_lost_are_told():
    x = np.where(np.arange(100) % 4 == 0, 1.0, 0.0)[:, None] * np.arange(100)[:, None]  # zero: 76 of 100
    change = shoal.Normal().apply(
        data := Records.from_array(x), data.quasi_identifiers, Partition.of(np.zeros(100)), np.random.default_rng(0)
    )
    assert change.details["values as released"]["largest change of a column's share of exact zeros"] == 0.76


def test_what_the_support_costs_is_told():
    x = skewed(1)
    _, plain, _ = synthesise(x, shoal.Normal())
    _, bounded, _ = synthesise(x, shoal.Normal(support=("range",)))
    _, whole, _ = synthesise(x, shoal.Normal(support=("range", "integers")))
    assert plain["values as released"]["outside the observed range"] > 0.01
    errors = [facts["largest relative error inside a group"]["covariances"] for facts in (plain, bounded, whole)]
    assert errors[0] < 1e-12
    assert errors[0] < errors[1] < 1e-3  # the alternation all but restores the moments
    assert errors[1] < errors[2] < 0.2


def test_ipso_in_the_support_keeps_the_covariance_with_the_kept_column():
    x = skewed(2)
    records = Records.from_array(x, names=["a", "b"])
    change = shoal.IPSO(given=("b",), support=("non-negative",)).apply(
        records, ["a"], Partition.of(np.zeros(120)), np.random.default_rng(0)
    )
    assert change.records["a"].values.min() >= 0
    assert change.details["largest relative error overall"]["covariances with the kept columns"] < 1e-6


def test_marginals_bring_the_shape_back():
    x = np.random.default_rng(3).lognormal(size=(800, 1))
    for kind in ("log", "quantile"):
        new, facts, _ = synthesise(x, shoal.Normal(marginals=kind, support=("range",)), groups=1)
        assert new.min() > 0
        assert facts["largest relative error overall"]["covariances"] < 1e-2
        assert abs(np.median(new) - np.median(x)) < 0.15
    plain, _, _ = synthesise(x, shoal.Normal(), groups=1)
    assert abs(np.median(plain) - np.median(x)) > 0.4


def test_quantiles_there_and_back_and_no_extreme_as_it_is():
    x = np.random.default_rng(4).lognormal(size=50)
    scale = margin(x, "quantile", "x")
    np.testing.assert_allclose(scale.back(scale.there(x)), x)
    far = scale.back(np.array([-9.0, 9.0, -2.7, 2.7]))
    assert (far > x.min()).all() and (far < x.max()).all()


def test_logarithms():
    x = np.array([0.0, 2.0, 8.0])
    scale = margin(x, "log", "x")
    np.testing.assert_allclose(scale.there(x), np.log([1.0, 3.0, 9.0]))
    np.testing.assert_allclose(scale.back(scale.there(x)), x, atol=1e-12)
    assert np.isfinite(scale.back(np.array([1e6]))).all()
    with pytest.raises(shoal.DataError, match="Column 'pay' has negative values, so it has no logarithms"):
        margin(np.array([-1.0, 2.0]), "log", "pay")


def test_reflection_by_hand():
    support = Support.of(np.array([[0.0], [10.0]]), ("range",))
    values = np.array([[[-1.0], [12.0], [5.0], [-30.0]]])
    assert support.project(values, support.limits(values), last=True)[0, :, 0].tolist() == [1, 8, 5, 0]


def test_decimals_by_hand():
    # .1 to .99: two decimals (the one with three is one of twenty); 1 to 9.9: one; 10 to 99 and 100 to 999: none.
    x = np.array([0.12, 0.57] * 10 + [0.125] + [1.5, 2.0, 9.9, 12.0, 40.0, 468.0, 0.0])
    decimals = Decimals.of(x)
    assert dict(zip(decimals.orders.tolist(), decimals.places.tolist())) == {-1: 2, 0: 1, 1: 0, 2: 0}
    free = {"low": np.array(-np.inf), "high": np.array(np.inf), "keep_sign": False}
    values = np.array([0.1349, 3.26, -3.24, 9.97, 37.4, 467.6, 0.001, 0.0, 5012.3])
    assert decimals.write(values, **free).tolist() == [0.13, 3.3, -3.2, 10.0, 37.0, 468.0, 0.0, 0.0, 5012.0]
    assert decimals.write(np.array([0.001, -0.002]), **free | {"keep_sign": True}).tolist() == [0.01, -0.01]
    # the bounds are 2.04 and 2.1: 2.0 is outside, the next one inside is 2.1
    low, high = np.array(2.04), np.array(2.1)
    assert decimals.write(np.array([2.041, 2.09]), low, high, keep_sign=False).tolist() == [2.1, 2.1]
    # .1 is beyond the upper bound and 0 is no zero of its own
    tenths = Decimals.of(np.array([0.1, 0.5]))
    assert tenths.write(np.array([0.05]), np.array(0.0), np.array(0.07), keep_sign=True).tolist() == [0.05]
    # no written value fits between the bounds: as it is
    assert decimals.write(np.array([2.05]), low, np.array(2.06), keep_sign=False).tolist() == [2.05]


def test_unrounded_columns_stay_unrounded():
    x = np.random.default_rng(0).normal(size=200)
    free = {"low": np.array(-np.inf), "high": np.array(np.inf), "keep_sign": False}
    np.testing.assert_array_equal(Decimals.of(x).write(x, **free), x)
    np.testing.assert_array_equal(Decimals.of(np.zeros(3)).write(x, **free), x)


def test_a_table_is_written_like_the_original():
    rng = np.random.default_rng(5)
    x = np.exp(rng.normal(1, 2, size=(600, 1)))
    x = np.where(x < 1, np.round(x, 2), np.where(x < 10, np.round(x, 1), np.round(x)))
    new, facts, _ = synthesise(x, shoal.Normal(support=("range", "decimals")))
    order = np.floor(np.log10(np.maximum(new, 1e-9)))
    assert (new >= x.min()).all() and (new <= x.max()).all()
    for least, places in ((1, 0), (0, 1), (-1, 2)):
        at = new[order == least]
        np.testing.assert_array_equal(at, np.round(at, places))
    assert 0 < facts["largest relative error inside a group"]["covariances"] < 0.05


def test_the_range_of_a_group_of_dozens_costs_no_exactness():
    x = skewed(7, n=400)
    _, facts, _ = synthesise(x, shoal.Normal(support=("group-range",)))
    assert facts["largest relative error inside a group"]["covariances"] < 1e-9
    assert facts["records unchanged"] == 0


def test_coarse_whole_numbers_stay_coarse() -> None:
    """Incomes in tens, and times in whole days (microseconds since 1970)."""
    day = 24 * 60 * 60 * 1e6
    free = np.array(-np.inf), np.array(np.inf)
    tens = Decimals.of(np.array([0.0, 120.0, 1250.0, 30.0]))
    assert tens.write(np.array([124.0, 126.0, 3.0]), *free, keep_sign=False).tolist() == [120.0, 130.0, 0.0]
    assert tens.write(np.array([3.0]), *free, keep_sign=True).tolist() == [10.0]
    assert tens.write(np.array([124.0]), np.array(121.0), np.array(200.0), keep_sign=False).tolist() == [130.0]
    days = Decimals.of(day * np.array([17_000.0, 17_003.0, 18_001.0]))
    assert days.write(np.array([day * 17_500.3]), *free, keep_sign=False).tolist() == [day * 17_500]


def test_the_coarse_range_gives_no_extreme_away() -> None:
    """Ends move out by a fifth of the way from the fifth value: 96 to 100 gives 100.8; 0 to 4 stays at 0."""
    x = np.arange(101.0)[:, None]
    support = Support.of(x, ("coarse-range",))
    limits = support.limits(x[None])
    assert (limits.low.tolist(), limits.high.tolist()) == ([0.0], [100.8])
    assert Support.of(-x, ("coarse-range",)).limits(x[None]).high.tolist() == [0.0]
    assert Support.of(x - 50, ("coarse-range",)).limits(x[None]).low.tolist() == [-50.8]
    drawn = np.array([-7.0, 3.0, 102.0, 500.0])[None, :, None]
    assert support.project(drawn, limits, last=True)[0, :, 0] == pytest.approx([7.0, 3.0, 99.6, 0.0])
