"""The public folder does not change with what the release hides.

Two tables that differ only in what a release of them hides (the release of both is the same, under one seed) must have
the same evidence, page and codebook, byte by byte. Everything else would tell of what was hidden.
"""

from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import dropped_decimal
import shoal
from by_night import by_night, by_turns, crossed
from contract.test_methods import columns_of, made, roles_for
from shoal.plan import Output, Plan
from shoal.release.evidence_file import public_evidence
from shoal.run.carry_out import carry_out
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table
from shoal.vocabulary.registry import Entry, registered

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


def single_changes(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Tables with a cell changed to another that occurs, or to one beyond the range; one without the first record."""
    rng = np.random.default_rng(3)
    for name in table.columns:
        cells = table[name].to_list()
        for row in rng.choice(len(cells), by_night(1, 3), replace=False).tolist():
            other = [*cells]
            other[row] = next(value for value in reversed(cells) if value != cells[row])
            yield table.with_columns(pl.Series(name, other, dtype=table[name].dtype))
        if table[name].dtype.is_numeric():
            other = [*cells]
            other[int(np.argmax(cells))] = max(cells) + 1000
            yield table.with_columns(pl.Series(name, other, dtype=table[name].dtype))
    yield table[1:]


def moved_between(table: pl.DataFrame, name: str) -> Iterator[pl.DataFrame]:
    """Tables in which one record has a little more and another as much less: sums, and means of groups, may stay."""
    rng = np.random.default_rng(5)
    for _ in range(by_night(2, 6)):
        one, other = rng.choice(len(table), 2, replace=False).tolist()
        cells = table[name].to_list()
        cells[one], cells[other] = cells[one] + 1, cells[other] - 1
        yield table.with_columns(pl.Series(name, cells, dtype=table[name].dtype))


FORMATS = get_args(Output.model_fields["format"].annotation)
METHODS = [*registered("mask"), *registered("replace")]


def plan_of(entry: Entry) -> Plan:
    """A plan with a method; the formats take turns, so that each is tried on a good many methods."""
    columns = columns_of(entry)
    if entry.kind == "mask":
        step = {"mask": made(entry), "columns": columns}
    else:
        grouping = {"partition": "mdav", "k": 7, "by": ["age"]}
        if entry.name == "fuzzy-centre":  # it needs the centres of these columns
            grouping = {"partition": "fuzzy-c-means", "k": 6}
        step = {**grouping, "columns": ["income"], "replace": made(entry)}
    ending = FORMATS[METHODS.index(entry) % len(FORMATS)]
    return Plan.of({"columns": roles_for(entry, ROLES), "steps": [step], "output": {"format": ending}})


def public_files(release: shoal.Release, out: Path) -> dict[str, bytes]:
    """Everything in the public folder."""
    public = release.write(out, unproved=True) / "release"
    return {path.name: path.read_bytes() for path in sorted(public.iterdir())}


@pytest.mark.parametrize("entry", METHODS, ids=lambda e: f"{e.kind}-{e.name}")
def test_neighbours_with_one_release_have_one_folder(entry: Entry, tmp_path: Path) -> None:
    """The evidence of each neighbour with the same release, and once, which is enough as it holds all, the files."""
    table = people()
    try:
        plan = plan_of(entry)
        release = shoal.protect(table, plan, seed=SEED)
    except shoal.InputError as error:
        pytest.fail(f"give {entry.name} columns in contract/test_methods: {error}")
    cells, evidence, files = release.data.write_csv(), public_evidence(release, files={}), None
    neighbours = (*single_changes(table), *moved_between(table, "income"))
    for neighbour in by_turns(neighbours, METHODS.index(entry), 2):
        try:
            finished = carry_out(neighbour, plan, SEED, None).finished
        except shoal.InputError:
            continue  # a label that the hierarchy lacks
        if finished.native.write_csv() == cells:  # only then is it worth measuring
            other = shoal.protect(neighbour, plan, seed=SEED)
            assert other.data.write_csv() == cells
            assert public_evidence(other, files={}) == evidence
            if files is None:
                files = public_files(release, tmp_path / "one")
                assert public_files(other, tmp_path / "other") == files


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
            "accept": ["age", "size", "sex"],
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


@pytest.mark.parametrize(("hidden", "ending"), crossed(HIDDEN, FORMATS))
def test_what_is_hidden_changes_no_file(tmp_path: Path, hidden: str, ending: str) -> None:
    sections, table, neighbours = HIDDEN[hidden]
    plan = {**sections, "measures": MEASURES if ending == "csv" else [], "output": {"format": ending}}
    here = public_files(shoal.protect(table, plan, seed=SEED), tmp_path / "here")
    for number, neighbour in enumerate(neighbours[: by_night(1, 3)]):
        assert not neighbour.equals(table)
        there = public_files(shoal.protect(neighbour, plan, seed=SEED), tmp_path / str(number))
        assert there[f"data.{ending}"] == here[f"data.{ending}"], "the neighbour differs in more than the release hides"
        assert there == here


def test_the_decimals_of_a_dropped_record_do_not_show_in_averages_of_others(tmp_path: Path) -> None:
    """One value of twenty is written more finely, which is just too few; the dropped one would be the second."""
    plan = {
        "columns": {"region": "quasi-identifier", "income": "confidential"},
        "steps": [
            {"mask": "suppress-records", "k": 3, "columns": ["region"], "limit": 0.5},
            {"partition": "mdav", "k": 3, "columns": ["income"]},
        ],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    tables = [
        pl.DataFrame(
            {"region": ["alone", *["north", "south"] * 10], "income": [dropped, 8.125, *(i + 0.5 for i in range(19))]}
        )
        for dropped in (9.5, 9.125)
    ]
    one, other = (
        public_files(shoal.protect(table, plan, seed=SEED), tmp_path / str(i)) for i, table in enumerate(tables)
    )
    assert one == other


@pytest.mark.parametrize(("level", "ending"), crossed(["continuous", "ordinal", "nominal"], ["xlsx", "csv"]))
def test_decimals_of_a_dropped_record_do_not_show_in_the_type_of_a_column(
    tmp_path: Path, ending: str, level: str
) -> None:
    """A file of text has no types: one dropped 3.5 must not make the others 4.0 and the codebook say Float64."""
    folders = []
    for number, table in enumerate(dropped_decimal.TABLES):
        write_table(Table(frame=table), tmp_path / f"{number}.{ending}")
        release = shoal.protect(
            read_table(tmp_path / f"{number}.{ending}"), dropped_decimal.plan(ending, level), seed=SEED
        )
        folders.append(public_files(release, tmp_path / str(number)))
    assert folders[0] == folders[1]
