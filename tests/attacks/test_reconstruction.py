"""Attackers who solve published figures for what a release hides, as equations and as intervals.

Each of the first four is known to work on exact figures: a dropped record from sums before and after, coded tails from
changes of mean and variance, suppressed cells from counts before less counts after, the last value under differential
privacy from a mean without noise. The private evidence shows that they work; from the public folder they must get
nothing. The last attacker knows everything but one hidden value, tries all candidates for it, and keeps those with
which the whole public folder would be what it is: it solves whatever equations there are.
"""

import itertools
import json
import math
from collections import Counter
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night, only_by_night
from shoal.release.evidence_file import public_evidence
from shoal.vocabulary.registry import registered

N = 60
SEED = 5
MEASURES = [
    {e.kind: e.name}
    for kind in ("risk", "utility")
    for e in registered(kind)
    if not any(default is MISSING for default in e.parameters.values())
]


def people() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "region": ["island", *rng.choice(["north", "south"], N - 1)],
            "income": np.round(rng.lognormal(3, 1, N), 2),
            "illness": rng.choice(["a", "b", "c"], N),
        }
    )


ROLES: dict[str, Any] = {
    "region": {"role": "quasi-identifier", "level": "nominal"},
    "income": "confidential",
    "illness": "confidential",
}


def published(
    table: pl.DataFrame, folder: Path, **sections: Any
) -> tuple[pl.DataFrame, dict[str, Any], dict[str, Any]]:
    """The released table, and what the public and the private evidence say."""
    plan = {"columns": ROLES, "measures": MEASURES, **sections}
    out = shoal.protect(table, plan, seed=SEED).write(folder / "out", unproved=True)
    evidence = [json.loads((out / name / "evidence.json").read_text()) for name in ("release", "private")]
    return shoal.read(out / "release" / "data.csv"), evidence[0], evidence[1]


def change(content: dict[str, Any], column: str, of: str) -> float | None:
    """The relative change of a moment of a column, where the evidence tells it exactly."""
    for measure in content["measures"]:
        if measure["measure"] == "univariate-change" and (measure["by_column"] or {}).get(column):
            value = measure["by_column"][column].get(of)
            return value if isinstance(value, float) else None
    return None


def records_before(content: dict[str, Any], after: int) -> int | None:
    """How many records the original had, from the count or the share of those left out."""
    facts = {key: text for step in content["steps"] for key, text in step["facts"].items()}
    if (dropped := facts.get("records dropped", "")).isdigit():
        return after + int(dropped)
    share = facts.get("share", "")
    return round(after / (1 - float(share))) if share.replace(".", "").isdigit() else None


def moments_before(content: dict[str, Any], released: pl.DataFrame) -> tuple[float, float] | None:
    """Mean and variance of the original incomes, from those released and their changes."""
    moved, spread = change(content, "income", "mean"), change(content, "income", "variance")
    if moved is None or spread is None:
        return None
    income = released["income"].to_numpy()
    variance = float(income.var(ddof=1)) / (1 + spread)
    return float(income.mean()) - moved * math.sqrt(variance), variance


def dropped_value(content: dict[str, Any], released: pl.DataFrame) -> float | None:
    """The value of the one record that was dropped: the sum before less the sum after."""
    before, n = moments_before(content, released), records_before(content, len(released))
    return None if before is None or n is None else n * before[0] - float(released["income"].sum())


def coded_tail(content: dict[str, Any], released: pl.DataFrame, bound: float) -> tuple[float, float] | None:
    """The two values above a top code, from the sum and the sum of squares before."""
    before = moments_before(content, released)
    if before is None:
        return None
    mean, variance = before
    known = released["income"].filter(released["income"] < bound).to_numpy()
    total = N * mean - float(known.sum())
    squares = variance * (N - 1) + N * mean**2 - float((known**2).sum())
    root = math.sqrt(max(2 * squares - total**2, 0.0))
    return (total - root) / 2, (total + root) / 2


def suppressed_cells(content: dict[str, Any], released: pl.DataFrame, column: str) -> Counter[str] | None:
    """The multiset of the cells that were suppressed: counts before less counts after."""
    shown = next(c["distribution"] for c in content["columns"] if c["name"] == column)
    before = {b["category"]: round(b["share"] * N) for b in shown["bins"] if b["table"] == "original"}
    if not before:
        return None
    after = Counter(released[column].drop_nulls().to_list())
    return Counter({name: count - after[name] for name, count in before.items() if count > after[name]})


def last_value(content: dict[str, Any], released: pl.DataFrame, others: float) -> float | None:
    """The value that an attacker lacks who knows all others: the mean before has no noise."""
    before = moments_before(content, released)
    return None if before is None else N * before[0] - others


def test_a_dropped_record_is_not_rebuilt(tmp_path: Path) -> None:
    table = people()
    released, public, private = published(table, tmp_path, steps=[{"mask": "suppress-records", "k": 3, "limit": 0.5}])
    assert len(released) == N - 1
    assert dropped_value(private, released) == pytest.approx(table["income"][0], rel=1e-2)
    assert dropped_value(public, released) is None
    assert records_before(public, len(released)) is None


