"""A column that nobody is said to know may single records out: the private report alone counts them."""

import json
from pathlib import Path

import polars as pl

import shoal

FRAME = pl.DataFrame({"sex": ["f"] * 4 + ["m"] * 4, "area": list("aabcddee"), "room": [1] * 8})
PLAN = {
    "columns": {"sex": {"role": "quasi-identifier"}, "area": "other", "room": "other"},
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
}


def test_records_that_another_column_singles_out_are_counted_in_private(tmp_path: Path) -> None:
    """Of the women one lives in b and one in c; everybody else shares the area, and all the room."""
    release = shoal.protect(FRAME, PLAN, seed=1)
    assert release.account.singled_out == {"area": 2}
    out = release.write(tmp_path / "out")
    private = json.loads((out / "private" / "evidence.json").read_text())["private"]
    assert private["singled out"] == {"area": 2}
    assert (
        "finds so many records alone, which the promises above do not cover: area 2."
        in (out / "private" / "report.html").read_text()
    )
    assert "records alone" not in (out / "release" / "report.html").read_text()


def test_a_record_that_the_quasi_identifiers_single_out_is_not_counted() -> None:
    plan = {"columns": {**PLAN["columns"], "area": "quasi-identifier"}}
    assert shoal.protect(FRAME, plan, seed=1).account.singled_out == {}
