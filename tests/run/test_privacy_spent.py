"""A plan whose noise does not bound all that its release tells is refused, and the public folder tells no more."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal.release.evidence_file import public_evidence
from shoal.vocabulary.errors import PlanError

N = 60
LAPLACE = {"mask": "laplace", "epsilon": 1, "columns": ["pay"], "bounds": {"pay": [0, 100]}}
ON_AGE = {"mask": "geometric", "epsilon": 1, "columns": ["age"], "bounds": {"age": [0, 120]}}
ROLES: dict[str, Any] = {"age": "quasi-identifier", "pay": "confidential", "tax": "confidential"}
RULE = "tax <= pay"


def people() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    pay = rng.uniform(10, 90, N).round(1)
    return pl.DataFrame({"age": rng.integers(20, 80, N), "pay": pay, "tax": (pay / 3).round(1)})


def protect(steps: list[dict[str, Any]], table: pl.DataFrame | None = None, **sections: Any) -> shoal.Release:
    plan = {"columns": ROLES, "steps": steps, **sections}
    return shoal.protect(people() if table is None else table, plan, seed=1)


@pytest.mark.parametrize(
    "before",
    [
        {"mask": "rank-swap", "columns": ["pay"], "p": 0.1},
        {"partition": "mdav", "columns": ["pay"], "k": 3, "replace": "centroid"},
        {"partition": "mdav", "columns": ["age"], "by": ["pay"], "k": 3, "replace": "centroid"},
        {"mask": "shuffle", "columns": ["age"], "given": ["pay"]},
    ],
    ids=["swapped", "averaged", "grouped by", "given"],
)
def test_a_step_that_may_have_looked_at_the_cells_must_come_later(before: dict[str, Any]) -> None:
    name = before.get("mask") or "mdav \\+ centroid"
    with pytest.raises(PlanError, match=f"^laplace: the step {name} comes before it.* Let laplace come first"):
        protect([before, LAPLACE])
    assert len(protect([LAPLACE, before]).data) == N


def test_other_private_noise_may_come_before_but_not_on_the_same_cells() -> None:
    release = protect([ON_AGE, LAPLACE])
    assert release.record["steps"][-1]["epsilon of all steps"] == 2
    with pytest.raises(PlanError, match="an earlier step added its noise to 'pay'"):
        protect([LAPLACE, ON_AGE, LAPLACE])


def test_imputed_cells_are_refused_for_one_cell_would_stand_behind_many() -> None:
    table = people().with_columns(pay=pl.Series([None, *people()["pay"].to_list()[1:]]))
    for policy, refused in (("impute", True), ("drop", False)):
        columns = {**ROLES, "pay": {"role": "confidential", "missing": policy}}
        if refused:
            with pytest.raises(PlanError, match="missing cells of 'pay' are imputed from other records"):
                protect([LAPLACE], table, columns=columns)
        else:
            assert len(protect([LAPLACE], table, columns=columns).data) == N - 1


def test_persons_count_alike_in_all_steps() -> None:
    with pytest.raises(PlanError, match="must be the same in all steps that add private noise"):
        protect([ON_AGE, {**LAPLACE, "records_per_person": 2}])
    assert protect([{**ON_AGE, "records_per_person": 2}, {**LAPLACE, "records_per_person": 2}])


def test_a_repair_before_the_noise_is_refused_where_it_reads_the_cells() -> None:
    constraints = {"rules": [RULE], "broken_rules": "repair"}
    with pytest.raises(PlanError, match="would let the cells of 'pay' move others before laplace"):
        protect([LAPLACE], constraints=constraints)
    assert protect([ON_AGE], constraints=constraints)
    assert protect([LAPLACE], constraints={"rules": [RULE]})


def test_a_requirement_that_looks_at_the_original_is_not_paid_for() -> None:
    asked = {"privacy": "probabilistic-k-anonymity", "k": 2, "known": ["age"]}
    with pytest.raises(PlanError, match="whether it holds is not paid for by laplace"):
        protect([LAPLACE], requirements=[asked])


BEYOND = [
    [LAPLACE],
    [LAPLACE, {"mask": "noise", "variance": 0.1, "columns": ["pay"]}],
    [LAPLACE, {"partition": "mdav", "k": 5, "columns": ["age"], "by": ["age", "pay"], "replace": "centroid"}],
    [LAPLACE, {"partition": "whole", "columns": ["pay"], "replace": "normal"}],
    [LAPLACE, {"mask": "top-code", "columns": ["pay"], "value": 50}],
    [LAPLACE, {"mask": "suppress-records", "k": 2, "limit": 1.0, "columns": ["age"]}],
]
"""Plans of which two tables, whose incomes all lie beyond the bounds, give the same release."""


@pytest.mark.parametrize(("steps", "rules"), crossed(BEYOND, [[], [RULE]]))
def test_nothing_else_in_the_folder_depends_on_cells_with_noise(
    steps: list[dict[str, Any]], rules: list[str], tmp_path: Path
) -> None:
    """All incomes differ, beyond the bounds where they count as the bound: the release and all beside it are equal."""
    rng = np.random.default_rng(5)
    incomes = [np.full(N, 150.0), rng.uniform(100, 1e6, N).round(1)]
    label = {"role": "confidential", "label": "150 or another"}
    folders = []
    for number, pay in enumerate(incomes):
        release = protect(
            steps,
            people().with_columns(pay=pl.Series(pay)),
            columns={**ROLES, "pay": label},
            constraints={"rules": rules, "broken_rules": "report"},
            measures=[{"utility": "il1s"}, {"utility": "univariate-change"}, {"risk": "interval-disclosure"}],
        )
        out = release.write(tmp_path / str(number), unproved=True) / "release"
        folders.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert folders[0] == folders[1]


def test_where_noise_is_bought_no_figure_and_no_name_of_one_depends_on_the_original() -> None:
    """Without noise the same figures stand there in bands."""
    measures = [{"utility": "univariate-change"}, {"utility": "il1s"}]
    kept = {}
    for steps in ([LAPLACE], [{"mask": "noise", "variance": 0.01, "columns": ["pay"]}]):
        table = pl.concat([people()] * 20)
        content = public_evidence(protect(steps, table, measures=measures), files={})
        kept[steps[0]["mask"]] = json.dumps(content["measures"]).count("at most")
    assert kept["laplace"] == 0
    assert kept["noise"] > 0
