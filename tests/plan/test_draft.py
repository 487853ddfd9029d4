"""Guesses come with reasons, and the text they make is a plan."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal.plan import Plan
from shoal.plan.context import CONTEXTS
from shoal.plan.draft import plan_text
from shoal.plan.guess import guess
from shoal.plan.named import read_requirement
from shoal.table.check_digits import luhn
from shoal.table.files.table import Table


def test_roles_of_typical_columns() -> None:
    n = 60
    frame = pl.DataFrame(
        {
            "patient_id": [f"x{i}" for i in range(n)],
            "age": range(n),
            "zip": [f"0{i % 9}" for i in range(n)],
            "income": [i * 1.5 for i in range(n)],
            "sampling_weight": [1.0 + i for i in range(n)],
            "comment": [f"text {i}" for i in range(n)],
            "code": [i % 3 for i in range(n)],
        }
    )
    guesses = {g.name: (g.role, g.level) for g in guess(Table(frame=frame))}
    assert guesses == {
        "patient_id": ("identifier", "nominal"),
        "age": ("quasi-identifier", "continuous"),
        "zip": ("quasi-identifier", "nominal"),
        "income": ("quasi-identifier", "continuous"),  # everybody is alone with theirs
        "sampling_weight": ("weight", "continuous"),
        "comment": ("identifier", "nominal"),
        "code": ("quasi-identifier", "nominal"),
    }
    assert all(g.reason for g in guess(Table(frame=frame)))


def test_values_that_name_a_person_by_themselves_are_identifiers_whatever_the_column_is_called() -> None:
    """Neither seldom different, as addresses of machines are, nor numbers with many digits are measurements."""
    frame = pl.DataFrame(
        {
            "client": [f"192.168.0.{i % 20 + 10}" for i in range(60)],
            "paid with": [number for i in range(600) if luhn(str(number := 4_539_578_763_621_000 + i))],
            "visits": [i % 30 for i in range(60)],
        }
    )
    roles = {one.name: (one.role, one.reason) for one in guess(Table(frame=frame))}
    assert roles["client"] == ("identifier", "its values look like IP addresses; 20 different values in 60 records")
    assert roles["paid with"] == ("identifier", "its values look like numbers with a check digit (Luhn)")
    assert roles["visits"][0] == "quasi-identifier"


def test_measurements_alone_are_taken_for_quasi_identifiers() -> None:
    frame = pl.DataFrame({"turnover": [i * 1.5 for i in range(40)], "profit": [i / 3 for i in range(40)]})
    assert {g.role for g in guess(Table(frame=frame))} == {"quasi-identifier"}


def test_the_text_is_a_plan_even_for_awkward_names(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"no": [1, 2], "a b": ["x", "y"], 'quo"te': [1.0, 2.0], "# hash": [1, 2], "two\nlines": [1, 2]}
    )
    (tmp_path / "plan.yaml").write_text(plan_text(Table(frame=frame), "t.csv"))
    assert list(Plan.read(tmp_path / "plan.yaml").schema.columns) == frame.columns


def test_the_example_protected_by_its_guessed_plan(tmp_path: Path) -> None:
    table = shoal.example("hospital", n=200, seed=4)
    (tmp_path / "plan.yaml").write_text(plan_text(Table(frame=table), "hospital"))
    assert shoal.protect(table, tmp_path / "plan.yaml", seed=1).evidence.holds


def test_the_example_made_up_by_its_guessed_plan(tmp_path: Path) -> None:
    """What lacks cells, weighs or stands for households is drawn too, or left out: nothing of a person stays."""
    n = 150
    table = shoal.example("hospital", n=n, seed=4).drop("patient", "discharge", "room", "drugs", "procedures", "los")
    kept = table.columns
    table = table.with_columns(
        pl.when(pl.col("age") > 30).then("crp"), weight=np.linspace(1, 2, n), nothing=pl.lit(None, pl.Float64)
    )
    text = plan_text(Table(frame=table), "hospital", synthetic=True)
    (tmp_path / "plan.yaml").write_text(text)
    release = shoal.protect(table, tmp_path / "plan.yaml", seed=1)
    assert release.evidence.holds
    assert set(release.data.columns) == {*kept, "weight"} - {"household"}
    assert set(release.account.made_anew) == set(release.data.columns)
    assert 0 < release.data["crp"].null_count() < n
    assert "columns: [charge, haemoglobin, creatinine, glucose]}" in text  # no figure of columns that lack cells
    figures = {finding.measure for finding in release.evidence.findings if finding.value is not None}
    assert {"replicated-uniques", "attribute-inference", "k-marginal"} <= figures


def test_missing_values_are_left_to_the_person_with_the_choices() -> None:
    frame = pl.DataFrame({"age": [*range(29), None], "kind": ["f", None, "m"] * 10, "nothing": [None] * 30})
    reasons = {g.name: g for g in guess(Table(frame=frame))}
    assert reasons["age"].reason.endswith("missing values (1) are filled by the median")
    assert reasons["kind"].reason.endswith("missing values (10) are a category of their own")
    assert (reasons["nothing"].role, reasons["nothing"].reason) == ("other", "no value at all; leave the column out")
    assert "2 different values" in reasons["kind"].reason  # a missing value is none


def frames() -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(1)
    n = 200
    words = [f"word {i}" for i in range(40)]
    return {
        "categories": pl.DataFrame(
            {
                "sex": rng.choice(["f", "m"], n),
                "region": rng.choice(words, n),
                "job": [["a", "b", None][i % 3] for i in range(n)],
            }
        ),
        "codes": pl.DataFrame({name: rng.integers(1, 4, n) for name in ("sex", "urban", "educ")}),
        "many categories": pl.DataFrame({f"answer{i}": rng.integers(1, 4, n) for i in range(20)}),
        "measurements": pl.DataFrame({name: rng.normal(size=n) for name in ("turnover", "profit")}),
        "gaps": pl.DataFrame(
            {
                "age": [None if i % 9 == 0 else i % 60 for i in range(n)],
                "sex": ["f", None] * (n // 2),
                "pay": [None if i % 7 == 0 else 1.5 * i for i in range(n)],
            }
        ),
        "survey": pl.DataFrame(
            {
                "hhid": [i // 2 for i in range(n)],
                "hhid2": [i // 3 for i in range(n)],
                "stratum": ["north", "north", "south", "south"] * (n // 4),
                "weight": 1 + rng.random(n),
                "wgt": 2 + rng.random(n),
                "age": rng.integers(18, 90, n),
                "sex": rng.choice(["f", "m"], n),
                "income": rng.lognormal(8, 1, n),
            }
        ),
        "dates": pl.DataFrame({"birth": [date(1950, 1, 1) + timedelta(days=17 * i) for i in range(n)], "x": range(n)}),
        "constant": pl.DataFrame({"a": [1] * n, "b": range(n)}),
        "few records": pl.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", "f"]}),
    }


@pytest.mark.parametrize("name", frames())
def test_a_drafted_plan_runs_as_it_stands(name: str, tmp_path: Path) -> None:
    frame = frames()[name]
    (tmp_path / "plan.yaml").write_text(plan_text(Table(frame=frame), "table.csv"))
    plan = Plan.read(tmp_path / "plan.yaml")
    if name == "survey":  # whose weights single everybody out
        assert "# accept: [weight] # needed if it singles out" in (tmp_path / "plan.yaml").read_text()
        plan = replace(plan, accept=("weight",))
    release = shoal.protect(frame, plan, seed=1)
    assert release.evidence.holds
    assert len(release.data) == len(frame)
    release.write(tmp_path / "out")


def test_a_survey_has_one_weight_one_household_and_its_stratum() -> None:
    roles = {g.name: g.role for g in guess(Table(frame=frames()["survey"]))}
    assert (roles["weight"], roles["wgt"]) == ("weight", "identifier")  # of which every record has its own
    assert (roles["hhid"], roles["hhid2"]) == ("household", "identifier")
    assert roles["stratum"] == "stratum"


def test_a_stratum_that_divides_households_is_none() -> None:
    divided = frames()["survey"].with_columns(stratum=pl.Series(["north", "south"] * 100))
    assert next(g for g in guess(Table(frame=divided)) if g.name == "stratum").role == "other"


def test_codes_with_labels_are_categories() -> None:
    frame = pl.DataFrame({"region": range(50), "x": [i % 30 for i in range(50)]})
    labels = {"region": {i: f"region {i}" for i in range(50)}}
    guesses = {g.name: g for g in guess(Table(frame=frame, value_labels=labels))}
    assert guesses["region"].level == "nominal"
    assert "its codes have labels" in guesses["region"].reason
    assert guesses["x"].level == "continuous"


@pytest.mark.parametrize(
    ("source", "output"),
    [("a.sav", "sav"), ("a.zsav", "sav"), ("A.DTA", "dta"), ("a.csv.gz", "csv"), ("a.xls", "xlsx"), ("a.txt", "csv")],
)
def test_what_is_written_is_what_was_read(source: str, output: str) -> None:
    assert f"output: {{format: {output}}}" in plan_text(Table(frame=frames()["codes"]), source)


def test_categories_are_suppressed_and_measurements_averaged() -> None:
    texts = {name: plan_text(Table(frame=frame), "t.csv") for name, frame in frames().items()}
    assert "mask: suppress" in texts["categories"]
    assert "{mask: recode, columns: [region], rare: 10, other: other}" in texts["categories"]
    assert "partition: mdav" in texts["measurements"]
    assert "partition: mdav" in texts["many categories"]


def test_where_nothing_can_be_protected_the_plan_says_so() -> None:
    assert "Nothing here can be protected" in plan_text(Table(frame=pl.DataFrame({"age": [30]})), "t.csv")


def test_laws_are_told_in_a_drafted_plan() -> None:
    years = [1950 + i % 20 for i in range(60)]
    frame = pl.DataFrame({"id": range(60), "birth year": years, "age": [2024 - year for year in years]})
    text = plan_text(Table(frame=frame), "t.csv")
    assert "# 'birth year' gives 'age' back, by arithmetic, in 60 records (right in 94.0 to 100.0 %)" in text
    assert "'id' gives" not in text
    assert "gives" not in plan_text(Table(frame=frame), "t.csv", synthetic=True)


@pytest.mark.parametrize(("context", "synthetic"), crossed(CONTEXTS, [False, True]))
def test_a_draft_for_a_context_states_its_limits(context: str, synthetic: bool, tmp_path: Path) -> None:
    text = plan_text(Table(frame=frames()["many categories"]), "t.csv", synthetic=synthetic, context=context)
    (tmp_path / "plan.yaml").write_text(text)
    plan = Plan.read(tmp_path / "plan.yaml")
    assert plan.context == context
    assert (CONTEXTS[context].source in text) is not synthetic  # nobody but shoal limits records that are made up
    limits = CONTEXTS[context].limits(synthetic=synthetic)
    assert plan.requirements == tuple(map(read_requirement, limits))
    assert synthetic or plan.steps[0].method.k == CONTEXTS[context].k


def test_the_example_for_a_context_is_proved_or_refused_for_what_it_loses() -> None:
    """Of three people who differ in sixteen columns more is left than of eleven."""
    table = shoal.example("hospital", n=200, seed=4)
    release = shoal.protect(table, shoal.init(table, context="internal"), seed=1)
    assert "Limits usual for 'internal'" in release.account.context
    with pytest.raises(shoal.Refused, match=r"Information kept at least 0\.5 does not hold"):
        shoal.protect(table, shoal.init(table, context="public"), seed=1)


def test_suppression_for_a_context_keeps_its_limits(tmp_path: Path) -> None:
    text = plan_text(Table(frame=frames()["codes"]), "t.csv", context="public")
    assert "{mask: suppress, k: 11}" in text
    (tmp_path / "plan.yaml").write_text(text)
    assert shoal.protect(frames()["codes"], tmp_path / "plan.yaml", seed=1).evidence.holds


def test_where_nothing_can_be_protected_no_context_is_written() -> None:
    assert "for:" not in plan_text(Table(frame=pl.DataFrame({"age": [30]})), "t.csv", context="public")


def test_an_unknown_context_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match="Unknown context 'reserch'; did you mean 'research'"):
        shoal.init(frames()["codes"], context="reserch")
