"""The R package: its verbs, refusals as R errors, a plan from an sdcMicro object, and the same bytes as Python's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table

PLAN = """
columns:
  age: quasi-identifier
  town: quasi-identifier
  day: other
  income: {role: confidential, decimals: 2, missing: keep}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
"""
LABELLED = """
columns: {sex: quasi-identifier, age: quasi-identifier, pay: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
output: {format: sav}
"""
N = 40


def people() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "town": rng.choice(["Zürich", "Genf", "1"], N),
            "day": [f"2026-01-{1 + i % 28:02}" for i in range(N)],
            "income": [None if i % 9 == 0 else x for i, x in enumerate(np.round(rng.lognormal(7, 1, N), 2).tolist())],
        }
    ).with_columns(pl.col("day").str.to_date())


def survey() -> Table:
    rng = np.random.default_rng(2)
    columns = {"sex": rng.integers(1, 3, N), "age": rng.integers(18, 90, N), "pay": rng.integers(100, 900, N)}
    return Table(frame=pl.DataFrame(columns), value_labels={"sex": {1: "male", 2: "female"}})


def run(*command: str | Path, library: Path) -> str:
    environment = {
        **os.environ,
        "R_LIBS": str(library),
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_r_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    if subprocess.run(["Rscript", "-e", "library(reticulate)"], capture_output=True, check=False).returncode:
        pytest.skip("the R package reticulate is not installed")
    starts = ["Rscript", "-e", "reticulate::py_discover_config()"]
    own = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    if subprocess.run(starts, env=own, capture_output=True, check=False).returncode:
        pytest.skip("the R package reticulate installed does not know this Python")
    library = tmp_path / "library"
    library.mkdir()
    run("R", "CMD", "INSTALL", "--no-docs", f"--library={library}", project / "r", library=library)
    people().write_csv(tmp_path / "people.csv")
    write_table(survey(), tmp_path / "survey.sav")
    (tmp_path / "plan.yaml").write_text(LABELLED)
    said = run("Rscript", project / "r" / "tests" / "same_bytes.R", tmp_path, library=library)
    assert said.endswith("R is of one mind with Python\n")

    (tmp_path / "people.yaml").write_text(PLAN)
    shoal.protect(people(), tmp_path / "people.yaml", seed=5).write(tmp_path / "from-python")
    came = read_table(tmp_path / "survey.sav")
    shoal.protect(came, tmp_path / "plan.yaml", seed=5).write(tmp_path / "from-python-sav", labels=came)
    for ours, theirs, name in (("from-python", "from-r", "data.csv"), ("from-python-sav", "from-r-sav", "data.sav")):
        path = Path("release", name)
        assert (tmp_path / ours / path).read_bytes() == (tmp_path / theirs / path).read_bytes()
