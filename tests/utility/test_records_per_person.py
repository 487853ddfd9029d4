"""Numbers of records of persons, beside a count by hand."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given

import shoal
from naive.sequences import ROLES, TABLES, Row, measured, total_variation


@given(before=TABLES, after=TABLES)
def test_numbers_of_records_by_hand(before: list[Row], after: list[Row]) -> None:
    counts = [list(Counter(p for p, _, _ in rows if p is not None).values()) for rows in (before, after)]
    assert measured(shoal.RecordsPerPerson(), before, after).value == pytest.approx(total_variation(*counts))


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
