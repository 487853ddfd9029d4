"""A table held whole and the same table in parts are released with the same cells, in the same order.

So it is for every plan of the registry that forms no groups (these are formed in blocks of near records in parts), for
chains of its masks, and however many files the table lies in, and whoever works on its parts. Suppression alone goes
further in parts: there a release is not judged with missing cells filled in, so that it goes on until no column gives
blanked cells away, and not only until the requirement holds with them filled in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from by_night import NIGHT, by_night
from contract.test_every_source import (
    COLUMNS,
    FURTHER,
    PLANS,
    SEED,
    Tried,
    folder_of,
    gaps_in,
    steps,
    table,
    write_further,
)
from shoal.plan import Plan
from shoal.plan.steps import PartitionStep
from shoal.proof.given_away import refuse_given_away
from shoal.run.carry_out import carry_out
from shoal.run.parts.admission import whole_needed
from shoal.run.parts.journal import Journal
from shoal.run.parts.outcome import carried_out
from shoal.run.parts.steps import Run
from shoal.table.parts.engine import HERE, Engine, Processes
from shoal.table.parts.session import session
from shoal.table.parts.source import Source
from shoal.table.parts.stage import OWN, Stage
from shoal.vocabulary.errors import Refused, ShoalError

NAMED = "named"
"""Where the files lie that plans name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backwards(Processes):
    """Finishes the first job last."""

    def as_finished(self, work, jobs, given):
        return reversed(list(Processes.as_finished(self, work, jobs, given)))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A table of 160 records has four parts, and its release as many."""
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 50)
    monkeypatch.setattr("shoal.table.parts.dealing.BLOCK_CELLS", 0)
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 40)
    (tmp_path / NAMED).mkdir()
    write_further(tmp_path / NAMED)


def works_in_parts(tried: Tried) -> bool:
    """Whether a plan is carried out in parts without a group."""
    plan = Plan.of(tried.sections)
    return not whole_needed(plan) and not any(isinstance(step, PartitionStep) for step in plan.steps)


def in_memory(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    return carry_out(frame, plan, SEED, None).finished.frame.to_native()


def in_parts(frame: pl.DataFrame, plan: Plan, place: Path, files: int, engine: Engine) -> pl.DataFrame:
    """All parts of the release, one after the other."""
    place.mkdir()
    with session(1 << 30, place / "spill") as connection:
        run = Run(
            plan=plan.covering(frame.columns).ready,
            entropy=SEED,
            journal=Journal.open(place / "run", {}),
            engine=engine,
            memory=1 << 30,
            tell=lambda text, done: None,
        )
        done = carried_out(run, Source.of(folder_of(frame, place / "in", files), connection))
        return pl.concat(done.finished.chunks()).drop(OWN, strict=False)


def outcome(carry: Any, *given: Any) -> pl.DataFrame | str:
    try:
        return carry(*given)
    except ShoalError as error:
        return str(error)


def agree(one: pl.DataFrame | str, other: pl.DataFrame | str) -> bool:
    """Whether two outcomes are the same error, or the same cells of the same types."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and one == other
    return one.schema == other.schema and one.equals(other)


def gives_cells_away(released: pl.DataFrame, original: pl.DataFrame, plan: Plan, place: Path) -> bool:
    """Whether a column determines missing cells of another."""
    place.mkdir()
    stages = []
    for name, frame in {"released": released, "original": original}.items():
        frame.write_parquet(place / name)
        stages.append(Stage.of([place / name]))
    try:
        refuse_given_away(stages[0], plan.covering(original.columns).schema, 1 << 30, place / "spill", stages[1])
    except Refused:
        return True
    return False


