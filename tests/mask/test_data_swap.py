from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.swapped import people, run
from shoal.vocabulary.errors import InputError


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
    drawn = np.random.default_rng(seed).random(len(before)) < share
    assert facts["records drawn"] == drawn.sum()
    assert changed == sum(exchanged(group) for _, group in before[drawn].groupby("c"))


def exchanged(group):
    """Records of a class whose cells differ from their partner's, who stands half the class further on."""
    cells = sorted(zip(group["a"], group["b"]))
    return 2 * sum(x != y for x, y in zip(cells[: len(cells) // 2], cells[len(cells) // 2 :]))


def test_swapping_stays_inside_strata():
    before = people(3)
    after, _ = run(shoal.DataSwap(share=1), before, ["a"], d="stratum")
    assert counts(after, ["a", "d"]) == counts(before, ["a", "d"])


def test_columns_are_swapped_or_agreed_on_not_both():
    with pytest.raises(InputError, match="within names 'a', which is one of the columns to swap"):
        run(shoal.DataSwap(share=0.5, within=("a",)), people(), ["a"])
