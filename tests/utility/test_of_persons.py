"""Utility by person: numbers of records, gaps and transitions, each beside a count by hand."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.judges.evidence import Finding
from shoal.table.microdata import Microdata
from shoal.table.records import Records

ROLES = {
    "p": {"role": "person", "missing": "keep"},
    "day": {"role": "other", "level": "continuous", "missing": "keep"},
    "ward": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"},
}
TYPES = {"p": pl.Int64, "day": pl.Int64, "ward": pl.String}
Row = tuple[int | None, int | None, str | None]
TABLES = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.integers(0, 6)), st.sampled_from("abc")),
    min_size=1,
    max_size=14,
)


def records(rows: list[Row]) -> Records:
    return Microdata.of(pl.DataFrame(rows, schema=TYPES, orient="row"), ROLES).encoded


def measured(method: Any, before: list[Row], after: list[Row]) -> Finding:
    finding = method.measure(records(before), records(after))
    assert isinstance(finding, Finding)
    return finding


def sequences(rows: list[Row]) -> list[list[Row]]:
    """Each person's records in order of day, then ward."""
    people: dict[int, list[Row]] = {}
    for row in rows:
        if row[0] is not None:
            people.setdefault(row[0], []).append(row)
    return [sorted((r for r in own if r[1] is not None), key=lambda r: (r[1], r[2])) for own in people.values()]


def shares(things: list[Any]) -> dict[Any, Fraction]:
    return {thing: Fraction(count, len(things)) for thing, count in Counter(things).items()}


def total_variation(first: list[Any], second: list[Any]) -> float | None:
    if not first or not second:
        return None
    p, q = shares(first), shares(second)
    return float(sum(abs(p.get(thing, 0) - q.get(thing, 0)) for thing in {*p, *q}) / 2)


@given(before=TABLES, after=TABLES)
def test_numbers_of_records_by_hand(before: list[Row], after: list[Row]) -> None:
    counts = [list(Counter(p for p, _, _ in rows if p is not None).values()) for rows in (before, after)]
    assert measured(shoal.RecordsPerPerson(), before, after).value == pytest.approx(total_variation(*counts))


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


def test_a_plan_measures_each_table_by_person() -> None:
    stays = pl.DataFrame({"p": [1, 1, 2, 2, 3, 3] * 4, "day": range(24), "ward": ["a", "b"] * 12})
    stays = stays.with_columns(p=pl.col("p") + 3 * (pl.int_range(24) // 6))
    measures = [{"utility": "records-per-person"}, {"utility": "transitions", "column": "ward", "order": "day"}]
    plan = {
        "tables": {
            "people": {"key": "p", "columns": {"sex": {"role": "quasi-identifier", "level": "nominal"}}},
            "stays": {"parent": "people", "columns": {"day": "other", "ward": ROLES["ward"]}, "measures": measures,
                      "steps": [{"mask": "truncate-records", "most": 1}], "accept": ["day"]},
        },
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "suppress_persons": 1.0,
    }  # fmt: skip
    people = pl.DataFrame({"p": range(1, 13), "sex": ["f"] * 12})
    release = shoal.protect({"people": people, "stays": stays}, plan, seed=1)
    findings = {f.measure: f for f in release.tables["stays"].evidence.findings}
    assert findings["records-per-person"].value == 1
    assert findings["transitions"].value is None
