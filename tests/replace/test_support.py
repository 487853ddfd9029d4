import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.groups import Partition
from shoal.records import Records
from shoal.replace.marginals import margin
from shoal.replace.support import Support

RULES = ["range", "non-negative", "zeros", "integers"]


def skewed(seed, n=120):
    """An income-like column of whole numbers with heaps of zeros, and one of both signs."""
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.3, 0.0, np.rint(rng.lognormal(3, 1, n)))
    return np.column_stack([income, rng.normal(size=n) * 5 + income / 10])


def synthesise(x, method, groups=4):
    labels = np.argsort(np.argsort(x[:, 0], kind="stable")) * groups // len(x)
    change = method.apply(Records.from_array(x), Partition.of(labels), np.random.default_rng(1))
    return change.records.raw(), change.facts, labels


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(RULES), unique=True, min_size=1), st.booleans(),
       st.sampled_from(["raw", "quantile"]))
def test_every_rule_asked_for_holds(seed, rules, exact, marginals):
    x = skewed(seed)
    new, facts, labels = synthesise(x, shoal.Normal(support=tuple(rules), exact=exact, marginals=marginals))
    assert np.isfinite(new).all()
    if "range" in rules:
        assert (new >= x.min(axis=0)).all() and (new <= x.max(axis=0)).all()
        assert facts["values as released"]["outside the observed range"] == 0
    if "non-negative" in rules:
        assert (new[:, 0] >= 0).all()
    if "integers" in rules:
        np.testing.assert_array_equal(new[:, 0], np.rint(new[:, 0]))
        assert facts["values as released"]["fractions in a column of whole numbers"] == 0
    if "zeros" in rules:
        for g in range(4):
            assert ((new == 0) & (labels == g)[:, None]).sum(axis=0).tolist() == (
                (x == 0) & (labels == g)[:, None]).sum(axis=0).tolist()


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
    records = Records.from_array(x, names=["a", "b"]).targeting(["a"])
    change = shoal.IPSO(given=("b",), support=("non-negative",)).apply(
        records, Partition.of(np.zeros(120)), np.random.default_rng(0))
    assert change.records["a"].values.min() >= 0
    assert change.facts["largest relative error overall"]["covariances with the kept columns"] < 1e-6


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
    with pytest.raises(shoal.errors.DataError, match="Column 'pay' has negative values, so it has no logarithms"):
        margin(np.array([-1.0, 2.0]), "log", "pay")


def test_reflection_by_hand():
    support = Support.of(np.array([[0.0], [10.0]]), ("range",))
    values = np.array([[[-1.0], [12.0], [5.0], [-30.0]]])
    assert support.project(values, np.zeros((1, 1)), last=True)[0, :, 0].tolist() == [1, 8, 5, 0]
