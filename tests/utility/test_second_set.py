"""Eigenvalues, associations, contingency tables, quantiles, Gini and subgroup means."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.data.microdata import Microdata
from shoal.data.records import Records
from shoal.errors import DataError, ParameterError
from shoal.utility.associations import Associations, cramers_v, eta, spearman
from shoal.utility.contingency import Contingency
from shoal.utility.eigenvalues import Eigenvalues
from shoal.utility.gini import Gini, gini
from shoal.utility.quantiles import Quantiles
from shoal.utility.subgroup_means import SubgroupMeans

RNG = np.random.default_rng(51)
N = 300
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "job": RNG.choice(["a", "b", "c"], N),
        "wage": RNG.lognormal(10, 1, N),
        "tax": RNG.lognormal(8, 1, N),
        "grade": RNG.choice(["low", "mid", "top"], N),
    }
)
FRAME["tax"] += FRAME["wage"] / 10
ROLES = {
    "sex": "quasi-identifier",
    "job": "quasi-identifier",
    "wage": "confidential",
    "tax": "confidential",
    "grade": {"role": "confidential", "level": "ordinal", "order": ["low", "mid", "top"]},
}
ALL = [Eigenvalues(), Associations(), Contingency(), Quantiles(), Gini(), SubgroupMeans()]


def records(frame=FRAME, roles=ROLES):
    return Microdata.of(frame, {name: roles[name] for name in frame.columns}).records


@pytest.mark.parametrize("measure", ALL)
def test_an_unchanged_table_loses_nothing(measure):
    assert measure.measure(records(), records()).value == 0


@pytest.mark.parametrize("measure", ALL)
def test_every_kind_of_frame_and_any_order_of_records(measure):
    noisy = FRAME.assign(wage=FRAME["wage"] * RNG.lognormal(0, 0.3, N), sex=RNG.permutation(FRAME["sex"]))
    expected = measure.measure(records(), records(noisy)).value
    assert expected > 0
    shuffle = RNG.permutation(N)
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        table = Microdata.of(kind(noisy), ROLES).records
        assert measure.measure(records(), table).value == expected
    moved = noisy.iloc[shuffle]  # none of these measures compares record by record
    assert measure.measure(records(), records(moved)).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("measure", ALL)
def test_an_offset_of_1e8(measure):
    if isinstance(measure, Gini):
        pytest.skip("the Gini coefficient depends on the origin")
    x = RNG.integers(0, 1000, (N, 3)).astype(float)
    y = x + RNG.integers(-100, 100, (N, 3))
    near, far = measure.measure(x, y), measure.measure(x + 1e8, y + 1e8)
    assert far.value == (pytest.approx(near.value, rel=1e-6) if near.value is not None else None)


@pytest.mark.parametrize("measure", ALL)
def test_nothing_to_compare_gives_no_figure(measure):
    bare = records(FRAME[["sex"]], {"sex": "identifier"})
    found = measure.measure(bare, bare)
    assert found.value is None
    assert found.reason


def test_eigenvalues_by_hand():
    # Correlation 0.6: eigenvalues 1.6 and 0.4; correlation 0: 1 and 1. |1 - 1.6| / 1.6 + |1 - 0.4| / 0.4.
    base = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    root = np.linalg.cholesky(np.array([[1, 0.6], [0.6, 1]]))
    assert Eigenvalues().measure(base @ root.T, base).value == pytest.approx(0.6 / 1.6 + 0.6 / 0.4)


def test_eigenvalues_of_columns_that_determine_one_another():
    x = RNG.normal(size=(50, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    found = Eigenvalues().measure(x, x + 0.1 * RNG.normal(size=x.shape))
    assert 0 < found.value < 1
    assert found.details["eigenvalues left out"] == 1
    assert "'x0'" in Eigenvalues().measure(x, np.column_stack([np.ones(50), x[:, 1:]])).reason


def test_associations_equal_scipy():
    table = records()
    crossed = pd.crosstab(FRAME["sex"], FRAME["job"])
    assert cramers_v(table["sex"], table["job"]) == pytest.approx(stats.contingency.association(crossed.to_numpy()))
    assert spearman(table["wage"], table["tax"]) == pytest.approx(stats.spearmanr(FRAME["wage"], FRAME["tax"])[0])
    groups = [FRAME["wage"][FRAME["job"] == job] for job in "abc"]
    f = stats.f_oneway(*groups)[0]
    assert eta(table["job"], table["wage"]) == pytest.approx(np.sqrt(f * 2 / (f * 2 + N - 3)))


def test_associations_by_hand():
    # Cramer's V 1 becomes 0.
    x = pd.DataFrame({"sex": list("ffmm"), "job": list("aabb")})
    y = x.assign(job=list("abab"))
    found = Associations().measure(records(x), records(y))
    assert found.value == pytest.approx(1)
    assert found.details["by kind"]["Cramer's V"]["largest"] == pytest.approx(1)
    constant = Associations().measure(records(x), records(x.assign(job="a")))
    assert constant.value == pytest.approx(1)  # an association that the release lost counts as 0 there
    assert Associations().measure(records(x.assign(job="a")), records(x)).value is None


def test_contingency_by_hand():
    # sex: 2 of 4 f becomes 1 of 4: distance 1/4. job: unchanged. sex x job: one record changes cells: 1/4.
    x = pd.DataFrame({"sex": list("ffmm"), "job": list("abab")})
    found = Contingency().measure(records(x), records(x.assign(sex=list("fmmm"))))
    assert found.details["mean by number of columns"] == {"1": 1 / 8, "2": 1 / 4}
    assert found.value == pytest.approx((1 / 4 + 0 + 1 / 4) / 3)
    disjoint = records(x.assign(sex=list("zzzz")))
    assert Contingency(columns=("sex",)).measure(records(x), disjoint).value == 1


def test_contingency_cuts_numbers_at_the_originals_quantiles():
    x = np.arange(100.0)[:, None]
    assert Contingency(bins=4).measure(x, x + 25).value == pytest.approx(0.25)
    # The median of 0, 0, 0, 1 is 0, which belongs to the lower half: one of four records changes halves.
    assert Contingency(bins=2).measure([0.0, 0, 0, 1], [0.0, 0, 1, 1]).value == 0.25
    assert Contingency(bins=0).measure(x, x).value is None
    holes = Records.from_array(x)
    emptied = holes.with_variables(holes["x0"].with_values(np.where(x[:, 0] < 10, np.nan, x[:, 0])))
    assert Contingency(bins=4).measure(holes, emptied).value == pytest.approx(0.1)
    with pytest.raises(ParameterError, match="contingency: order must be"):
        Contingency(order=4)


def test_quantiles_by_hand():
    # 0, 1, 2, 3, 4 doubled: the median moves by 2, s = sqrt(2.5).
    found = Quantiles(probabilities=(0.5,)).measure(np.arange(5.0), 2 * np.arange(5.0))
    assert found.value == pytest.approx(2 / np.sqrt(2.5))
    assert "'x0'" in Quantiles().measure(np.ones(5), np.zeros(5)).reason
    assert Quantiles().measure(np.ones(5), np.ones(5)).value == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 5)), min_size=1, max_size=30))
def test_gini_equals_its_definition(people):
    # Half the mean absolute difference over the mean, a weight standing for so many equal people.
    x = np.repeat([p[0] for p in people], [p[1] for p in people]).astype(float)
    found = gini(np.array([p[0] for p in people], dtype=float), np.array([p[1] for p in people], dtype=float))
    if x.sum() == 0:
        assert found is None
    else:
        expected = np.abs(x[:, None] - x[None]).mean() / 2 / x.mean()
        assert found == pytest.approx(expected, abs=1e-12)
        assert found == pytest.approx(gini(x), abs=1e-12)


def test_gini_measure():
    assert Gini().measure(np.array([0.0, 1]), np.array([1.0, 1])).value == pytest.approx(0.5)
    assert "Only the release has negative values" in Gini().measure(np.array([0.0, 1]), np.array([-1.0, 1])).reason
    assert "without negative values" in Gini().measure(np.array([-1.0, 1]), np.array([0.0, 1])).reason
    with pytest.raises(DataError, match="not continuous"):
        Gini(columns=("sex",)).measure(records(), records())


def test_subgroup_means_by_hand():
    # Wages 0, 2 | 4, 6: s = 2.582. Women's mean rises by 1, men's by 0; sizes 2 and 2.
    x = pd.DataFrame({"sex": list("ffmm"), "wage": [0.0, 2, 4, 6]})
    found = SubgroupMeans(smallest=2).measure(records(x), records(x.assign(wage=[1.0, 3, 4, 6])))
    assert found.value == pytest.approx(0.5 / np.std([0, 2, 4, 6], ddof=1))
    # Without men left, their mean is the overall released mean: 1 instead of 5.
    lost = SubgroupMeans(smallest=2).measure(records(x), records(x.iloc[:2]))
    assert lost.details["subgroups lost"] == 1
    assert lost.details["largest"] == pytest.approx(4 / np.std([0, 2, 4, 6], ddof=1))
    assert SubgroupMeans().measure(records(x), records(x)).value is None  # no subgroup of ten
