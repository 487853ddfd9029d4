"""Where published figures are checked against: the data they were made of, and what other software made of it.

Census, EIA and THYROID lie in `data/` beside this file. Other files may not be handed on; they are looked for in the
folder `shared` beside the project, and where there is none the comparison is not run, which the closing lines of the
tests count.
"""

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "data"
BESIDE = Path(__file__).parents[3] / "shared"

NOT_RUN = "reference data that is no part of the project"
"""Begins the reason of every comparison that is not run."""


def reference(name: str) -> Path:
    """The file of reference data `name`: "census.csv", "adult/adult.csv", "sdcmicro/mdav_groups_census.csv".

    Tables may be compressed; the readers of polars, pandas and numpy take them as they are.
    """
    for path in (HERE / name, HERE / f"{name}.gz", BESIDE / "data" / name, BESIDE / "reference" / name):
        if path.is_file():
            return path
    pytest.skip(f"{NOT_RUN}: {name}")


def other_measures(case: str) -> dict[str, Any]:
    """What sdcMicro measures of one masked table: "numeric_census_k5", "numeric_testdata_k3"."""
    part = "_census" if "census" in case else ""
    measures: dict[str, Any] = json.loads(reference(f"sdcmicro/other_measures{part}.json").read_text())
    return measures[case]
