"""An attacker with the released files alone counts the persons of a class, and looks for persons that were deleted.

Every person has an income of their own, which is not changed, so that the distinct incomes of a class are its persons.
A folder that another program was writing to when it was killed holds records twice; a table of Delta Lake holds those
that were deleted. A release of such a folder shows neither, or there is none.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.vocabulary.errors import FileError

pytest.importorskip("duckdb")

K = 5
PLAN = {
    "columns": {"age": "quasi-identifier", "height": "quasi-identifier", "income": "confidential"},
    "steps": [{"partition": "mdav", "k": K, "replace": "centroid"}],
    "requirements": [{"privacy": "k-anonymity", "k": K}],
    "output": {"format": "parquet"},
    "exact": False,
}


def people(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame({"age": rng.uniform(18, 90, n), "height": rng.normal(170, 9, n), "income": np.arange(n) + 1000})


def released(data: str | Path, out: Path) -> pl.DataFrame:
    shoal.protect(data, PLAN, out, seed=1, workers=1)
    return pl.read_parquet(out / "release" / "data" / "*.parquet")


@pytest.mark.parametrize("place", ["_temporary/0/task_1", ".staging", "sub/_temporary"])
def test_no_class_has_fewer_persons_than_records(tmp_path: Path, place: str) -> None:
    frame, folder = people(600), tmp_path / "in"
    (folder / place).mkdir(parents=True)
    frame.write_parquet(folder / "part-0.parquet")
    frame[:300].write_parquet(folder / place / "part-0.parquet")
    persons = released(folder, tmp_path / "out").group_by("age", "height").agg(pl.col("income").n_unique())["income"]
    assert persons.sum() == 600
    assert persons.min() >= K


@pytest.mark.parametrize("name", ["", "*.parquet", "part-0.parquet"])
def test_nobody_who_was_deleted_is_released(tmp_path: Path, name: str) -> None:
    frame, table = people(600), tmp_path / "delta"
    (table / "_delta_log").mkdir(parents=True)
    frame.write_parquet(table / "part-0.parquet")
    frame[:400].write_parquet(table / "part-1.parquet")
    changes = [{"add": {"path": "part-1.parquet"}}, {"remove": {"path": "part-0.parquet"}}]
    for number, change in enumerate(changes):
        (table / "_delta_log" / f"{number:020d}.json").write_text(json.dumps(change))
    with pytest.raises(FileError, match="whose log says which records count"):
        assert not set(released(str(table / name), tmp_path / "out")["income"]) & set(frame["income"][400:])
    assert [path.name for path in tmp_path.iterdir()] == ["delta"]


def test_an_export_as_the_refusal_advises_is_released(tmp_path: Path) -> None:
    (tmp_path / "delta/_delta_log").mkdir(parents=True)
    (tmp_path / "exported").mkdir()
    people(400).write_parquet(tmp_path / "exported/now.parquet")
    assert len(released(tmp_path / "exported", tmp_path / "out")) == 400
