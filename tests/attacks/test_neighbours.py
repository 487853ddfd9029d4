"""The public folder does not change with what the release hides.

Two tables that differ only in what a release of them hides (the release of both is the same, under one seed) must have
the same evidence, page and codebook, byte by byte. Everything else would tell of what was hidden.
"""

import json
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from contract.test_methods import columns_of, made
from shoal.methods import Entry, registered
from shoal.plan import Plan
from shoal.report.evidence_file import public_evidence

MEASURES = [
    {e.kind: e.name}
    for kind in ("risk", "utility")
    for e in registered(kind)
    if not any(default is MISSING for default in e.parameters.values())
]
SEED = 11


def people(n: int = 48) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "size": np.round(rng.lognormal(1, 0.5, n), 1),
            "income": np.round(rng.lognormal(3, 1, n), 0),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["a", "b", "c"], n),
        }
    )


ROLES: dict[str, Any] = {
    "age": "quasi-identifier",
    "size": "quasi-identifier",
    "sex": "quasi-identifier",
    "income": {"role": "confidential", "decimals": 0},
    "illness": {"role": "confidential", "hierarchy": {"nested": {"acute": ["a", "b"], "chronic": ["c"]}}},
}


def released(table: pl.DataFrame, plan: Any) -> tuple[str, str]:
    """The cells that are released, and everything else that the public folder would say."""
    release = shoal.protect(table, plan, seed=SEED)
    return release.data.write_csv(), json.dumps(public_evidence(release, files={}))


def single_changes(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Tables with one cell changed to another that occurs, and to one beyond the range."""
    rng = np.random.default_rng(3)
    for name in table.columns:
        cells = table[name].to_list()
        for row in rng.choice(len(cells), 6, replace=False).tolist():
            other = [*cells]
            other[row] = next(value for value in reversed(cells) if value != cells[row])
            yield table.with_columns(pl.Series(name, other, dtype=table[name].dtype))
        if table[name].dtype.is_numeric():
            other = [*cells]
            other[int(np.argmax(cells))] = max(cells) + 1000
            yield table.with_columns(pl.Series(name, other, dtype=table[name].dtype))


def moved_between(table: pl.DataFrame, name: str) -> Iterator[pl.DataFrame]:
    """Tables in which one record has a little more and another as much less: sums, and means of groups, may stay."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        one, other = rng.choice(len(table), 2, replace=False).tolist()
        cells = table[name].to_list()
        cells[one], cells[other] = cells[one] + 1, cells[other] - 1
        yield table.with_columns(pl.Series(name, cells, dtype=table[name].dtype))


def plan_of(entry: Entry) -> Plan:
    columns = columns_of(entry)
    if entry.kind == "mask":
        step = {"mask": made(entry), "columns": columns}
    else:
        grouping = {"partition": "mdav", "k": 6, "by": ["age"]}
        if entry.name == "fuzzy-centre":  # it needs the centres of these columns
            grouping = {"partition": "fuzzy-c-means", "k": 6}
        step = {**grouping, "columns": ["income"], "replace": made(entry)}
    return Plan.of({"columns": ROLES, "steps": [step]})


METHODS = [*registered("mask"), *registered("replace")]


@pytest.mark.parametrize("entry", METHODS, ids=lambda e: f"{e.kind}-{e.name}")
def test_neighbours_with_one_release_have_one_evidence(entry: Entry) -> None:
    table = people()
    try:
        plan = plan_of(entry)
        cells, evidence = released(table, plan)
    except shoal.errors.InputError as error:
        pytest.fail(f"give {entry.name} columns in contract/test_methods: {error}")
    for neighbour in (*single_changes(table), *moved_between(table, "income")):
        try:
            same_cells, same_evidence = released(neighbour, plan)
        except shoal.errors.InputError:
            continue  # a label that the hierarchy lacks
        if same_cells == cells:
            assert same_evidence == evidence


def with_cell(table: pl.DataFrame, row: int, **cells: Any) -> pl.DataFrame:
    return table.with_columns(
        pl.when(pl.int_range(pl.len()) == row)
        .then(pl.lit(value))
        .otherwise(pl.col(name))
        .alias(name)
        .cast(table[name].dtype)
        for name, value in cells.items()
    )


def rare() -> pl.DataFrame:
    """Record 0 has a region that nobody else has."""
    table = people().with_columns(region=pl.Series(["xx", *["north", "south"] * 24][:48]))
    return with_cell(table, 0, age=33)


HIDDEN: dict[str, tuple[dict[str, Any], pl.DataFrame, list[pl.DataFrame]]] = {
    "a dropped record": (
        {
            "columns": {**ROLES, "age": "confidential", "size": "other", "sex": "other", "region": "quasi-identifier"},
            "steps": [{"mask": "suppress-records", "k": 3, "limit": 0.5}],
            "requirements": [{"privacy": "k-anonymity", "k": 3}],
        },
        rare(),
        [
            with_cell(rare(), 0, age=age, income=income, illness=illness)
            for age, income, illness in [(20, 1.0, "a"), (69, 90000.0, "c"), (50, 17.0, "b")]
        ],
    ),
    "a value above the top code": (
        {
            "columns": {**ROLES, "age": "confidential", "size": "other", "sex": "other"},
            "steps": [{"mask": "top-code", "columns": ["income"], "value": 60.5}],
        },
        with_cell(people(), 3, income=61.0),
        [with_cell(people(), 3, income=value) for value in (62.0, 5000.0, 1e9)],
    ),
    "a suppressed cell": (
        {
            "columns": {**ROLES, "age": "confidential", "size": "other", "sex": "other", "region": "quasi-identifier"},
            "steps": [{"mask": "suppress", "k": 2, "columns": ["region"]}],
        },
        rare(),
        [with_cell(rare(), 0, region=name) for name in ("yy", "zz")],
    ),
    "a member's own value": (
        {"columns": ROLES, "steps": [{"partition": "whole", "columns": ["income"], "replace": {"method": "centroid"}}]},
        people(),
        [
            with_cell(with_cell(people(), 1, income=people()["income"][1] + d), 2, income=people()["income"][2] - d)
            for d in (1.0, 7.0, 300.0)
        ],
    ),
}


def folder_of(table: pl.DataFrame, plan: dict[str, Any], out: Path) -> dict[str, Any]:
    """Everything in the public folder, without hashes; the table as it is read back, for formats write dates."""
    public = shoal.protect(table, plan, seed=SEED).write(out, unproved=True) / "release"
    evidence = json.loads((public / "evidence.json").read_text())
    page = (public / "report.html").read_text()
    for digest in evidence.pop("sha256").values():
        page = page.replace(digest, "")
    data = next(public.glob("data.*"))
    return {
        "names": sorted(path.name for path in public.iterdir()),
        "evidence": json.dumps(evidence),
        "page": page,
        "codebook": (public / "codebook.json").read_bytes(),
        "data": shoal.read(data).write_csv(),
        "size": data.stat().st_size,
        "exact": data.read_bytes() if data.suffix in (".csv", ".parquet") else b"",
    }


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav", "dta", "xpt"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_is_hidden_changes_no_file(tmp_path: Path, hidden: str, ending: str) -> None:
    sections, table, neighbours = HIDDEN[hidden]
    plan = {**sections, "measures": MEASURES if ending == "csv" else [], "output": {"format": ending}}
    here = folder_of(table, plan, tmp_path / "here")
    for number, neighbour in enumerate(neighbours):
        assert not neighbour.equals(table)
        there = folder_of(neighbour, plan, tmp_path / str(number))
        assert there["data"] == here["data"], "the neighbour differs in more than the release hides"
        assert there == here
