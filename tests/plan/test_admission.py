"""Plans that are refused before a record is read, by everything that carries plans out."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import cli
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.studio.plans import reading
from shoal.vocabulary.errors import PlanError

ALL = ["age", "pay", "ill"]
COLUMNS = {"age": "quasi-identifier", "pay": "quasi-identifier", "ill": "confidential"}
TREES = {"partition": "whole", "replace": "cart", "columns": ALL}
HYBRID = {"method": "muralidhar-sarathy", "alpha": 0.5}
TREES_OF_KEYS = {**TREES, "columns": ALL[:2]}


def people(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, n)
    pay = np.round(1000 + 20 * age + rng.normal(0, 100, n), 2)
    return pl.DataFrame({"age": age, "pay": pay, "ill": rng.choice(["a", "b"], n)})


def plan(*steps: Any, columns: dict[str, str] | None = None, **sections: Any) -> dict[str, Any]:
    return {"columns": columns or COLUMNS, "steps": list(steps), "output": {"copies": 2}, **sections}


def admitted(*steps: Any, columns: dict[str, str] | None = None) -> None:
    admit(Plan.of(plan(*steps, columns=columns)))


REFUSED = {
    "nothing is done": ([], "'age', 'pay', 'ill'"),
    "suppression": ([{"mask": "suppress", "k": 5}], "'age', 'pay', 'ill'"),
    "a sample": ([{"mask": "sample", "fraction": 0.5}], "'age', 'pay', 'ill'"),
    "noise": ([{"mask": "noise", "variance": 0.1}], "'age', 'pay', 'ill'"),
    "a column stays": ([{"partition": "whole", "replace": "cart"}], "'ill'"),
    "groups": ([{**TREES, "partition": "mdav", "k": 50, "by": ["age"]}], "'age', 'pay', 'ill'"),
    "whole records dealt out": ([{**TREES, "replace": "permutation"}], "'age', 'pay', 'ill'"),
    "small leaves": ([{**TREES, "replace": {"method": "cart", "min_leaf": 9}}], "'age', 'pay', 'ill'"),
    "a share of one's own": ([{**TREES_OF_KEYS, "replace": HYBRID}], "'age', 'pay', 'ill'"),
    "drawn from cells that go later": (
        [{**TREES, "columns": ALL[1:], "replace": {"method": "cart", "given": ["age"]}}, {**TREES, "columns": ["age"]}],
        "'pay', 'ill'",
    ),
    "drawn from whatever stays": (
        [{**TREES, "columns": ["pay"], "replace": "ipso"}, {**TREES, "columns": ["age", "ill"]}],
        "'pay'",
    ),
    "masked while others stay": (
        [TREES_OF_KEYS, {"mask": "shuffle", "columns": ["pay"], "given": ["age"]}, {**TREES, "columns": ["ill"]}],
        "'pay'",
    ),
}


@pytest.mark.parametrize(("steps", "left"), REFUSED.values(), ids=REFUSED)
def test_copies_that_share_something_are_refused_before_a_record_is_read(
    steps: list[Any], left: str, tmp_path: Path
) -> None:
    asked = plan(*steps)
    with pytest.raises(PlanError, match=f"^output: copies must be 1, for {left} would not be made anew") as refused:
        shoal.protect(object(), asked)  # which is no table, and nobody looked
    assert [place for place, _ in refused.value.mistakes] == [("output", "copies")]
    with pytest.raises(PlanError, match="copies must be 1"):
        shoal.assess(object(), asked)
    with pytest.raises(PlanError, match="copies must be 1"):
        shoal.protect(tmp_path / "absent.parquet", asked, tmp_path / "out")
    assert not list(tmp_path.iterdir())


ADMITTED = {
    "all in one step": [TREES],
    "masks before and after": [
        {"mask": "noise", "columns": ["pay"], "variance": 0.1},
        TREES,
        {"mask": "suppress", "k": 3, "columns": ["age"]},
        {"partition": "mdav", "k": 3, "columns": ["pay"]},
    ],
    "drawn from what was drawn": [
        {**TREES, "columns": ["age"]},
        {**TREES, "columns": ALL[1:], "replace": {"method": "forest", "given": ["age"]}},
    ],
    "numbers by their moments": [{**TREES, "columns": ["ill"]}, {**TREES_OF_KEYS, "replace": "ipso"}],
    "numbers by their moments alone": [
        {**TREES_OF_KEYS, "replace": {"method": "ipso", "given": []}},
        {**TREES, "columns": ["ill"]},
    ],
    "regressions": [{**TREES, "replace": "sequential-regression"}],
    "latent classes": [{**TREES, "replace": "class-conditional"}],
}


@pytest.mark.parametrize("steps", ADMITTED.values(), ids=ADMITTED)
def test_copies_of_made_up_records_are_admitted(steps: list[Any]) -> None:
    admitted(*steps)


@pytest.mark.parametrize("role", ["household", "stratum"])
def test_copies_need_another_role_for_columns_that_no_step_makes_anew(role: str) -> None:
    columns = {**COLUMNS, "home": role}
    for names in (ALL, [*ALL, "home"]):
        with pytest.raises(PlanError, match=r"for 'home' would not be .*give 'home' another role, and"):
            admitted({**TREES, "columns": names}, columns=columns)
    admitted({**TREES, "columns": [*ALL, "home"]}, columns={**COLUMNS, "home": "other"})


def test_identifiers_hinder_copies_only_as_pseudonyms() -> None:
    columns = {**COLUMNS, "name": "identifier"}
    admitted(TREES, columns=columns)
    admitted({"mask": "remove-identifiers"}, TREES, columns=columns)
    with pytest.raises(PlanError, match="for 'name' would not be made anew"):
        admitted({"mask": "pseudonymise"}, TREES, columns=columns)


def test_columns_that_a_star_describes_are_looked_up_in_the_table() -> None:
    columns = {"age": "quasi-identifier", "pay": "quasi-identifier", "*": "other"}
    with pytest.raises(PlanError, match="for 'ill' would not be made anew"):
        shoal.protect(people(), plan(TREES_OF_KEYS, columns=columns))
    every = plan({"partition": "whole", "replace": "cart"}, columns={"*": "quasi-identifier"})
    assert len(shoal.protect(people(), every, seed=1).copies) == 2


def test_the_command_line_and_the_studio_refuse_before_they_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "columns: {a: quasi-identifier}\nsteps: [{mask: suppress, k: 5}]\noutput: {copies: 5}\n"
    (mistake,) = reading(text, tmp_path).mistakes
    assert (mistake.place, mistake.line) == (("output", "copies"), 3)
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(text)
    Path("t.parquet").write_bytes(b"no table")
    for option in ([], ["--dry-run"], ["--engine", "spark"]):
        monkeypatch.setattr("sys.argv", ["shoal", "protect", "t.parquet", "--plan", "plan.yaml", "--out", "o", *option])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        assert "copies must be 1" in capsys.readouterr().err
    assert not Path("o").exists()


def test_candidates_that_share_a_column_are_refused_and_others_tried(tmp_path: Path) -> None:
    tried = {"method": {"blanks": [{"mask": "suppress", "k": 5}], "drawn": [TREES]}, "risk": "replicated-uniques"}
    seen = shoal.explore(people(), plan(explore=tried), tmp_path)
    points = {point.name: point for point in seen.points}
    assert "copies must be 1" in points["blanks"].reason
    assert points["drawn"].risk is not None and seen.unprotected.risk is not None
