from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from mask.swapped import households, run
from shoal.vocabulary.errors import InputError


@settings(max_examples=by_night(12, 150))
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


def test_a_household_lives_in_one_place():
    apart = households().assign(town="1").pipe(lambda f: f.assign(region=np.arange(len(f)).astype(str)))
    with pytest.raises(InputError, match="all members of a household must have the same geography"):
        run(shoal.TargetedSwap(), apart, ["region", "town"], hid="household")