def check(tried: Tried, place: Path, ways: Mapping[int, Engine]) -> None:
    """A plan gives one table, or one error, however it is carried out."""
    plan, frame = Plan.of(tried.sections, place / NAMED), gaps_in(table(), tried.gaps)
    whole = outcome(in_memory, frame, plan)
    for files, engine in ways.items():
        parts = outcome(in_parts, frame, plan, place / f"{files}", files, engine)
        if not agree(whole, parts):
            assert any(getattr(step.method, "blanks_cells", False) for step in plan.steps), tried.name
            assert isinstance(whole, pl.DataFrame) and gives_cells_away(whole, frame, plan, place / f"{files} whole")
            assert isinstance(parts, str) or not gives_cells_away(parts, frame, plan, place / f"{files} parts")


def different() -> Iterator[str]:
    """The plans that are carried out in parts without a group, without those that differ in requirements only."""
    seen = []
    for name, tried in PLANS.items():
        carried = {key: value for key, value in tried.sections.items() if key not in ("requirements", "measures")}
        if (carried, tried.gaps) not in seen and works_in_parts(tried):
            seen.append((carried, tried.gaps))
            yield name


def tried_now() -> list[str]:
    """Each method as it is by default, and of its further forms every eighth by day."""
    names = list(different())
    further = [name for name in names if name.count(":") > 1 or "," in name]
    return [name for name in names if name not in further] + further[:: by_night(8, 1)]


@pytest.mark.parametrize("name", tried_now())
def test_every_plan_of_the_registry(name: str, tmp_path: Path) -> None:
    check(PLANS[name], tmp_path, {by_night(3, 7): Backwards()})


KEPT = {
    name: {**({"role": column} if isinstance(column, str) else column), "missing": "keep"}
    for name, column in (COLUMNS | FURTHER).items()
    if name in ("age", "size", "sex", "illness", "income", "school")
}
EVERYTHING = {**COLUMNS, **FURTHER, **KEPT, "name": "other", "born": "confidential"}
"""Strata, households, weights and missing cells."""


def one_of(*listed: dict[str, Any]) -> Tried:
    return Tried(name=str(listed), sections={"columns": EVERYTHING, "steps": [*listed]}, gaps=tuple(KEPT))


def chains() -> Iterator[Tried]:
    """Steps of the registry one after the other, drawn at random."""
    listed = [step for name, (step,) in steps() if name.startswith("mask: ") and works_in_parts(one_of(step))]
    rng = np.random.default_rng(4)
    while True:
        yield one_of(*(listed[number] for number in rng.integers(0, len(listed), 3)))


def test_chains_of_masks(tmp_path: Path) -> None:
    for number, tried in zip(range(by_night(4, 12)), chains()):
        place = tmp_path / f"{number}"
        (place / NAMED).mkdir(parents=True)
        write_further(place / NAMED)
        check(tried, place, {2: Backwards()})


DRAWN = (
    {"mask": "noise", "variance": 0.1, "columns": ["age", "size", "income"]},
    {"mask": "pram", "matrix": {"sex": [[0.8, 0.2], [0.3, 0.7]]}, "invariant": False, "columns": ["sex"]},
    {"mask": "sample", "fraction": 0.6},
    {"mask": "noise", "variance": 0.1, "kind": "uncorrelated", "columns": ["income"]},
    {"mask": "rank-swap", "p": 0.1, "columns": ["size"]},
    {"mask": "noise", "variance": 0.1, "kind": "restricted", "columns": ["size"]},
)


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "in order"])
def test_neither_files_nor_workers_enter_a_draw(shuffle: bool, tmp_path: Path) -> None:
    tried = one_of(*DRAWN)
    tried.sections["output"] = {"shuffle": shuffle}
    by_day: dict[int, Engine] = {2: Backwards(), 7: HERE} if shuffle else {7: HERE}
    check(tried, tmp_path, {1: HERE, 2: Processes(workers=2) if shuffle else Backwards(), 7: HERE} if NIGHT else by_day)
    released = in_memory(gaps_in(table(), tried.gaps), Plan.of(tried.sections))
    homes = released["home"].drop_nulls()
    assert len(released) < 120 and sorted(set(homes)) == list(range(1, homes.n_unique() + 1))


