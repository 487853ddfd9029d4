"""Guesses come with reasons, and the text they make is a plan."""

from pathlib import Path

import polars as pl

import shoal
from shoal.plan import Plan
from shoal.plan.draft import guess, plan_text


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
    found = {g.name: (g.role, g.level) for g in guess(frame)}
    assert found == {
        "patient_id": ("identifier", "nominal"),
        "age": ("quasi-identifier", "continuous"),
        "zip": ("quasi-identifier", "nominal"),
        "income": ("confidential", "continuous"),
        "sampling_weight": ("weight", "continuous"),
        "comment": ("identifier", "nominal"),
        "code": ("quasi-identifier", "nominal"),
    }
    assert all(g.reason for g in guess(frame))


def test_measurements_alone_are_taken_for_quasi_identifiers() -> None:
    frame = pl.DataFrame({"turnover": [i * 1.5 for i in range(40)], "profit": [i / 3 for i in range(40)]})
    assert {g.role for g in guess(frame)} == {"quasi-identifier"}


def test_the_text_is_a_plan_even_for_awkward_names(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"no": [1, 2], "a b": ["x", "y"], 'quo"te': [1.0, 2.0], "# hash": [1, 2], "two\nlines": [1, 2]}
    )
    (tmp_path / "plan.yaml").write_text(plan_text(frame, "t.csv"))
    assert list(Plan.read(tmp_path / "plan.yaml").schema.columns) == frame.columns


def test_the_example_protected_by_its_guessed_plan(tmp_path: Path) -> None:
    table = shoal.example("hospital", n=200, seed=4)
    (tmp_path / "plan.yaml").write_text(plan_text(table, "hospital"))
    assert shoal.protect(table, tmp_path / "plan.yaml", seed=1).evidence.holds


def test_missing_values_are_left_to_the_person_with_the_choices() -> None:
    frame = pl.DataFrame({"age": [*range(29), None], "kind": ["f", None, "m"] * 10, "nothing": [None] * 30})
    reasons = {g.name: g for g in guess(frame)}
    assert reasons["age"].reason.endswith("1 missing value: say missing: drop, impute or keep")
    assert reasons["kind"].reason.endswith("10 missing values: say missing: drop, impute, category or keep")
    assert (reasons["nothing"].role, reasons["nothing"].reason) == ("other", "no value at all; leave the column out")
    assert "2 different values" in reasons["kind"].reason  # a missing value is none
