import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError


def table(n=60):
    g = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "region": g.choice(["n", "s", "w"], n),
            "hid": np.arange(n) // 3,
            "x": g.normal(size=n),
            "y": g.integers(0, 5, n),
            "w": np.ones(n),
        }
    )


ROLES = {
    "name": "identifier",
    "region": "stratum",
    "hid": "household",
    "x": "quasi-identifier",
    "y": "quasi-identifier",
    "w": "weight",
}


def records(roles=None, n=60):
    return shoal.Microdata.of(table(n), {**ROLES, **(roles or {})}).records


@given(seed=st.integers(0, 10**6), together=st.booleans())
def test_permutation_keeps_distributions_inside_strata(seed, together):
    before = records()
    after = (
        shoal.Permute(together=together).apply(before, before.quasi_identifiers, np.random.default_rng(seed)).records
    )
    for s in range(int(before.strata.max()) + 1):
        inside = before.strata == s
        pairs = [sorted(zip(r["x"].values[inside], r["y"].values[inside])) for r in (before, after)]
        assert sorted(x for x, _ in pairs[0]) == sorted(x for x, _ in pairs[1])
        assert sorted(y for _, y in pairs[0]) == sorted(y for _, y in pairs[1])
        if together:
            assert pairs[0] == pairs[1]
    assert before["name"] is after["name"]


@given(fraction=st.floats(0.1, 1.0), seed=st.integers(0, 99))
def test_sample_keeps_proportions_and_weighted_totals(fraction, seed):
    before = records({"hid": "other"})
    after = shoal.Sample(fraction=fraction).apply(before, before.quasi_identifiers, np.random.default_rng(seed)).records
    assert len(after) == max(1, round(fraction * len(before)))
    assert (np.diff(after.rows) > 0).all()
    if len(after) >= 3:
        assert after.weights.sum() == pytest.approx(len(before))
        sizes, kept = np.bincount(before.strata), np.bincount(after.strata)
        assert (np.abs(kept - sizes * len(after) / len(before)) <= 1 + 1e-9).all()


def test_households_are_kept_or_left_out_whole():
    before = records({"region": "other"})
    after = shoal.Sample(size=7).apply(before, before.quasi_identifiers, np.random.default_rng(0)).records
    assert len(after) == 21 and (np.bincount(after.households) == 3).all()


def test_identifiers_leave_the_table():
    micro = shoal.Microdata.of(table(), ROLES)
    change = shoal.RemoveIdentifiers().apply(micro.records, micro.records.quasi_identifiers, np.random.default_rng(0))
    assert list(micro.rebuild(change.records).native.columns) == ["region", "hid", "x", "y", "w"]
    assert change.facts == {"columns removed": ["name"]}


def test_bad_input_refused():
    with pytest.raises(InputError, match="exactly one"):
        shoal.Sample()
    with pytest.raises(InputError, match="exactly one"):
        shoal.Sample(fraction=0.5, size=3)
    with pytest.raises(InputError, match=r"size must be at most 20, the number of units; got 61\."):
        shoal.Sample(size=61).apply(data := records(), data.quasi_identifiers, np.random.default_rng(0))
