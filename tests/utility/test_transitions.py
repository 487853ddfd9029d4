"""Transitions between the records of a person, beside a count by hand."""

from itertools import pairwise

import pytest
from hypothesis import given

import shoal
from naive.sequences import TABLES, Row, measured, sequences, total_variation


@given(before=TABLES, after=TABLES)
def test_transitions_by_hand(before: list[Row], after: list[Row]) -> None:
    moves = [[(a[2], b[2]) for own in sequences(rows) for a, b in pairwise(own)] for rows in (before, after)]
    finding = measured(shoal.Transitions(column="ward", order="day"), before, after)
    if finding.value is None:
        assert not all(moves)
        return
    ordered = {
        (day, p): [r[2] for own in sequences(rows) for r in own if (r[1], r[0]) == (day, p)]
        for rows in (before, after)
        for p in range(4)
        for day in range(7)
    }
    if all(len(wards) < 2 for wards in ordered.values()):
        assert finding.value == pytest.approx(total_variation(*moves))
