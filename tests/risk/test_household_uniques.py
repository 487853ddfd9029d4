"""Households singled out by what is known of their members: by hand, and by comparing every two households."""

from collections import Counter
from itertools import combinations
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, ParameterError

ROLE = {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}


def table(homes, columns):
    frame = pl.DataFrame({"home": homes, **columns})
    return Microdata.of(frame, {"home": "household", **dict.fromkeys(columns, ROLE)}).records


HOMES = [1, 1, 2, 2, 3, 3, 4, 4, 4]
COLUMNS = {"sex": list("fmfmffffm"), "age": list("oyyoyyooy")}


def test_by_hand():
    # By size: the fourth household alone. By sex: {f, m}, {f, m}, {f, f}: the third. By age all couples differ but the
    # first two, {o, y} both: the third again, {y, y}. Sex and age: {fo, my} and {fy, mo}: the first two.
    records = table(HOMES, COLUMNS)
    finding = shoal.HouseholdUniques().measure(records, records)
    assert finding.value == 1
    assert finding.details["minimal sets by size"] == {"0": 1, "1": 2, "2": 2}
    assert finding.details["minimal sets by columns"] == {"sex + age": 2, "size": 1, "age": 1, "sex": 1}
    assert finding.by_record["score"].tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 2]
    fewer = shoal.HouseholdUniques(max_size=1).measure(records, records)
    assert fewer.value == 5 / 9
    assert fewer.record_risk.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_nobody_is_unique_and_the_household_is():
    """Every combination occurs in two households; only together they tell."""
    records = table([1, 1, 2, 2, 3, 3, 4, 4], {"age": list("abcdacbd")})
    assert shoal.SampleUniques().measure(records, records).value == 0
    assert shoal.HouseholdUniques().measure(records, records).value == 1


def test_a_household_that_lacks_a_cell():
    records = table([1, 1, 2, 2, 3, 3], {"age": ["a", "b", "a", "b", "a", None]})
    assert shoal.HouseholdUniques().measure(records, records).value == 1 / 3
    assert shoal.HouseholdUniques(missing="nothing").measure(records, records).value == 0


@given(st.integers(1, 24), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_equals_comparing_every_two(n, d, most, seed):
    rng = np.random.default_rng(seed)
    homes, codes = rng.integers(0, 8, n), rng.integers(0, 3, (n, d))
    records = table(homes, {f"c{j}": codes[:, j].astype(str) for j in range(d)})
    finding = shoal.HouseholdUniques(max_size=most).measure(records, records)
    score = dict.fromkeys(homes.tolist(), 0)
    for home in score:
        minimal = []
        for size in range(min(most, d) + 1):
            for chosen in combinations(range(d), size):
                members = {h: Counter(tuple(row) for row in codes[homes == h][:, list(chosen)].tolist()) for h in score}
                alone = all(members[h] != members[home] for h in score if h != home)
                if alone and not any(set(part) <= set(chosen) for part in minimal):
                    minimal.append(chosen)
        score[home] = sum(factorial(d - len(chosen)) for chosen in minimal)
    assert finding.by_record["score"].tolist() == [score[home] for home in homes.tolist()]


def test_what_has_no_figure_says_why():
    records = table(HOMES, COLUMNS)
    assert "role household" in shoal.HouseholdUniques().measure(records, records.without(["home"])).reason
    wide = table(HOMES, {f"c{j:02}": list("abcdefghi") for j in range(30)})
    assert "sets of up to 3 of 30 columns" in shoal.HouseholdUniques().measure(wide, wide).reason
    assert shoal.HouseholdUniques(columns=["c01", "c02"]).measure(wide, wide).value == 1
    with pytest.raises(DataError, match="no column 'pay'"):
        shoal.HouseholdUniques(columns=["pay"]).measure(records, records)
    with pytest.raises(ParameterError, match="household-uniques: max_size must be"):
        shoal.HouseholdUniques(max_size=5)
