import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from by_night import by_night
from shoal.partition.tcloseness_first import strata_needed, strata_of
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import Refused


def test_groups_that_no_exchange_helps_are_merged_also_in_a_large_table():
    """Of 20 illnesses ten patients have too few for t = 0.2, whoever they are."""
    rng = np.random.default_rng(1)
    n = by_night(2_000, 6_000)
    x, ill = rng.normal(size=(n, 2)), rng.choice(list("abcdefghijklmnopqrst"), n)
    part = shoal.TClosenessFirst(k=10, t=0.2).partition(x, confidential=ill)
    assert part.details["records exchanged"] > 0 and part.details["merges"] > 0
    assert part.k >= 10 and shoal.TCloseness(t=0.2).check(part.labels, confidential=ill).holds


@given(n=st.integers(1, 400), k=st.integers(1, 40), t=st.floats(0.001, 1))
def test_strata_of_algorithm_3(n, k, t):
    count = strata_needed(n, k, t)
    assert min(k, n) <= count <= n
    strata = strata_of(np.arange(n, dtype=np.int32)[None], count)
    sizes = np.bincount(strata, minlength=count)
    central = {(count - 1) // 2, count // 2}
    assert (np.diff(strata) >= 0).all()
    assert all(sizes[s] == n // count for s in range(count) if s not in central)
    extra = n % count
    assert extra <= n // count
    if count % 2:
        assert sizes[count // 2] == n // count + extra
    else:
        assert sizes[count // 2 - 1] - n // count == -(-extra // 2)


def test_a_stratum_unlike_the_table_is_refused_with_what_it_can_reach():
    frame = pl.DataFrame({"x": [1, 2, 3, 4], "region": ["n", "n", "s", "s"], "pay": [1, 2, 3, 4]})
    table = Microdata.of(frame, {"x": "quasi-identifier", "region": "stratum", "pay": "confidential"})
    # {1, 2} against {1, 2, 3, 4}: (1/4 + 1/2 + 1/4) / 3 = 1/3.
    with pytest.raises(Refused) as refusal:
        shoal.TClosenessFirst(k=1, t=0.3).partition(table)
    assert str(refusal.value) == (
        "tcloseness-first: no partition satisfies the requirement, since not even a whole stratum as one group "
        "does. The best that can be reached: t 0.333334. Relax the requirement."
    )
    assert shoal.TClosenessFirst(k=1, t=0.333334).partition(table).n_groups == 2


def test_categories_without_a_hierarchy_are_ranked_by_marginality():
    """Of 'a' 2, 'b' 5, 'c' 5, 'd' 1: another category have 11, 8, 8 and 12 of 13 records; ties as they are given."""
    ill = np.array(list("abbbbbcccccad"))
    frame = pl.DataFrame({"x": np.arange(13.0), "ill": ill})
    table = Microdata.of(frame, {"x": "quasi-identifier", "ill": "confidential"})
    ranks = shoal.TClosenessFirst(k=2, t=0.5).required(table.records).ranks()[0]
    assert dict(zip(ill.tolist(), ranks.tolist())) == {"b": 0, "c": 1, "a": 2, "d": 3}


def test_categories_with_a_hierarchy_are_ranked_as_its_leaves_lie():
    tree = {"nested": {"acute": ["c", "a"], "chronic": ["d", "b"]}}
    frame = pl.DataFrame({"x": np.arange(13.0), "ill": list("abbbbbcccccad")})
    table = Microdata.of(frame, {"x": "quasi-identifier", "ill": {"role": "confidential", "hierarchy": tree}})
    ranks = shoal.TClosenessFirst(k=2, t=0.5).required(table.records).ranks()[0]
    order = sorted(set(zip(ranks.tolist(), frame["ill"])))
    assert {category for _, category in order[:2]} in ({"a", "c"}, {"b", "d"})
