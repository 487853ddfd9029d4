"""The key '*' describes all columns that are not named, and nothing else."""

from pathlib import Path

import polars as pl
import pytest

import shoal
import shoal.cli
from shoal.table.schema import Schema
from shoal.vocabulary.errors import PlanError, SchemaError

FRAME = pl.DataFrame({"name": list("abcdef"), "age": [30, 31, 32, 50, 51, 52], "pay": range(6), "note": range(6)})


def plan(others: object = "other", **named: str) -> dict[str, object]:
    return {
        "columns": {"age": "quasi-identifier", **named, "*": others},
        "steps": [{"partition": "mdav", "k": 3}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
        "output": {"shuffle": False},
    }


def test_columns_that_are_not_named_get_the_role() -> None:
    schema = Schema.of({"b": "confidential", "*": {"role": "other", "missing": "drop"}})
    assert list(schema.columns) == ["b"]
    covering = schema.covering(["a", "b", "c"])
    assert {name: column.role for name, column in covering.columns.items()} == {
        "b": "confidential",
        "a": "other",
        "c": "other",
    }
    assert covering.columns["a"].missing == "drop"
    assert covering.all_others is None
    assert Schema.of({"b": "other"}).covering(["a"]).columns.keys() == {"b"}


def test_a_release_with_a_default_role_is_that_with_all_roles() -> None:
    by_default = shoal.protect(FRAME, plan("confidential", name="identifier"), seed=1)
    columns = {"age": "quasi-identifier", "name": "identifier", "pay": "confidential", "note": "confidential"}
    one_by_one = shoal.protect(FRAME, {**plan(), "columns": columns}, seed=1)
    assert by_default.data.equals(one_by_one.data)
    assert by_default.record["plan"] == one_by_one.record["plan"]
    assert by_default.account.plan == one_by_one.account.plan


def test_what_is_not_named_can_be_taken_out() -> None:
    release = shoal.protect(FRAME, plan("identifier"), seed=1)
    assert release.data.columns == ["age"]
    assert release.account.not_released == ("name", "pay", "note")


def test_all_columns_can_be_quasi_identifiers() -> None:
    release = shoal.protect(
        FRAME.select("age", "pay"), {**plan("quasi-identifier"), "columns": {"*": "quasi-identifier"}}
    )
    assert release.data.n_unique() == 2


def test_an_audit_and_an_exposure_know_the_default_role() -> None:
    release = shoal.protect(FRAME, {**plan(name="identifier"), "accept": ["pay", "note"]}, seed=1)
    evidence = shoal.audit(release.data, plan(name="identifier"), original=FRAME)
    assert evidence.holds
    assert {f.measure for f in evidence.findings if f.value is not None} >= {"prosecutor", "il1s"}
    assert shoal.exposure(FRAME, plan(name="identifier")).keys == ("age",)
    assert not shoal.audit(release.data, plan("identifier")).holds  # columns that were to be taken out


def test_a_plan_with_a_default_role_is_kept_as_it_is() -> None:
    described = shoal.Plan.of(plan(name="identifier"))
    assert described.as_mapping()["columns"]["*"] == {"role": "other"}
    assert shoal.Plan.of(described.as_mapping()).schema == described.schema


@pytest.mark.parametrize("role", ["weight", "household", "stratum"])
def test_roles_of_one_column_are_no_default(role: str) -> None:
    with pytest.raises(PlanError, match=rf"column '\*' stands for all that are not named, .*; got '{role}'"):
        shoal.Plan.of(plan(role))


def test_a_named_column_must_be_there_and_a_step_names_only_named_ones() -> None:
    with pytest.raises(SchemaError, match="The table has no column 'agee'"):
        shoal.protect(FRAME, plan(agee="confidential"))
    with pytest.raises(PlanError, match="'note'"):
        shoal.Plan.of({**plan(), "steps": [{"mask": "noise", "columns": ["note"], "sd": 0.1}]})


def test_the_command_line_says_who_got_the_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("people.csv")
    Path("plan.yaml").write_text(shoal.Plan.of(plan(name="identifier")).as_yaml())
    monkeypatch.setattr("sys.argv", ["shoal", "protect", "people.csv", "--plan", "plan.yaml", "--out", "out"])
    with pytest.raises(SystemExit):
        shoal.cli.main()
    assert "shoal: note: The plan's '*' gives the role other to 'pay', 'note'.\n" in capsys.readouterr().err
