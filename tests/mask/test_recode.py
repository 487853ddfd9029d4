from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, InputError
from shoal.vocabulary.facts import private_form


def recoded(column, spec="quasi-identifier", **parameters):
    micro = shoal.Microdata.of(pd.DataFrame({"c": column}), {"c": spec})
    change = shoal.Recode(**parameters).apply(micro.records, micro.records.quasi_identifiers, np.random.default_rng(0))
    return micro.rebuild(change.records).native["c"].tolist(), change


def test_cut_points_by_hand():
    got, change = recoded([5, 20, 39, 40, 99], cuts=[20, 40])
    assert got == ["< 20", "[20, 40)", "[20, 40)", ">= 40", ">= 40"]
    assert change.records["c"].level == "ordinal"
    assert recoded([5, 20, 39, 40, 99], cuts=[20, 40], to="mean")[0] == [5, 29.5, 29.5, 69.5, 69.5]


def test_width_hierarchy_groups_prefix():
    assert recoded([1, 9, 10, 25], width=10)[0] == ["< 10", "< 10", "[10, 20)", ">= 20"]
    tree = {"role": "quasi-identifier", "hierarchy": {"nested": {"fruit": ["apple", "pear"], "veg": ["leek"]}}}
    assert recoded(["apple", "leek", "pear"], tree, level=1)[0] == ["fruit", "veg", "fruit"]
    assert recoded(["apple", "leek", "pear"], tree, level=2)[0] == ["*"] * 3
    assert recoded(["a", "b", "c"], groups={"ab": ["a", "b"]})[0] == ["ab", "ab", "c"]
    assert recoded(["a", "b", "c"], groups={"ab": ["a", "b"]}, other="rest")[0] == ["ab", "ab", "rest"]
    assert recoded(["10115", "10117", "20095"], prefix=2)[0] == ["10***", "10***", "20***"]


def test_codes_are_named_by_number_or_by_label():
    """Two codes may have one label, and a label that is a category itself is that category."""
    labels = {"c": {1: "a", 2: "b", 3: "b", 4: "d", 9: "absent"}}
    spec = {"c": {"role": "quasi-identifier", "level": "nominal"}}
    micro = shoal.Microdata.of(pd.DataFrame({"c": [1, 2, 3, 4]}), spec, value_labels=labels)

    def recode(groups):
        change = shoal.Recode(groups=groups).apply(micro.records, ["c"], np.random.default_rng(0))
        absent = private_form(change.facts)["by column"]["c"].get("values named that no record has", 0)
        return micro.rebuild(change.records).native["c"].tolist(), absent

    assert recode({"x": ["b", 4]}) == (["1", "x", "x", "x"], 0)
    assert recode({"x": [1, "absent"], "y": ["nowhere"]}) == (["x", "2", "3", "4"], 2)
    with pytest.raises(InputError, match="by its code and by its label, in two groups"):
        recode({"x": ["b"], "y": [3]})
    with pytest.raises(InputError, match=r"as they stand in the table, or as their labels\."):
        recode({"x": ["nowhere", 9]})
    words = shoal.Microdata.of(pd.DataFrame({"c": ["b", "k"]}), spec, value_labels={"c": {"k": "b"}})
    change = shoal.Recode(groups={"x": ["b"]}).apply(words.records, ["c"], np.random.default_rng(0))
    assert words.rebuild(change.records).native["c"].tolist() == ["x", "k"]


def test_dates():
    days = [date(2024, 2, 29), date(2023, 12, 31), None]
    spec = {"role": "quasi-identifier", "missing": "keep"}
    frame = pd.DataFrame({"c": pd.array(days, dtype="date32[pyarrow]")})
    for period, first in {
        "year": date(2024, 1, 1),
        "quarter": date(2024, 1, 1),
        "month": date(2024, 2, 1),
        "week": date(2024, 2, 26),
        "day": date(2024, 2, 29),
    }.items():
        micro = shoal.Microdata.of(frame, {"c": spec})
        got = micro.rebuild(
            shoal.Recode(period=period)
            .apply(micro.records, micro.records.quasi_identifiers, np.random.default_rng(0))
            .records
        )
        assert got.native["c"].tolist()[0] == first
        assert pd.isna(got.native["c"].tolist()[2])
    times = pd.Series([datetime(2024, 5, 6, 7, 8), datetime(1969, 5, 6, 7, 8)])
    assert recoded(times, period="month")[0] == [pd.Timestamp(2024, 5, 1), pd.Timestamp(1969, 5, 1)]
    assert recoded(["2024-02-29", "2023-12-31"], period="quarter")[0] == ["2024-Q1", "2023-Q4"]


