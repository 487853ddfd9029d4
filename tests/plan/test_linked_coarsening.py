"""A drafted plan for linked tables runs unchanged, is proved, and keeps more than keys."""

import copy
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.plan.guess import Guess
from shoal.plan.linked_coarsening import Rung, ladder
from shoal.plan.linked_draft import SUPPRESSED
from shoal.table.linked_examples import TABLES_PLAN


def insurer(n: int = 600, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Insured people, their contracts, the claims of each, and what was paid; many have several of each."""
    rng = np.random.default_rng(seed)
    contracts, claims, payments = 2 * n, 2 * n, 3 * n
    day = np.datetime64("2019-01-01")
    return {
        "insured": pl.DataFrame(
            {
                "number": [f"N{i:05}" for i in rng.permutation(n)],
                "gender": rng.choice(["female", "male"], n),
                "birth_date": (day - rng.integers(7_000, 30_000, n)).astype("datetime64[D]"),
                "postcode": [f"{a}{b:04}" for a, b in zip(rng.integers(1, 4, n), rng.integers(0, 9_999, n))],
                "income": np.round(np.exp(rng.normal(10, 0.6, n)), 2),
            }
        ),
        "contracts": pl.DataFrame(
            {"contract": range(1, contracts + 1), "kind": rng.choice(["car", "home", "life"], contracts)}
        ),
        "claims": pl.DataFrame(
            {
                "claim": [f"C{i:06}" for i in range(claims)],
                "contract": rng.integers(1, contracts + 1, claims),
                "reported": (day + rng.integers(0, 1_000, claims)).astype("datetime64[D]"),
                "amount": np.round(np.exp(rng.normal(6, 1, claims)), 2),
            }
        ),
        "payments": pl.DataFrame(
            {"claim": [f"C{i:06}" for i in rng.integers(0, claims, payments)], "share": rng.random(payments)}
        ),
    }


def joined() -> dict[str, pl.DataFrame]:
    tables = insurer()
    rng = np.random.default_rng(5)
    owner = tables["insured"]["number"].gather(rng.integers(0, 600, 1_200))
    return {**tables, "contracts": tables["contracts"].with_columns(number=owner)}


def profiles(tables: dict[str, pl.DataFrame], links: dict[str, tuple[str | None, str | None]], known: Any) -> list[Any]:
    """The profile of each person by loops over dictionaries; `links`: parent and column of the link, by table."""
    root = next(name for name, (parent, _) in links.items() if parent is None)
    keys = {name: next((link for parent, link in links.values() if parent == name), None) for name in links}

    def branch(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
        below = []
        for other, (parent, _) in links.items():
            if parent == name:
                rows = rows_by_link[other].get(row[keys[name]], [])
                below.append(tuple(sorted((branch(other, r) for r in rows), key=repr)))
        return (*(row[column] for column in known[name]), *below)

    rows_by_link: dict[str, dict[Any, list[dict[str, Any]]]] = {}
    for name, (_, link) in links.items():
        rows_by_link[name] = {}
        for row in tables[name].iter_rows(named=True):
            rows_by_link[name].setdefault(row[link] if link else None, []).append(row)
    return [branch(root, row) for row in tables[root].iter_rows(named=True)]


@pytest.mark.parametrize("which", ["hospital", "insurer"])
def test_a_guessed_plan_runs_unchanged_and_keeps_something(which: str, tmp_path: Path) -> None:
    given = shoal.example_tables(1_000) if which == "hospital" else joined()
    folder = tmp_path / which
    folder.mkdir()
    for name, table in given.items():
        table.write_csv(folder / f"{name}.csv")
    drafted = shoal.init(folder, tmp_path / "plan.yaml")
    text = (tmp_path / "plan.yaml").read_text()
    assert "% of the persons are left out, whose profile fewer than 5" in text
    for seed in (1, 2):
        release = shoal.protect(folder, tmp_path / "plan.yaml", seed=seed)
        assert release.evidence.holds
    released = release.to_frames()
    root = drafted.root
    people = len(given[root])
    assert len(released[root]) >= (1 - SUPPRESSED) * people
    links = {name: (key.parent, key.link) for name, key in drafted.keys.items()}
    known = {
        name: [c for c in plan.schema.names("quasi-identifier") if c in released[name].columns]
        for name, plan in drafted.tables.items()
    }
    by_person = profiles(released, links, known)
    counts = {profile: by_person.count(profile) for profile in set(by_person)}
    assert min(counts.values()) >= 5, "by hand"
    assert sum(map(len, known.values())) >= 3, "columns that tell something are left"
    assert len(counts) >= 10, "and people still differ"


def test_the_rungs_of_columns() -> None:
    def rungs(cells: list[Any], level: str = "nominal") -> list[Rung]:
        series = pl.Series("c", cells)
        return ladder(Guess(name="c", role="quasi-identifier", level=level, reason=""), series)

    days = [date(2020, 1, 1) + timedelta(days=n) for n in range(30)]
    out = Rung(left_out=True)
    assert [rung.step for rung in rungs(days, "continuous")] == [
        {"period": p} for p in ("month", "quarter", "year")
    ] + [None]
    assert [rung.step for rung in rungs(list(range(30)), "continuous")][:2] == [
        {"bins": 8, "spacing": "equal-count"},
        {"bins": 4, "spacing": "equal-count"},
    ]
    assert rungs(["10115", "10117", "20095"])[1:] == [*(Rung(step={"prefix": n}) for n in (4, 3, 2, 1)), out]
    assert rungs(["x", "y"]) == [Rung(), out]
    assert rungs(["x", "y", "z"])[1:] == [Rung(step={"rare": 10, "other": "other"}), out]
    assert rungs([1, None, None]) == [out], "whoever has a value is told by it"
    assert rungs([1, 1, 1]) == [Rung(), out]


def test_too_few_persons_to_try() -> None:
    tables = {
        "people": pl.DataFrame({"id": ["a", "b", "c"], "sex": ["f", "m", "f"]}),
        "visits": pl.DataFrame({"id": ["a", "a", "b"], "ward": ["x", "y", "x"]}),
    }
    plan = shoal.init(tables)
    assert plan.requirements


def test_common_records_leave_fewer_alone_than_records_by_chance() -> None:
    """The figures of the changelog: 79 and 148 of 1,000 patients are left out."""

    def left_out(keep: str) -> int:
        plan = copy.deepcopy(TABLES_PLAN)
        recoding = plan["tables"]["stays"]["steps"][1]
        plan["tables"]["stays"]["steps"] = [recoding, {"mask": "truncate-records", "most": 1, "keep": keep}]
        plan["suppress_persons"] = 1.0
        return 1_000 - len(shoal.protect(shoal.example_tables(1_000), plan, seed=1).to_frame())

    assert (left_out("common"), left_out("random")) == (79, 148)
