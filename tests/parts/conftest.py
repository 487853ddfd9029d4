"""Tables for tests of what is done part by part; blocks are small, so that small tables have several."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pytest.importorskip("duckdb")

ROLES = {
    "id": "identifier",
    "x": "quasi-identifier",
    "y": "quasi-identifier",
    "sex": "quasi-identifier",
    "income": "confidential",
    "illness": "confidential",
    "note": "other",
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and chunks of some hundred records."""
    monkeypatch.setattr("shoal.table.parts.dealing.BLOCK_CELLS", 0)
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 400)
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 700)


def invented(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n) + 10**6,
            "x": rng.standard_normal(n),
            "y": np.exp(rng.standard_normal(n)),
            "sex": rng.choice(["f", "m"], n),
            "income": rng.integers(0, 300, n),
            "illness": rng.choice(["asthma", "diabetes", "flu", "none"], n),
            "note": rng.standard_normal(n),
        }
    )


@pytest.fixture
def table() -> Callable[..., pl.DataFrame]:
    return invented


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[pl.DataFrame], Path]:
    """Writes a table as a folder of three Parquet files."""

    def write(frame: pl.DataFrame) -> Path:
        place = tmp_path / "in"
        place.mkdir()
        for number, start in enumerate(range(0, len(frame), -(-len(frame) // 3))):
            frame[start : start + -(-len(frame) // 3)].write_parquet(place / f"part-{number}.parquet")
        return place

    return write


@pytest.fixture
def plan() -> dict[str, Any]:
    return {
        "columns": ROLES,
        "steps": [{"partition": "mdav", "k": 4, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 4}],
        "accept": ["note"],
        "output": {"format": "parquet"},
    }


def released(out: Path) -> pl.DataFrame:
    """The released table of a directory."""
    return pl.read_parquet(out / "release" / "data" / "*.parquet")


@pytest.fixture(autouse=True)
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of any size are worked on in parts."""
    monkeypatch.setattr("shoal.run.parts.admission.EXACT_CELLS", 0)


def whole_plan(plan: dict[str, Any]) -> dict[str, Any]:
    """The same plan for a table that is held whole."""
    return {**plan, "exact": True}
