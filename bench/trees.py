"""Sequential synthesis by trees: CPU time by records and columns.

    python bench/trees.py            # 10 000 and 100 000 records, 15 columns
    python bench/trees.py 1000000x15

Half of the columns are numbers and half categories, each depending on those before it.
"""

import argparse
import time

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records

SIZES = ["10000x15", "100000x15"]


def table(n: int, d: int) -> Records:
    rng = np.random.default_rng(1)
    columns: dict[str, np.ndarray] = {}
    common = rng.normal(size=n)
    for j in range(d):
        value = common + rng.normal(size=n)
        columns[f"c{j}"] = (
            np.round(np.exp(value), 2) if j % 2 else np.char.add("k", np.digitize(value, [-2, -1, 0, 1, 2]).astype(str))
        )
    frame = pl.DataFrame(columns)
    return Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=SIZES, help="records x columns, as in 100000x15")
    args = parser.parse_args()
    for size in args.sizes:
        n, d = map(int, size.split("x"))
        records = table(n, d)
        whole = Partition(labels=np.zeros(n, dtype=np.int32))
        for method in (shoal.Cart(), shoal.Forest(trees=5)):
            start = time.process_time()
            method.apply(records, records.names(), whole, np.random.default_rng(1))
            print(f"{n:>9,} x {d}  {method.method_name:8s} {time.process_time() - start:7.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
