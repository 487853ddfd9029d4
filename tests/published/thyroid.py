"""THYROID as Oganian & Domingo-Ferrer (2017) used it: 1947 records, 5 continuous and 15 binary columns."""

import numpy as np
import polars as pl

from published.reference import reference

CONTINUOUS = ("age", "tsh", "t3", "t4u", "fti")
BINARY = (
    "sex", "on_thyroxine", "query_on_thyroxine", "on_antithyroid_medication", "sick", "pregnant", "thyroid_surgery",
    "i131_treatment", "query_hypothyroid", "query_hyperthyroid", "lithium", "goitre", "tumor", "hypopituitary", "psych",
)  # fmt: skip


def thyroid() -> dict[str, np.ndarray]:
    """Columns by name: complete on the twenty columns, without the record whose age is 455.

    Binary columns hold text.
    """
    frame = pl.read_csv(reference("thyroid.csv")).filter(pl.col("age") != 455)
    return {
        **{name: frame[name].cast(pl.Float64).to_numpy() for name in CONTINUOUS},
        **{name: np.array(frame[name].to_list()) for name in BINARY},
    }


def thyroid_continuous() -> np.ndarray:
    """Shape (1947, 5); the continuous columns, standardised by mean and n-1 standard deviation."""
    columns = thyroid()
    x = np.column_stack([columns[name] for name in CONTINUOUS])
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
