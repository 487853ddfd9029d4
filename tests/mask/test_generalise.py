import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive.generalise import adult_like, best_loss, nested
from shoal.data.hierarchy import Hierarchy
from shoal.errors import InputError, Refused

PATHS = [nested(list("abcdef"), [2]), nested(list("uvwx"), [2]), nested(list("pq"), [])]


def micro(rows, paths=PATHS, stratum=None):
    frame = pd.DataFrame({f"c{j}": [row[j] for row in rows] for j in range(len(paths))})
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values()))} for j, p in enumerate(paths)
    }
    if stratum is not None:
        frame["s"], spec["s"] = stratum, {"role": "stratum"}
    return shoal.Microdata.of(frame, spec)


def run(table, **parameters):
    return shoal.Generalise(**parameters).apply(
        table.records, table.records.quasi_identifiers, np.random.default_rng(0)
    )


rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwx"), st.sampled_from("pq")), min_size=4, max_size=30
)


@given(rows=rows, k=st.integers(1, 4), limit=st.sampled_from([0.0, 0.1, 0.3]))
def test_the_optimum_equals_exhaustive_search(rows, k, limit):
    change = run(micro(rows), k=k, suppression=limit)
    assert change.facts["loss"] == pytest.approx(best_loss(rows, PATHS, k, limit), abs=1e-12)
    assert shoal.KAnonymity(k=k).check(change.records).holds
    assert change.facts["records dropped"] <= limit * len(rows)


@given(rows=rows, k=st.integers(1, 4), limit=st.sampled_from([0.0, 0.2]))
def test_local_recoding_reaches_k_and_loses_no_more(rows, k, limit):
    full, local = (run(micro(rows), k=k, suppression=limit, recoding=r) for r in ("full-domain", "local"))
    assert local.facts["loss"] <= full.facts["loss"] + 1e-12
    assert shoal.KAnonymity(k=k).check(local.records).holds
    for j in range(3):
        new = local.records[f"c{j}"]
        for row, code in zip(local.records.rows, new.values):
            assert new.categories[code] in PATHS[j][rows[row][j]]  # an ancestor of what stood there


def test_by_hand_the_cheaper_of_two_columns_goes_up():
    """Either column would do; level 1 costs 1/5 of a cell in c0 (6 leaves, pairs) and 1/3 in c1 (4 leaves)."""
    change = run(micro([("a", "u", "p"), ("b", "u", "p"), ("a", "v", "p"), ("b", "v", "p")]), k=2)
    assert change.facts["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    assert change.facts["loss"] == pytest.approx((1 / 5) / 3)


def test_by_hand_only_one_column_needs_to_go_up():
    table = micro([("a", "u", "p"), ("b", "u", "p"), ("c", "v", "q"), ("d", "v", "q")])
    change = run(table, k=2)
    assert change.facts["levels"] == {"c0": 1, "c1": 0, "c2": 0}
    assert change.facts["loss"] == pytest.approx((1 / 5) / 3)
    assert table.rebuild(change.records).native["c0"].tolist() == ["2:0", "2:0", "2:1", "2:1"]


def test_precision_counts_levels():
    table = micro([("a", "u", "p"), ("b", "u", "p")])
    assert run(table, k=2, loss="precision").facts["loss"] == pytest.approx((1 / 2) / 3)


def test_strata_stay_apart():
    rows = [("a", "u", "p"), ("b", "u", "p"), ("a", "u", "p"), ("f", "u", "p")]
    change = run(micro(rows, stratum=["n", "n", "s", "s"]), k=2)
    assert change.facts["levels"]["c0"] == 2  # a and f meet at the root only
    assert run(micro(rows, stratum=["n", "n", "s", "s"]), k=2, recoding="local").facts["loss"] < change.facts["loss"]


@pytest.mark.slow
def test_adult_like():
    frame, paths = adult_like(3000)
    table = micro(frame.to_numpy().tolist(), list(paths.values()))
    full = run(table, k=5, suppression=0.02)
    assert full.facts["nodes"] == 46_080 and full.facts["nodes looked at"] < 5000
    local = run(table, k=5, suppression=0.02, recoding="local")
    assert local.facts["loss"] < 0.7 * full.facts["loss"]
    for change in (full, local):
        assert shoal.KAnonymity(k=5).check(change.records).holds


def test_bad_input_refused():
    table = micro([("a", "u", "p"), ("f", "x", "q")])
    with pytest.raises(InputError, match="k must be at most 2, the number of records; got 3"):
        run(table, k=3)
    frame = pd.DataFrame({"c": ["a", "b"]})
    with pytest.raises(InputError, match="Column 'c' needs a hierarchy that holds all of its values"):
        run(shoal.Microdata.of(frame, {"c": "quasi-identifier"}), k=2)
    with pytest.raises(Refused, match="even the topmost levels leave more than 0 of the records in classes under 2"):
        run(micro([("a", "u", "p")] * 3, stratum=["n", "n", "s"]), k=2)