def test_bounds_too_narrow_are_one_error(tmp_path: Path) -> None:
    """Of two parts one may hold no value outside them."""
    frame = pl.DataFrame({"x": np.arange(200.0)})
    step = {"mask": "noise", "kind": "restricted", "variance": 0.1, "bounds": {"x": [0, 198]}, "columns": ["x"]}
    plan = Plan.of({"columns": {"x": "quasi-identifier"}, "steps": [step]})
    whole = outcome(in_memory, frame, plan)
    assert isinstance(whole, str) and "'x' has values outside its bounds" in whole
    assert outcome(in_parts, frame, plan, tmp_path / "parts", 2, HERE) == whole


def test_averages_have_the_decimals_of_released_records(tmp_path: Path) -> None:
    """Every fifth record is alone of its kind and is dropped; these only have three decimals."""
    alone = np.arange(200) % 5 == 0
    x = np.round(np.random.default_rng(3).normal(size=200), 1) + np.where(alone, 0.123, 0.0)
    frame = pl.DataFrame({"kind": np.where(alone, np.arange(200), 500), "x": x.round(3)})
    sections = {
        "columns": {"kind": {"role": "quasi-identifier", "level": "nominal"}, "x": "quasi-identifier"},
        "steps": [
            {"mask": "suppress-records", "k": 3, "limit": 1, "columns": ["kind"]},
            {"partition": "mdav", "k": 3, "replace": "centroid", "columns": ["x"]},
        ],
        "block_size": 10_000,
    }
    whole = in_memory(frame, Plan.of(sections))
    parts = in_parts(frame, Plan.of(sections), tmp_path / "parts", 2, HERE)
    assert len(whole) == 160 and (whole["x"] == whole["x"].round(1)).all()
    assert parts.equals(whole)


@pytest.mark.parametrize("dtype", [pl.Int16, pl.Int64, pl.Float64], ids=str)
def test_changed_whole_numbers_get_the_type_that_they_came_with(dtype: type[pl.DataType], tmp_path: Path) -> None:
    """Noise makes them fractional, coding makes them whole again, and a part may have no fraction in between."""
    frame = pl.DataFrame({"x": np.arange(160)}).cast(dtype)
    steps = [{"mask": "noise", "variance": 0.1}, {"mask": "bottom-code", "value": 1_000}]
    plan = Plan.of({"columns": {"x": "quasi-identifier"}, "steps": steps})
    whole = in_memory(frame, plan)
    assert whole["x"].unique().to_list() == [1_000] and whole["x"].dtype == dtype
    parts = in_parts(frame, plan, tmp_path / "parts", 2, HERE)
    assert agree(whole, parts)


@pytest.mark.parametrize("places", [0, 1])
def test_columns_that_no_step_changes_are_rounded_as_the_plan_says(places: int, tmp_path: Path) -> None:
    """Of every type of numbers, with gaps too; whole numbers stay as they are."""
    x = np.round(np.random.default_rng(1).normal(50, 9, 200), 3)
    frame = pl.DataFrame({"key": np.arange(200) // 4, "double": x, "whole": np.arange(200)}).with_columns(
        single=pl.Series(x, dtype=pl.Float32),
        gaps=pl.when(pl.int_range(200) % 7 > 0).then(pl.Series(x)),
        exact=pl.Series(x).cast(pl.Decimal(10, 3)),
    )
    stated = {"role": "confidential", "decimals": places, "missing": "keep"}
    columns = {"key": "quasi-identifier", **dict.fromkeys(frame.columns[1:], stated)}
    plan = Plan.of({"columns": columns, "steps": [{"partition": "mdav", "k": 4, "replace": "centroid"}]})
    whole = in_memory(frame, plan)
    for name in ("double", "gaps", "single", "exact"):
        cells = whole[name].drop_nulls().cast(pl.Float64)
        assert ((cells - cells.round(places)).abs() < 1e-5).all()
    assert sorted(whole["whole"]) == list(range(200)) and whole["gaps"].null_count() == frame["gaps"].null_count()
    assert agree(whole, in_parts(frame, plan, tmp_path / "parts", 2, HERE))
