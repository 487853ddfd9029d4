"""A nightly job over monthly files: statuses, JSON and a log, and nobody watching."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

from by_night import only_by_night

MONTHS = [f"2026-{month:02}" for month in range(1, 5)]

PLAN = """
columns: {age: quasi-identifier, visits: quasi-identifier, "*": confidential, patient: identifier}
steps: [{partition: mdav, k: 5}]
requirements: [{privacy: k-anonymity, k: 5}, {privacy: l-diversity, l: 2}]
"""

JOB = """
import os, subprocess, sys
from pathlib import Path

worst = 0
for file in sorted(Path("in").glob("*.csv")):
    month = file.stem
    with Path("results", f"{month}.json").open("w") as result:
        done = subprocess.run([sys.executable, "-m", "shoal", "protect", str(file), "--out", f"releases/{month}"],
                              stdout=result, stderr=subprocess.DEVNULL, check=False)
    Path("results", f"{month}.status").write_text(str(done.returncode))
    worst = max(worst, done.returncode)
sys.exit(worst)
"""


def month_of(number: int) -> pl.DataFrame:
    rng = np.random.default_rng(number)
    n = 60
    return pl.DataFrame(
        {
            "patient": [f"P{number:02}{i:04}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "visits": rng.integers(1, 9, n),
            "charge": rng.integers(100, 9_000, n),
        }
    )


@only_by_night  # by day statuses, results and the log are looked at in cli/test_unattended
def test_four_months(tmp_path: Path) -> None:
    """In February a column is missing; in March no class is diverse, as all have one charge; the others are fine."""
    for folder in ("in", "results", "releases"):
        (tmp_path / folder).mkdir()
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "job.py").write_text(JOB)
    for number, month in enumerate(MONTHS, 1):
        frame = month_of(number)
        if number == 3:
            frame = frame.with_columns(charge=pl.lit(100))
        if number == 2:
            frame = frame.drop("visits")
        frame.write_csv(tmp_path / "in" / f"{month}.csv")
    outside = {"SHOAL_PROTECT_PLAN": "plan.yaml", "SHOAL_JSON": "1", "SHOAL_LOG": "nightly.log"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **outside}
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 3

    statuses = {month: int((tmp_path / "results" / f"{month}.status").read_text()) for month in MONTHS}
    assert statuses == {"2026-01": 0, "2026-02": 2, "2026-03": 3, "2026-04": 0}
    results = {month: json.loads((tmp_path / "results" / f"{month}.json").read_text()) for month in MONTHS}
    assert {month: result["exit status"] for month, result in results.items()} == statuses
    for month in ("2026-01", "2026-04"):
        assert results[month]["proved"] is True
        assert [v["holds"] for v in results[month]["requirements"]] == [True, True]
        released = pl.read_csv(tmp_path / "releases" / month / "release" / "data.csv")
        assert released.columns == ["age", "visits", "charge"]
        assert released.group_by("age", "visits").len()["len"].min() >= 5
    refused = results["2026-03"]
    assert [(v["requirement"], v["holds"]) for v in refused["requirements"]] == [
        ("5-anonymity", True),
        ("distinct 2-diversity", False),
    ]
    assert refused["what would help"]
    assert "'visits'" in results["2026-02"]["error"]["message"]
    assert sorted(p.name for p in (tmp_path / "releases").iterdir()) == ["2026-01", "2026-04"]
    events = (tmp_path / "nightly.log").read_text().splitlines()
    assert sum(" INFO protect: shoal " in event for event in events) == 4
    assert sum(" INFO ended with status 0 " in event for event in events) == 2
    assert sum(" ERROR " in event for event in events) == 2
    assert not any(str(cell) in event for event in events for cell in month_of(1)["patient"])
