"""Plans that are tried against one another suit the columns and differ in kind."""

from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.plan import Plan
from shoal.plan.linked import LinkedPlan
from shoal.studio.candidates import MANY_KEYS, proposed, proposed_for_tables

TREE = {"paths": [[f"{area}{i}", area, "*"] for area in "ab" for i in range(3)]}
COLUMNS = {
    "town": {"role": "quasi-identifier", "level": "nominal", "hierarchy": TREE},
    "sex": {"role": "quasi-identifier"},
    "age": "quasi-identifier",
    "income": "confidential",
}
LEVELS = {"town": "nominal", "sex": "nominal", "age": "continuous", "income": "continuous"}


def plan(columns=COLUMNS, k: int = 5) -> Plan:
    return Plan.of({"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": k}]}, Path())


def test_they_differ_in_method_recoding_limit_and_k() -> None:
    tried = proposed(plan(k=3), LEVELS)["method"]
    assert tried["groups"] == [{"partition": "mdav", "k": [3, 6]}]
    assert tried["blanks"] == [{"mask": "suppress", "k": [3, 6]}]
    assert tried["bands then blanks"][0]["columns"] == ["age"]
    assert tried["coarser levels"][1]["columns"] == ["town"]
    assert len(tried["coarser levels"][1]["suppression"]) > 1


def test_nothing_is_proposed_without_what_others_may_know() -> None:
    assert proposed(Plan.of({"columns": {"income": "confidential"}}, Path()), LEVELS) == {}


def test_many_keys_are_not_blanked() -> None:
    keys = {f"key{i}": {"role": "quasi-identifier", "level": "nominal"} for i in range(MANY_KEYS + 1)}
    assert list(proposed(plan(keys), {})["method"]) == ["groups"]


def test_they_are_tried_and_total_loss_is_never_recommended(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "town": rng.choice([path[0] for path in TREE["paths"]], 300),
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.integers(20, 80, 300),
            "income": rng.normal(3000, 500, 300).round(),
        }
    )
    explored = Plan.of({**plan().as_mapping(), "explore": proposed(plan(), LEVELS)}, Path())
    frontier = shoal.explore(frame, explored, tmp_path)
    assert len(frontier.points) == 9
    assert all(point.holds and point.utility is not None for point in frontier.points), frontier.points
    best = next(point for point in frontier.points if point.name == frontier.recommended)
    assert best.utility > 0.3


def test_linked_tables_get_profiles_of_all_records_or_of_a_few() -> None:
    columns = {"sex": "quasi-identifier"}
    tables = {"people": {"key": "id", "columns": columns}, "visits": {"parent": "people", "columns": columns}}
    k4 = {"privacy": "k-anonymity", "unit": "person", "k": 4}
    tried = proposed_for_tables(LinkedPlan.of({"tables": tables, "requirements": [k4]}))
    assert tried["method"]["profiles"] == [{"mask": "profiles", "k": [4, 8]}]
    few = tried["method"]["few records, then profiles"]
    assert few == [{"table": "visits", "mask": "truncate-records", "most": 2}, *tried["method"]["profiles"]]
    secret = {name: {**of, "columns": {"sex": "confidential"}} for name, of in tables.items()}
    assert proposed_for_tables(LinkedPlan.of({"tables": secret})) == {}
