"""What a person sees who works in an interactive session: short, and no cell of the data."""

import polars as pl
import pytest

import shoal

TABLE = pl.DataFrame({"age": [4242 + i for i in range(12)], "sex": ["kryptonian", "other"] * 6})
PLAN = {
    "columns": {"age": "quasi-identifier", "sex": "confidential"},
    "steps": [{"partition": "mdav", "k": 3}],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


def test_results_tell_what_they_are() -> None:
    release = shoal.protect(TABLE, PLAN, seed=1)
    lines = repr(release).splitlines()
    assert lines[0] == "Release of 12 records and 2 columns"
    assert lines[1].startswith("proved    3-anonymity: Every record shares")
    assert lines[2].startswith("measured  ")
    assert lines[-1].startswith("no figure ")
    assert repr(release.evidence).splitlines() == lines[1:]
    assert repr(release.partition) == "Partition of 12 records into 4 groups of 3 to 3"
    assert repr(release.table) == "Microdata of 12 records with the columns 'age', 'sex'"
    assert repr(shoal.Plan.of(PLAN)) == "Plan for 2 columns; steps: mdav + centroid; requires: k-anonymity"


def test_nothing_that_holds_records_shows_a_cell() -> None:
    release = shoal.protect(TABLE, PLAN, seed=1)
    records = shoal.Microdata.of(TABLE, PLAN["columns"]).records
    shown = "".join(map(repr, (release, records, records["age"], records["sex"], release.table, release.partition)))
    assert "42" not in shown
    assert "kryptonian" not in shown
    assert repr(records["sex"]) == "Variable 'sex' (confidential, nominal) of 12 records"


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'protct'; did you mean 'protect'\?"):
        shoal.protct  # noqa: B018
    assert not hasattr(shoal, "__wrapped__")
    assert {"protect", "MDAV", "KAnonymity", "__version__"} <= set(dir(shoal))
