"""Records that break rules: by hand, and what may be said of them outside."""

import polars as pl
import pytest

import shoal
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

ROLES = {"age": "quasi-identifier", "marital": {"role": "quasi-identifier", "missing": "keep"}}
FRAME = pl.DataFrame({"age": [3.0, 30.0, 9.0, 70.0], "marital": ["never", "married", "married", None]})
TABLE = Microdata.of(FRAME, ROLES).records
RULES = ["age < 15 -> marital == 'never'", "age <= 60"]


def test_by_hand():
    finding = shoal.Inconsistencies(rules=RULES).measure(TABLE, TABLE)
    assert (
        finding.value == 2 / 4
    )  # a married child, and someone of 70 whose marital status is missing and breaks nothing
    assert finding.details["by rule"] == {RULES[0]: 1, RULES[1]: 1}
    assert finding.by_record["broken rules"].tolist() == [0, 0, 1, 1]
    young = Microdata.of(FRAME.with_columns(age=pl.lit(20.0)), ROLES).records
    fewer = shoal.Inconsistencies(rules=RULES).measure(TABLE, young)
    assert fewer.value == 0
    assert fewer.details["by rule, in the original"] == {RULES[0]: 1, RULES[1]: 1}


def test_only_what_tells_of_the_release_alone_is_public():
    public = shoal.Inconsistencies(rules=RULES).measure(TABLE, TABLE).public_form()
    assert public["value"] == 2 / 4
    assert public["facts"] == {"records that break a rule": 2}


def test_rules_that_do_not_fit_the_table():
    absent = shoal.Inconsistencies(rules=["pension >= 0"]).measure(TABLE, TABLE)
    assert absent.value is None
    assert "pension" in absent.reason


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match=r"inconsistencies: rules must be .* position 4: expected a comparison"):
        shoal.Inconsistencies(rules=["age"])
    with pytest.raises(ParameterError, match="rules must be a list that is not empty"):
        shoal.Inconsistencies(rules=[])


def test_rules_that_fit_the_release_and_not_the_original():
    """What was a number became labels: the rule can be counted in the release, and in the original it cannot."""
    ages = Microdata.finished(FRAME.with_columns(age=pl.lit("old")), Microdata.of(FRAME, ROLES).schema).encoded
    finding = shoal.Inconsistencies(rules=["age == 'old'"]).measure(TABLE, ages)
    alone = shoal.Inconsistencies(rules=["age == 'old'"]).measure(ages, ages)
    assert finding.value == 0
    assert "by rule, in the original" not in finding.details and "by rule, in the original" in alone.details
    assert finding.public_form() == alone.public_form()


def test_no_rule_stands_in_a_title_and_two_sets_of_rules_are_two_measures():
    first, second = shoal.Inconsistencies(rules=RULES), shoal.Inconsistencies(rules=["age <= 71.25"])
    assert first.heading == second.heading == first.title
    assert not first.same_as(second) and second.same_as(shoal.Inconsistencies(rules=["age <= 71.25"]))
    plan = {
        "columns": ROLES,
        "requirements": [
            {"utility": "inconsistencies", "rules": r, "at most": 1} for r in (RULES[1:], ["age <= 71.25"])
        ],
    }
    evidence = shoal.assess(FRAME, plan, seed=1)
    counted = [f.value for f in evidence.findings if f.measure == "inconsistencies"]
    assert counted == [1 / 4, 0]
    assert not any("71.25" in str(verdict.public_form()) for verdict in evidence.verdicts)
