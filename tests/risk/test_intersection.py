import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import shoal.risk.intersection as intersection
from shoal.risk.intersection import Intersection
from shoal.table.microdata import Microdata

ROLES = {"zip": "quasi-identifier", "illness": "confidential"}


def release(zips, illness):
    return Microdata.of(pd.DataFrame({"zip": zips, "illness": illness}), ROLES).records


ILLNESS = ["flu", "cold", "flu", "ulcer"]
FIRST = release(["a", "a", "b", "b"], ILLNESS)
SECOND = release(["p", "q", "q", "p"], ILLNESS)


def test_by_hand():
    # Both releases are 2-anonymous and 2-diverse. Person 0: {flu, cold} and {flu, ulcer} leave flu; person 1:
    # {flu, cold} and {cold, flu} leave both; person 2: {flu, ulcer}, {cold, flu} leave flu; person 3: {flu, ulcer}
    # twice leave both.
    finding = Intersection(others=(SECOND,)).measure(FIRST, FIRST)
    assert finding.value == 2 / 4
    assert finding.by_record["values left"].tolist() == [1, 2, 1, 2]
    assert finding.details["disclosed by this release alone"]["illness"] == 0


def test_the_same_release_twice_tells_nothing_new():
    assert Intersection(others=(FIRST,)).measure(FIRST, FIRST).value == 0


def test_rows_in_another_order():
    shuffled = SECOND.take(np.array([3, 1, 0, 2]))
    assert Intersection(others=(shuffled,)).measure(FIRST, FIRST).by_record["values left"].tolist() == [1, 2, 1, 2]


def test_values_that_were_masked_differently_share_nothing():
    finding = Intersection(others=(release(["p", "q", "q", "p"], ["x", "y", "z", "x"]),)).measure(FIRST, FIRST)
    assert finding.value == 0
    assert finding.details["no value left"]["illness"] == 1


@given(
    st.integers(1, 40), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.integers(0, 2**32)
)
def test_equals_sets(n, zips, values, releases, numbers, seed):
    rng = np.random.default_rng(seed)
    illness = rng.integers(0, values, n)
    illness = illness * 1.5 if numbers else illness.astype(str)
    places = [rng.integers(0, zips, n).astype(str) for _ in range(releases + 1)]
    tables = [release(place, illness) for place in places]
    saved, intersection.BLOCK = intersection.BLOCK, 7
    try:
        finding = Intersection(others=tuple(tables[1:])).measure(tables[0], tables[0])
    finally:
        intersection.BLOCK = saved
    left = [len(set.intersection(*(set(illness[place == place[i]]) for place in places))) for i in range(n)]
    assert finding.by_record["values left"].tolist() == left


def test_not_computable():
    assert "no other release" in Intersection().measure(FIRST, FIRST).reason
    assert "same people" in Intersection(others=(SECOND.take(np.arange(3)),)).measure(FIRST, FIRST).reason
    bare = FIRST.without(["illness"])
    assert "no confidential column" in Intersection(others=(SECOND,)).measure(bare, bare).reason
