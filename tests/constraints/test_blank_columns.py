"""A column of which a file shows no cell is judged as the numbers that the plan's rules count with."""

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.constraints.blank_columns import with_blank_numbers
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import ConstraintError


def records(**columns: list[object]) -> Records:
    frame = pl.DataFrame(columns, schema_overrides={"c": pl.String})
    return Microdata.finished(frame, dict.fromkeys(columns, "other")).encoded


def test_numbers_where_a_rule_counts_and_nowhere_else() -> None:
    table = records(a=[1, 2], b=[3, 4], c=[None, None])
    assert with_blank_numbers(table, ["a + b == c"])["c"].continuous
    assert not with_blank_numbers(table, [])["c"].continuous
    assert not with_blank_numbers(table, ["a >= 0", "a >= 2 -> c == 'x'"])["c"].continuous
    text = records(a=[1, 2], b=[3, 4], c=["x", None])
    assert with_blank_numbers(text, ["a + b == c"]) is text


def test_an_audit_of_a_file_whose_sums_were_all_blanked(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    pl.DataFrame({"a": [1, 2, 3], "b": [0, 0, 0], "c": [None] * 3}).write_csv(path)
    plan = {
        "columns": {"a": "other", "b": "other", "c": {"role": "quasi-identifier", "missing": "keep"}},
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    assert shoal.audit(path, plan).holds
    evidence = shoal.audit(path, {**plan, "constraints": ["a + b == c"]})
    assert [verdict.holds for verdict in evidence.verdicts] == [False, True]
    with pytest.raises(ConstraintError, match="'d'"):
        shoal.audit(path, {**plan, "constraints": ["a + b == d"]})
