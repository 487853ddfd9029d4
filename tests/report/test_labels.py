"""What a file calls its columns stands in the reports, and a refusal says whose it is."""

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.release.refusal import NotProved
from shoal.table.files.table import Table
from shoal.vocabulary.errors import in_digits

FRAME = pl.DataFrame({"a": [1, 1, 2, 2] * 3, "b": list("xxyy") * 3})
PLAN = {
    "columns": {
        "a": {"role": "quasi-identifier", "level": "nominal"},
        "b": {"role": "quasi-identifier", "label": "of the plan"},
    },
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
    "release": {"title": "A survey", "owner": "The office", "date": "2026-01-31"},
}


def test_labels_of_a_file_stand_in_both_reports_where_the_plan_has_none(tmp_path: Path) -> None:
    """They are no more than codebook.json says anyway."""
    table = Table(frame=FRAME, labels={"a": "of the file", "b": "of the file too"})
    shoal.protect(table, PLAN, seed=1).write(tmp_path, labels=table)
    for folder in ("release", "private"):
        columns = json.loads((tmp_path / folder / "evidence.json").read_text())["columns"]
        assert {column["name"]: column["label"] for column in columns} == {"a": "of the file", "b": "of the plan"}
        assert "of the file" in (tmp_path / folder / "report.html").read_text()
    columns = json.loads((tmp_path / "release" / "codebook.json").read_text())["columns"]
    assert {column["name"]: column["label"] for column in columns} == {"a": "of the file", "b": "of the plan"}


def test_a_refusal_says_whose_it_is_and_of_when() -> None:
    with pytest.raises(NotProved) as refused:
        shoal.protect(FRAME, {**PLAN, "requirements": [{"privacy": "k-anonymity", "k": 7}]}, seed=1)
    page = refused.value.page()
    assert "owner: The office" in page and "date: 2026-01-31" in page


@pytest.mark.parametrize(
    ("value", "text"), [(9.94e-5, "0.0000994"), (12345.6, "12,350"), (0.25, "0.25"), (0, "0"), (3e-12, "3e-12")]
)
def test_numbers_for_people_have_no_powers_of_ten(value: float, text: str) -> None:
    assert in_digits(value) == text
