"""Uniques of the original that are uniques of the release."""

import shoal
from risk.test_unique_exact_matches import ORIGINAL, RELEASED, table


def test_by_hand():
    # Unique originals: (m, 1), (m, 2), (f, 3). Only (m, 1) is unique in the release too: one for five original records.
    replicated = shoal.ReplicatedUniques().measure(table(ORIGINAL), table(RELEASED))
    assert replicated.value == 1 / 5
    assert replicated.details["uniques of the release"] == 3
    assert replicated.record_risk.tolist() == [1, 0, 0, 0, 0]


def test_a_copy_replicates_every_unique():
    original = table(ORIGINAL)
    assert shoal.ReplicatedUniques().measure(original, original).value == 3 / 5
