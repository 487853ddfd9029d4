"""THYROID as Oganian & Domingo-Ferrer (2017) used it: 1947 records, 5 continuous and 15 binary columns."""

import csv
from pathlib import Path

import numpy as np

COLUMNS = (
    "age", "sex", "on_thyroxine", "query_on_thyroxine", "on_antithyroid_medication", "sick", "pregnant",
    "thyroid_surgery", "i131_treatment", "query_hypothyroid", "query_hyperthyroid", "lithium", "goitre", "tumor",
    "hypopituitary", "psych", "tsh_measured", "tsh", "t3_measured", "t3", "tt4_measured", "tt4", "t4u_measured",
    "t4u", "fti_measured", "fti", "tbg_measured", "tbg", "referral_source", "class",
)  # fmt: skip
CONTINUOUS = ("age", "tsh", "t3", "t4u", "fti")
BINARY = COLUMNS[1:16]


def thyroid(shared: Path) -> dict[str, np.ndarray]:
    """Columns by name: complete on the twenty columns, without the record whose age is 455.

    `shared` is the folder of reference data (fixture `shared`). Binary columns hold text.
    """
    used = [COLUMNS.index(name) for name in (*CONTINUOUS, *BINARY)]
    with (shared / "data" / "thyroid_allbp.data").open() as file:
        rows = [row for row in csv.reader(file) if all(row[j] != "?" for j in used)]
    rows = [row for row in rows if row[0] != "455"]
    columns = {name: np.array([row[COLUMNS.index(name)] for row in rows]) for name in (*CONTINUOUS, *BINARY)}
    return columns | {name: columns[name].astype(float) for name in CONTINUOUS}


def thyroid_continuous(shared: Path) -> np.ndarray:
    """Shape (1947, 5); the continuous columns, standardised by mean and n-1 standard deviation."""
    columns = thyroid(shared)
    x = np.column_stack([columns[name] for name in CONTINUOUS])
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
