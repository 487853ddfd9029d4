"""A table whose one decimal is in the record that is dropped: nothing that is released may tell that it was there."""

from typing import Any

import polars as pl

TABLES = tuple(
    pl.DataFrame({"region": ["alone", *["north"] * 10], "visits": [dropped, *range(10)]}, strict=False)
    for dropped in (3, 3.5)
)
"""Without the decimal and with it."""


def plan(ending: str, level: str) -> dict[str, Any]:
    """Who lives alone is dropped; the column of the decimal is read as its level says."""
    return {
        "columns": {"region": "quasi-identifier", "visits": {"role": "confidential", "level": level}},
        "steps": [{"mask": "suppress-records", "k": 3, "columns": ["region"], "limit": 0.5}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
        "output": {"format": ending},
    }
