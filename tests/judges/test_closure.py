"""What a release gives away is filled in before it is judged, by every model and by risks that count classes."""

import numpy as np
import polars as pl
import pytest

import shoal
from published.reference import reference
from shoal.constraints import Constraints
from shoal.data.microdata import Microdata
from shoal.data.records import MissingCells
from shoal.errors import Refused
from shoal.judges.closure import closure
from shoal.judges.table_pair import TablePair

KEY = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}
ROLES = {"home": "household", "town": KEY, "sex": KEY}
HOMES = pl.DataFrame(
    {
        "home": [1, 1, 2, 2, 3, 3, 4, 4],
        "town": ["A", None, "A", "A", "B", None, "B", "B"],
        "sex": ["f", "m", "f", "f", "m", "m", "f", "f"],
    }
)
KEYS = ["urbrur", "roof", "walls", "sex", "age"]


def survey_plan(missing: MissingCells, rows: list[dict[str, object]]) -> dict[str, object]:
    columns: dict[str, object] = dict.fromkeys(
        ("water", "electcon", "relat", "hhcivil", "expend", "savings", "sampling_weight", "household_weights"), "other"
    )
    columns |= {"ori_hid": "household", "income": "confidential", **dict.fromkeys(KEYS, KEY)}
    return {
        "columns": columns,
        "steps": rows,
        "requirements": [{"privacy": "k-anonymity", "k": 5, "missing": missing}],
        "output": {"shuffle": False},
    }


def test_the_table_is_filled_in_and_says_from_what() -> None:
    closed = closure(Microdata.of(HOMES, ROLES).records)
    assert closed.filled == {"town": 2}
    assert closed.sentence == (
        "The release itself gives away 2 missing or generalised cells of 'town', by other records with the same 'home'."
    )
    assert closure(closed.records).filled == {}


def test_rules_and_households_are_applied_in_turn() -> None:
    """The rule tells one member's tax, the household the other's, and only then the rule the other's income."""
    number = {"role": "quasi-identifier", "missing": "keep"}
    frame = pl.DataFrame(
        {
            "home": [1, 1, 2, 2],
            "net": [5.0, 6.0, 1.0, 2.0],
            "tax": [None, None, 3.0, 3.0],
            "gross": [9.0, None, 4.0, 5.0],
        }
    )
    table = Microdata.of(frame, {"home": "household", "net": number, "tax": number, "gross": number}).records
    rules = Constraints.parse(["net + tax == gross"], table)
    closed = closure(table, rules.deduced)
    assert closed.records["tax"].values.tolist() == [4, 4, 3, 3]
    assert closed.records["gross"].values.tolist() == [9, 10, 4, 5]
    assert closed.by_rules
    assert closed.sentence.endswith("by other records with the same 'home' and the rules.")


def test_models_and_risks_are_judged_on_what_can_be_filled_in() -> None:
    table = Microdata.of(HOMES, ROLES)
    model = shoal.KAnonymity(k=2, missing="wildcard")
    pair = TablePair.of(None, table.records)
    assert model.judge(pair).holds  # as the cells stand
    verdict = model.check(table)
    assert (verdict.holds, verdict.achieved) == (False, 1)
    assert verdict.sentence.startswith("The release itself gives away 2 missing or generalised cells of 'town'")
    assert verdict.public_form()["facts"]["cells that the release gives away"] == {"town": 2}
    blanked = pl.DataFrame({**HOMES.to_dict(), "town": ["A", None] * 4})
    assert (
        shoal.SampleUniques()
        .finding_on(TablePair.of(None, Microdata.of(blanked, ROLES).records), np.random.default_rng(0))
        .value
        == 0.125
    )


def test_a_verdict_must_hold_on_the_open_cells_too() -> None:
    """Filled in, everyone shares a town; as released, one record alone lacks its town."""
    frame = pl.DataFrame({"home": [1, 1, 2, 2], "town": ["A", None, "A", "A"]})
    table = Microdata.of(frame, {"home": "household", "town": KEY})
    assert shoal.KAnonymity(k=2).judge(TablePair.of(None, table.records).closed).holds
    assert not shoal.KAnonymity(k=2).check(table).holds


def test_every_model_and_rules_of_the_plan() -> None:
    frame = pl.DataFrame({"a": [1.0, 1.0, 2.0, 2.0], "b": [None] * 4, "s": [3.0, 3.0, 5.0, 6.0]})
    number = {"role": "quasi-identifier", "missing": "keep"}
    plan = {
        "columns": {"a": number, "b": number, "s": {"role": "other"}},
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "constraints": ["a + b == s"],
    }
    evidence = shoal.audit(frame.with_columns(pl.col("b").cast(pl.Float64)), plan)
    assert not evidence.verdicts[0].holds
    assert "by the rules" in evidence.verdicts[0].sentence
    assert shoal.audit(frame.with_columns(pl.col("b").cast(pl.Float64)), {**plan, "constraints": []}).verdicts[0].holds


@pytest.mark.parametrize("missing", ["wildcard", "equal", "nothing"])
def test_suppression_by_household_of_a_survey(missing: MissingCells) -> None:
    """Suppressed record by record, the survey's members give each other away; by household they do not."""
    table = pl.read_csv(reference("testdata.csv"))
    keys = Microdata.of(table.select(KEYS), dict.fromkeys(KEYS, KEY))
    alone = shoal.Suppress(k=5, missing=missing).apply(keys.records, KEYS, np.random.default_rng(1)).records
    lone = table.with_columns(keys.rebuild(alone).native)
    plan = survey_plan(missing, [])
    evidence = shoal.audit(lone, plan)
    assert not evidence.verdicts[0].holds
    assert "'ori_hid'" in evidence.verdicts[0].sentence
    with pytest.raises(Refused, match="gives away"):
        shoal.protect(lone, plan, seed=1)

    step = {"mask": "suppress", "k": 5, "missing": missing}
    release = shoal.protect(table, survey_plan(missing, [step]), seed=1)
    assert release.evidence.holds
    assert shoal.audit(release.table.native, plan).holds
