"""Gaps between the records of a person, beside a count by hand; and reasons without a figure."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

import shoal
from naive.sequences import TABLES, Row, measured, sequences


@given(before=TABLES, after=TABLES)
def test_gaps_by_hand(before: list[Row], after: list[Row]) -> None:
    gaps = [
        [second[1] - first[1] for own in sequences(rows) for first, second in pairwise(own)]  # type: ignore[operator] # days
        for rows in (before, after)
    ]
    value = measured(shoal.Gaps(order="day"), before, after).value
    if not all(gaps):
        assert value is None
        return
    below = [[sum(g <= x for g in some) / len(some) for x in range(-1, 8)] for some in gaps]
    assert value == pytest.approx(max(abs(p - q) for p, q in zip(*below)))


def test_the_same_table_has_lost_nothing_and_a_shift_leaves_gaps() -> None:
    rows: list[Row] = [(1, 1, "a"), (1, 4, "b"), (2, 2, "a"), (2, 3, "b"), (3, 5, "c")]
    shifted: list[Row] = [(p, None if day is None else day + 10 * (p or 0), ward) for p, day, ward in rows]
    for method in (shoal.RecordsPerPerson(), shoal.Gaps(order="day"), shoal.Transitions(column="ward", order="day")):
        assert measured(method, rows, rows).value == 0
        assert measured(method, rows, shifted).value == 0
    turned: list[Row] = [(1, 4, "a"), (1, 1, "b"), (2, 2, "a"), (2, 3, "b"), (3, 5, "c")]
    assert measured(shoal.Transitions(column="ward", order="day"), rows, turned).value == 0.5
    assert measured(shoal.Gaps(order="day"), rows, turned).value == 0


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (shoal.Gaps(order="hour"), "The table has no column 'hour', so the order of records is not known"),
        (shoal.Gaps(order="ward"), "Column 'ward' is nominal and has no order"),
        (shoal.Transitions(column="day", order="day"), "Column 'day' holds no categories in one of the tables"),
        (shoal.Transitions(column="ward", order="day"), "No person has two records in one of the tables"),
        (shoal.Gaps(order="day"), "No person has two records in one of the tables"),
    ],
)
def test_reasons_without_a_figure(method: Any, reason: str) -> None:
    rows: list[Row] = [(1, 1, "a"), (2, 4, "b")]
    finding = measured(method, rows, rows)
    assert finding.value is None
    assert reason in finding.reason
