"""SDNist's own assertions, and its figures of four tables, one a line of sdnist.csv, run against us.

The folder sdnist/test of SDNist 2.5 (github.com/usnistgov/SDNist, commit f048b1c, 14 July 2025) has 26 assertions, none
of them a figure of a release. So its functions were run on four tables that anybody can make again from
national2019.csv, the excerpt of the American Community Survey of the NIST Collaborative Research Cycle; the lines are
those that return the figures, with the number of the table. Programs and sentences are ours.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from conformance.expectations import Case, cases_of, check_lines, check_page, name_of, run
from published.reference import reference
from shoal.table.microdata import Microdata
from shoal.table.records import Records

CASES = cases_of("sdnist")

LINES = {
    "test/test_load.py": 1,
    "test/test_preprocess.py": 3,
    "test/test_subsample.py": 22,
    "metrics/kmarginal.py": 12,
    "metrics/unique_exact_matches.py": 8,
}

NUMBERS = ("AGEP", "PINCP", "POVPIP")
CATEGORIES = ("PUMA", "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU")
CATEGORIES += ("DVET", "DREM", "DPHY", "DEYE", "DEAR")


def rolled(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Column j of some columns moved down by 97 j rows, those at the end to the top."""
    return frame.with_columns(
        pl.Series(name, np.roll(frame[name].to_numpy(), 97 * place)) for place, name in enumerate(names, 1)
    )


TABLES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "national": lambda frame: frame,
    "even-rows": lambda frame: frame.gather_every(2),
    "fortieth-rows": lambda frame: frame.gather_every(40),
    "columns-rolled": lambda frame: rolled(frame, [name for name in frame.columns if name != "PUMA"]),
    "older": lambda frame: rolled(
        frame.with_columns((pl.col("AGEP").cast(pl.Float64) + 3).clip(upper_bound=99).cast(pl.String)), ["EDU"]
    ),
}


@cache
def table(name: str) -> Records:
    """One of the tables; what is no number among numbers is missing."""
    frame = pl.read_csv(reference("nist/national2019.csv"), infer_schema=False).select(*CATEGORIES, *NUMBERS)
    levels = dict.fromkeys(CATEGORIES, "nominal") | dict.fromkeys(NUMBERS, "continuous")
    roles = {name: {"role": "quasi-identifier", "missing": "keep", "level": level} for name, level in levels.items()}
    return Microdata.of(TABLES[name](frame).with_columns(pl.col(NUMBERS).cast(pl.Float64, strict=False)), roles).records


@cache
def marginals(name: str, columns: tuple[str, ...] | None = None) -> Any:
    return shoal.KMarginal(columns=columns, group=None if columns else "PUMA").measure(table("national"), table(name))


def left_out() -> bool:
    """True if a column that is not asked for stands in no table."""
    finding = shoal.KMarginal(columns=("SEX", "MSP", "EDU")).measure(table("national"), table("fortieth-rows"))
    tables = finding.details["worst tables"]
    return {name for pair in tables for name in pair.split(" x ")} == {"SEX", "MSP", "EDU"}


CALLS: dict[str, Callable[..., Any]] = {
    "sampled": lambda: 0 <= marginals("fortieth-rows").value <= 1000,
    "left-out": left_out,
    "same-records": lambda: marginals("national").value > 999,
    "score": lambda name: float(marginals(name).value),
    "worst-area": lambda name: float(min(marginals(name).details["score by group"].values())),
    "of-categories": lambda name: float(marginals(name, CATEGORIES).value),
    "unique": lambda name, which: int(
        shoal.UniqueExactMatches()
        .measure(table("national"), table(name))
        .details["unique originals" + (" in the release" if which == "found" else "")]
    ),
}


@pytest.mark.parametrize("case", [case for case in CASES if case["call"]], ids=name_of)
def test_expectation(case: Case) -> None:
    run(case, CALLS)


def test_every_case_has_its_line() -> None:
    assert Counter(case["file"] for case in CASES) == LINES
    check_lines(CASES, CALLS)


def test_the_page_counts_verdicts_and_reasons(project: Path) -> None:
    check_page(CASES, project / "docs" / "reference" / "conformance_sdnist.md")
