"""One table, one plan, one seed: the same bytes, whatever holds the table and whoever works on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed

duckdb = pytest.importorskip("duckdb")

COLUMNS = {"age": "quasi-identifier", "town": "quasi-identifier", "income": "confidential", "illness": "confidential"}
STEPS: list[dict[str, Any]] = [
    {"mask": "sample", "fraction": 0.8},
    {"partition": "mdav", "k": 3, "columns": ["age"], "replace": "centroid"},
    {"mask": "noise", "kind": "uncorrelated", "variance": 0.3, "columns": ["income"]},
    {"mask": "rank-swap", "p": 0.1, "columns": ["income"]},
    {"mask": "suppress", "k": 3, "columns": ["age", "town"]},
]
MODEL = {"partition": "whole", "replace": "cart", "columns": ["income", "illness"]}


def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 40, 300),
            "town": rng.choice(["Aldham", "Burton", "Corby"], 300),
            "income": np.round(rng.lognormal(8, 0.4, 300), 1),
            "illness": rng.choice(["asthma", "flu", "none"], 300),
        }
    )


def folder(frame: pl.DataFrame, place: Path, parts: int) -> Path:
    place.mkdir()
    size = -(-len(frame) // parts)
    for number in range(parts):
        frame[number * size : (number + 1) * size].write_parquet(place / f"part-{number}.parquet")
    return place


def file(frame: pl.DataFrame, place: Path) -> Path:
    frame.write_parquet(place.with_suffix(".parquet"))
    return place.with_suffix(".parquet")


ORIGINS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "a pandas table": lambda frame, _: frame.to_pandas(),
    "an Arrow table": lambda frame, _: frame.to_arrow(),
    "a lazy frame": lambda frame, _: frame.lazy(),
    "a relation": lambda frame, _: duckdb.from_arrow(frame.to_arrow()),
    "a file": file,
    "two files": lambda frame, place: folder(frame, place, 2),
    "seven files": lambda frame, place: folder(frame, place, 7),
}


def lying(origin: Callable[[pl.DataFrame, Path], Any], place: Path, exact: bool) -> pl.DataFrame:
    """The release of a table that lies somewhere."""
    steps = [*STEPS, MODEL] if exact else STEPS
    plan = {"columns": COLUMNS, "steps": steps, "exact": exact, "output": {"format": "parquet"}}
    return shoal.protect(origin(table(), place), plan, seed=11, workers=1).to_frame()


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, pl.DataFrame]:
    """The release of a frame, exactly and in parts."""
    return {exact: lying(lambda frame, _: frame, tmp_path_factory.mktemp("none"), exact) for exact in (True, False)}


@pytest.mark.parametrize(("origin", "exact"), crossed(ORIGINS, [True, False]))
def test_where_a_table_lies_changes_nothing(
    tmp_path: Path, exact: bool, origin: str, in_memory: dict[bool, pl.DataFrame]
) -> None:
    assert lying(ORIGINS[origin], tmp_path / "in", exact).equals(in_memory[exact])


def test_a_release_in_parts_without_a_place_can_be_read_and_written(tmp_path: Path) -> None:
    plan = {
        "columns": COLUMNS,
        "steps": [{"mask": "suppress", "k": 3}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
        "exact": False,
    }
    release = shoal.protect(table(), plan, seed=11, workers=1)
    place = release.directory
    assert release.write(tmp_path / "out") == tmp_path / "out"
    assert pl.read_csv(tmp_path / "out/release/data.csv").height == release.records == len(release.to_frame()) == 300
    assert shoal.audit(tmp_path / "out/release/data.csv", plan, workers=1).holds
    review = shoal.review(release, by="Ada")
    assert review.sha256 == shoal.review(tmp_path / "out", by="Ada").sha256
    del release
    assert not place.exists()
