"""Persons of a table in parts: their records stay together, and their numbers are those of the released alone."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed


def visits(patients: int = 6_000, records: int = 21_000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    patient = rng.permutation(np.concatenate([np.arange(patients), rng.integers(0, patients, records - patients)]))
    return pl.DataFrame(
        {
            "patient": [f"P{number:05}" for number in patient],
            "age": rng.integers(0, 90, patients)[patient] + rng.integers(0, 30, records) / 10,
            "ill": rng.choice(["flu", "gout"], records),
        }
    )


def plan(requirement: dict[str, Any], *, key: bool) -> dict[str, Any]:
    return {
        "columns": {
            "patient": {"role": "person", "release_key": key},
            "age": "quasi-identifier",
            "ill": "confidential",
        },
        "steps": [{"partition": "mdav", "k": 5}],
        "requirements": [{"privacy": "k-anonymity", "k": 5, **requirement}],
        "exact": False,
        "block_size": 10_000,
    }


@pytest.mark.parametrize(("key", "unit"), crossed([True, False], ["record", "person"]))
def test_every_group_holds_whole_persons(unit: str, key: bool, tmp_path: Path) -> None:
    table = visits()
    table.write_parquet(tmp_path / "visits.parquet")
    asked = {"unit": unit} if unit == "record" else {"knowing": "one record"}
    out = tmp_path / "out"
    release = shoal.protect(tmp_path / "visits.parquet", plan(asked, key=key), seed=1, workers=1)
    release.write(out)
    files = sorted((out / "release").rglob("*.parquet")) or sorted((out / "release").rglob("*.csv"))
    frames = [pl.read_parquet(f) if f.suffix == ".parquet" else pl.read_csv(f) for f in files if "data" in str(f)]
    data = pl.concat(frames)
    assert ("patient" in data.columns) is key
    assert len(data) == len(table)
    if key:
        assert set(data["patient"].to_list()) == set(range(1, 6_001)), "numbers of those released, from 1"
        of_class = defaultdict(set)
        for age, patient in data.select("age", "patient").rows():
            of_class[age].add(patient)
        assert min(map(len, of_class.values())) >= 5
        assert data.group_by("patient").agg(pl.col("age").n_unique())["age"].max() == 1, "one group a person"
        before, after = (sorted(frame.group_by("patient").len()["len"].to_list()) for frame in (table, data))
        assert before == after
