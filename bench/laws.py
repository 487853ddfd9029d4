"""Laws of a table listed before anything is planned, and a release with ranges judged by them: CPU seconds.

python bench/laws.py [records] [columns]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import shoal
from shoal.judges.laws_of_table import laws_in_frame


def table(records: int, columns: int) -> pl.DataFrame:
    """Columns of numbers and of codes, half and half; an age and a year of birth among them."""
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, records)
    drawn = {
        f"c{n}": rng.integers(0, 50 * (n + 1), records) if n % 2 else rng.integers(0, 9, records).astype(str)
        for n in range(columns - 2)
    }
    return pl.DataFrame({"age": age, "year": 2024 - age, **drawn})


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(records: int = 100_000, columns: int = 20) -> None:
    """Print both times."""
    frame = table(records, columns)
    print(
        f"laws of {records:,} records and {columns} columns: {seconds(lambda: laws_in_frame(frame)):.1f} s", flush=True
    )
    roles = dict.fromkeys(frame.columns, "other") | {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [20]}}
    }
    plan = {
        "columns": roles,
        "steps": [{"mask": "generalise", "k": 5, "columns": ["age"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
        "accept": frame.columns[1:],
    }
    print(f"a release with ranges of ages: {seconds(lambda: shoal.protect(frame, plan, seed=1)):.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