def test_coded_tails_are_not_solved_for(tmp_path: Path) -> None:
    table = people()
    bound = sorted(table["income"])[-3] + 0.5
    step = {"mask": "top-code", "columns": ["income"], "value": bound}
    released, public, private = published(table, tmp_path, steps=[step])
    solved = coded_tail(private, released, bound)
    assert solved is not None
    assert solved == pytest.approx(sorted(table["income"])[-2:], rel=1e-2)
    assert coded_tail(public, released, bound) is None


def test_suppressed_cells_are_not_counted_out(tmp_path: Path) -> None:
    table = people().with_columns(region=pl.Series(["island", "cape", *["north", "south"] * 29]))
    released, public, private = published(table, tmp_path, steps=[{"mask": "suppress", "k": 2, "columns": ["region"]}])
    truth = Counter(table["region"].to_list()) - Counter(released["region"].drop_nulls().to_list())
    assert suppressed_cells(private, released, "region") == truth
    assert suppressed_cells(public, released, "region") is None


def test_the_last_value_under_differential_privacy_stays_noisy(tmp_path: Path) -> None:
    table = people()
    step = {"mask": "laplace", "columns": ["income"], "epsilon": 0.1, "bounds": {"income": [0, 1000]}}
    released, public, private = published(table, tmp_path, steps=[step])
    others = float(table["income"][:-1].sum())
    assert last_value(private, released, others) == pytest.approx(table["income"][-1], rel=1e-2)
    assert last_value(public, released, others) is None


def test_under_differential_privacy_no_figure_depends_on_the_original(tmp_path: Path) -> None:
    step = {"mask": "laplace", "columns": ["income"], "epsilon": 0.1, "bounds": {"income": [0, 1000]}}
    _, public, _ = published(people(), tmp_path, steps=[step])
    assert public["of the original"].startswith("Figures that depend on the original are left out")
    assert '"at most":' not in json.dumps([public["measures"], public["steps"], public["requirements"]])
    assert all(measure["original"] is None for measure in public["measures"])


INCOMES = [1.0, 4.0, 61.0, 90000.0, *[2.5, 12.0, 13.5, 30.0, 45.0, 70.0, 500.0][: by_night(0, 7)]]
STEPS: dict[str, tuple[dict[str, Any], str, int, list[Any]]] = {
    "suppress-records": ({"mask": "suppress-records", "k": 3, "limit": 0.5}, "income", 0, INCOMES),
    "top-code": ({"mask": "top-code", "columns": ["income"], "value": 60.5}, "income", 7, INCOMES),
    "bottom-code": ({"mask": "bottom-code", "columns": ["income"], "value": 4.5}, "income", 7, INCOMES),
    "recode": ({"mask": "recode", "columns": ["income"], "cuts": [10, 20, 50]}, "income", 7, INCOMES),
    "suppress": ({"mask": "suppress", "k": 3, "columns": ["region"]}, "region", 0, ["island", "cape", "hill"]),
    "median": (
        {"partition": "whole", "columns": ["income"], "replace": {"method": "centroid", "continuous": "median"}},
        "income",
        7,
        INCOMES,
    ),
}
"""Steps that hide a value, the cell that the attacker is after, and what it may be."""


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=[only_by_night] * (step == "bottom-code")) for step in STEPS]
)
def test_who_tries_all_candidates_learns_what_the_table_tells(step: str) -> None:
    """Candidates that give the same released table must give the same public evidence."""
    table, (made, name, row, candidates) = people(), STEPS[step]
    evidence: dict[str, set[str]] = {}
    for value in candidates:
        cells = table[name].to_list()
        cells[row] = value
        plan = {"columns": ROLES, "steps": [made], "measures": MEASURES}
        release = shoal.protect(table.with_columns(pl.Series(name, cells)), plan, seed=SEED)
        said = json.dumps(public_evidence(release, files={}))
        evidence.setdefault(release.data.write_csv(), set()).add(said)
    assert len(evidence) < len(candidates), "the step hides nothing of these candidates"
    assert all(len(said) == 1 for said in evidence.values())


def numbers(value: Any) -> list[float]:
    """Every number in the evidence, also inside texts."""
    if isinstance(value, dict):
        return list(itertools.chain.from_iterable(numbers(v) for v in value.values()))
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(map(numbers, value)))
    if isinstance(value, str):
        return [float(word) for word in value.replace(",", " ").split() if word.replace(".", "", 1).isdigit()]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def test_no_number_is_the_number_of_records_before(tmp_path: Path) -> None:
    table = people()[:53]  # a number that nothing else is
    _, public, private = published(table, tmp_path, steps=[{"mask": "suppress-records", "k": 3, "limit": 0.5}])
    assert 53 in numbers(private["measures"])
    assert 53 not in numbers({key: part for key, part in public.items() if key not in ("versions", "columns")})