@given(
    values=st.lists(st.integers(0, 40), min_size=2, max_size=80),
    bins=st.integers(2, 6),
    spacing=st.sampled_from(["equal-width", "equal-count", "log"]),
)
def test_bins_keep_order_and_partition_the_values(values, bins, spacing):
    x = np.array(values, dtype=float) + 1
    micro = shoal.Microdata.of(pd.DataFrame({"c": x}), {"c": "quasi-identifier"})
    change = shoal.Recode(bins=bins, spacing=spacing).apply(
        micro.records, micro.records.quasi_identifiers, np.random.default_rng(0)
    )
    codes = change.records["c"].values
    assert 1 <= codes.max() + 1 <= bins
    assert (np.diff(codes[np.argsort(x, kind="stable")]) >= 0).all()
    assert change.records["c"].categories == tuple(dict.fromkeys(change.records["c"].categories))


def test_equal_counts_are_equal():
    codes = recoded(np.arange(100.0), bins=4, spacing="equal-count")[1].records["c"].values
    assert np.bincount(codes).tolist() == [25, 25, 25, 25]


@given(counts=st.lists(st.integers(1, 8), min_size=2, max_size=7), least=st.integers(2, 6))
def test_no_rare_category_is_left(counts, least):
    column = [f"c{i}" for i, m in enumerate(counts) for _ in range(m)]
    got, _ = recoded(column, rare=least)
    sizes = pd.Series(got).value_counts()
    assert (sizes >= least).all() or len(sizes) == 1
    if min(counts) >= least:
        assert got == column


def test_the_extremes_are_not_told():
    got, change = recoded([1.2345, 7.0, 99.8765], bins=3)
    assert not any("1.2345" in label or "99.8765" in label for label in got)
    assert change.details["by column"]["c"]["cut points"] == [34.1, 67.0]


def test_zeros_have_an_interval_of_their_own_among_logarithms():
    """Of 3 intervals one ends at 1, below the 2 that is the smallest; sqrt(2 * 200) cuts the others."""
    got, change = recoded([0, 0, 2, 5, 21, 200], bins=3, spacing="log")
    assert got == ["< 1", "< 1", "[1, 20)", "[1, 20)", ">= 20", ">= 20"]
    assert change.details["by column"]["c"]["cut points"] == [1.0, 20.0]
    assert recoded([2, 5, 21, 200], bins=2, spacing="log")[0] == ["< 20", "< 20", ">= 20", ">= 20"]
    assert recoded([0, 0.03], bins=2, spacing="log")[1].details["by column"]["c"]["cut points"] == [0.01]


def test_bad_input_refused():
    with pytest.raises(InputError, match=r"recode needs exactly one of cuts, bins, .* got none"):
        shoal.Recode()
    with pytest.raises(InputError, match="got cuts, level"):
        shoal.Recode(cuts=[1], level=1)
    with pytest.raises(InputError, match="ascending order"):
        shoal.Recode(cuts=[2, 1])
    with pytest.raises(InputError, match="values below 0"):
        recoded([-1.0, 1.0], bins=2, spacing="log")
    with pytest.raises(InputError, match="Column 'c' is nominal; recode needs columns that are continuous"):
        recoded(["a", "b"], cuts=[1])
    with pytest.raises(InputError, match="Column 'c' holds no dates"):
        recoded([1.0, 2.0], period="year")
    with pytest.raises(InputError, match="Column 'c' holds dates or times; recode them with period"):
        recoded(pd.Series([datetime(2024, 5, 6)]), bins=3)
    with pytest.raises(InputError, match="has no hierarchy"):
        recoded(["a", "b"], level=1)
    with pytest.raises(InputError, match="groups name 1 value, and column 'c' has none of them"):
        recoded(["a", "b"], groups={"x": ["z"]})
    with pytest.raises(InputError, match="has a category that is no ISO date"):
        recoded(["a", "b"], period="year")


def test_a_width_that_cuts_the_range_too_often_is_refused():
    records = Records.from_array(np.array([0.0, 5.0, 15e6]), names=["income"])
    with pytest.raises(DataError, match="would cut the range of 'income' more than 10,000 times"):
        shoal.Recode(width=1).apply(records, ["income"], np.random.default_rng(0))


def test_a_named_category_may_be_absent_and_is_counted():
    got, change = recoded(["a", "b", "c"], groups={"ab": ["a", "b", "z"], "yx": ["y", "x"]})
    assert got == ["ab", "ab", "c"]
    assert private_form(change.facts)["by column"]["c"]["values named that no record has"] == 3
    complete = private_form(recoded(["a", "b"], groups={"ab": ["a"]})[1].facts)["by column"]["c"]
    assert complete == {"values named that no record has": 0, "categories before": 2, "categories after": 2}
