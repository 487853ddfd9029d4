"""Records of persons one after another, counted by hand; and what a measure says of them."""

from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl
from hypothesis import strategies as st

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
