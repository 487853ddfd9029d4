"""File names in a plan are looked up from its folder, whatever the working directory is."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.desk.frontier import explore
from shoal.release.publish import publish_frontier
from shoal.table.files.names import slug
from shoal.vocabulary.errors import FileError

RNG = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {"name": [f"n{i}" for i in range(40)], "age": RNG.integers(20, 60, 40), "pay": RNG.normal(size=40)}
)
TEXT = """
columns: {name: identifier, age: quasi-identifier, pay: quasi-identifier}
steps:
  - {partition: mdav, k: 4}
  - {mask: pseudonymise, key_file: keys/secret.key}
measures:
  - {risk: closest-record, holdout: more/holdout.csv}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("more", "keys"):
        (tmp_path / name).mkdir()
    FRAME.head(20).write_csv(tmp_path / "more" / "holdout.csv")
    key = tmp_path / "keys" / "secret.key"
    key.write_text("0123456789abcdef" * 4, encoding="ascii")
    key.chmod(0o600)
    (tmp_path / "plan.yaml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_a_plan_finds_its_files_beside_it(folder: Path) -> None:
    release = shoal.protect(FRAME, folder / "plan.yaml", seed=1)
    share = next(f for f in release.evidence.findings if f.measure == "closest-record")
    assert share.value is not None
    sections = shoal.Plan.read(folder / "plan.yaml").as_mapping()
    assert shoal.protect(FRAME, sections, seed=1, folder=folder).data.equals(release.data)
    figures = {f.measure: f.value for f in shoal.assess(FRAME, sections, seed=1, folder=folder).findings}
    assert figures["closest-record"] == share.value


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "more" / "holdout.csv").unlink()
    with pytest.raises(FileError, match=r"holdout\.csv"):
        shoal.protect(FRAME, folder / "plan.yaml", seed=1)


def test_the_plan_still_names_its_files_after_they_were_read(folder: Path) -> None:
    plan = shoal.Plan.read(folder / "plan.yaml")
    assert plan.ready.measures[0].holdout.height == 20
    assert plan.as_mapping()["measures"][0]["holdout"] == "more/holdout.csv"


def test_the_candidates_of_an_exploration_find_the_same_files(folder: Path) -> None:
    explored = f"{TEXT.replace('  - {partition: mdav, k: 4}', '')}explore: {{method: [mdav], k: [4, 5]}}"
    (folder / "ranges.yaml").write_text(explored, encoding="utf-8")
    exploration = explore(FRAME, folder / "ranges.yaml", folder / "out" / "of", seed=1)
    publish_frontier(exploration, folder / "out" / "of")
    for one in exploration.points:
        plan = shoal.Plan.read(folder / "out" / "of" / "plans" / f"{slug(one.name)}.yaml")
        assert plan.ready.measures[0].holdout.height == 20
        figures = {f.measure: f.value for f in shoal.assess(FRAME, plan, seed=1).findings}
        assert figures["closest-record"] == one.figures["closest-record"]
