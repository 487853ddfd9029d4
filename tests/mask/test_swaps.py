from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import shoal
from shoal.errors import InputError


def people(seed=0, n=300):
    g = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": g.choice(list("xyz"), n, p=[0.6, 0.3, 0.1]),
            "b": g.integers(0, 3, n).astype(str),
            "c": g.integers(0, 4, n).astype(str),
            "d": g.choice(list("pq"), n),
        }
    )


def table(frame, columns, **roles):
    spec = {name: {"role": roles.get(name, "quasi-identifier")} for name in frame}
    return shoal.Microdata.of(frame, spec), columns


def run(method, frame, columns, seed=0, **roles):
    micro, columns = table(frame, columns, **roles)
    change = method.apply(micro.records, columns, np.random.default_rng(seed))
    return micro.rebuild(change.records).native, change.facts


def counts(frame, names):
    return Counter(map(tuple, frame[list(names)].to_numpy().tolist()))


@given(seed=st.integers(0, 999), share=st.sampled_from([0.1, 0.5, 1.0]))
def test_low_order_counts_are_kept(seed, share):
    before = people(seed)
    after, facts = run(shoal.DataSwap(share=share, within=("c",)), before, ["a", "b"], seed)
    for names in (["a"], ["b"], ["a", "b"], ["a", "c"], ["a", "b", "c"], ["c", "d"]):
        assert counts(after, names) == counts(before, names)
    assert (after[["c", "d"]] == before[["c", "d"]]).all(axis=None)
    changed = int((after[["a", "b"]] != before[["a", "b"]]).any(axis=1).sum())
    assert facts["records changed"] == changed
    assert changed >= 0.8 * share * len(before) - 12


def test_swapping_stays_inside_strata():
    before = people(3)
    after, _ = run(shoal.DataSwap(share=1), before, ["a"], d="stratum")
    assert counts(after, ["a", "d"]) == counts(before, ["a", "d"])


def households(seed=0, n=150):
    g = np.random.default_rng(seed)
    size = g.integers(1, 4, n)
    region = g.integers(0, 3, n)
    town = region * 2 + g.integers(0, 2, n)
    h = np.repeat(np.arange(n), size)
    return pd.DataFrame(
        {
            "hid": h,
            "region": region[h].astype(str),
            "town": town[h].astype(str),
            "sex": g.choice(list("fm"), len(h)),
            "job": g.choice(list("abcdefgh"), len(h)),
        }
    )


@given(seed=st.integers(0, 99), share=st.sampled_from([0.0, 0.3]))
def test_targeted_swapping_keeps_counts_and_moves_households_at_risk(seed, share):
    before = households(seed)
    method = shoal.TargetedSwap(similar=("sex",), k=3, share=share)
    after, facts = run(method, before, ["region", "town"], seed, hid="household")
    assert (after[["hid", "sex", "job"]] == before[["hid", "sex", "job"]]).all(axis=None)
    assert after.groupby("hid")["town"].nunique().max() == 1

    def profile(frame):
        grouped = frame.sort_values(["hid", "sex"]).groupby("hid")
        return Counter(zip(grouped["town"].first(), grouped["region"].first(), grouped["sex"].agg("".join)))

    assert profile(before) == profile(after)
    moved = after.groupby("hid")["town"].first() != before.groupby("hid")["town"].first()
    assert facts["swapped"] == moved.sum() >= share * len(moved) - 2
    rare = before.groupby(["region", "sex", "job"])["hid"].transform("size") < 3
    at_risk = before[rare]["hid"].unique()
    still = [h for h in at_risk if not moved[h]]
    assert len(still) <= facts["at risk without a partner"]
    assert facts["at risk"] >= len(at_risk)


def test_swapped_far_enough_to_leave_the_area():
    """A record unique in its region leaves the region, not only the town."""
    frame = pd.DataFrame({"region": ["n", "n", "s", "s"], "town": list("1234"), "job": ["a", "b", "b", "b"]})
    after, facts = run(shoal.TargetedSwap(k=2, share=0), frame, ["region", "town"])
    assert after["region"][0] == "s" and facts["at risk"] == 4


@given(seed=st.integers(0, 999))
def test_shuffling_keeps_values_and_rank_correlations(seed):
    g = np.random.default_rng(seed)
    s = g.normal(size=600)
    x = np.exp(0.8 * s + 0.6 * g.normal(size=600))
    y = np.round(x + g.normal(size=600), 1)
    frame = pd.DataFrame({"x": x, "y": y, "s": s})
    after, _ = run(shoal.Shuffle(given=("s",)), frame, ["x", "y"], seed)
    for name in ("x", "y"):
        assert sorted(after[name]) == sorted(frame[name])
    assert (after["s"] == frame["s"]).all() and (after["x"] != frame["x"]).mean() > 0.9
    before_r, after_r = (spearmanr(f.to_numpy()).statistic for f in (frame, after))
    assert np.abs(before_r - after_r).max() < 0.12


def test_shuffled_values_tell_nothing_beyond_what_is_given():
    g = np.random.default_rng(1)
    frame = pd.DataFrame({"x": g.normal(size=4000), "s": g.normal(size=4000)})
    after, _ = run(shoal.Shuffle(given=("s",)), frame, ["x"])
    assert abs(spearmanr(frame["x"], after["x"]).statistic) < 0.05
    independent, _ = run(shoal.Shuffle(), frame, ["x"])
    assert abs(spearmanr(frame["x"], independent["x"]).statistic) < 0.05


def test_bad_input_refused():
    with pytest.raises(InputError, match="within names 'a', which is one of the columns to swap"):
        run(shoal.DataSwap(share=0.5, within=("a",)), people(), ["a"])
    with pytest.raises(InputError, match="given names 'c'"):
        run(shoal.Shuffle(given=("c",)), people(), ["c"])
    with pytest.raises(InputError, match="Column 'a' is nominal"):
        run(shoal.Shuffle(), people(), ["a"])
    with pytest.raises(InputError, match="all members of a household must have the same geography"):
        run(
            shoal.TargetedSwap(),
            households().assign(town="1").pipe(lambda f: f.assign(region=np.arange(len(f)).astype(str))),
            ["region", "town"],
            hid="household",
        )
