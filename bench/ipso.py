"""IPSO by random frames against its definition X' = P X + U O U'X, in one run.

    python bench/ipso.py [records]

The definition needs U (n x d) and O (d x d), so it is run on a few thousand records and its growth is the cube of
their number; the construction used is linear. The second part replaces a million records in groups of ten, against
the definition group by group.
"""

import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from naive.ipso import ipso

NEW, GIVEN = ("x0", "x1"), ("y0", "y1")


def table(n: int) -> Records:
    x = np.random.default_rng(0).normal(size=(n, 4))
    return Records.from_array(x, names=[*NEW, *GIVEN])


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def ours(records: Records, labels) -> float:
    method = shoal.IPSO(given=GIVEN)
    part = Partition(labels=labels)
    return seconds(lambda: method.apply(records, NEW, part, np.random.default_rng(1)))


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print("One group (fully synthetic), CPU seconds")
    for size in (1_000, 2_000, 3_000):
        records = table(size)
        slow = seconds(lambda r=records: ipso(r.raw(NEW), r.raw(GIVEN), np.random.default_rng(1)))
        fast = ours(records, np.zeros(size, dtype=np.int32))
        print(f"{size:>9,}: definition {slow:8.2f}, here {fast:7.3f}, ratio {slow / fast:8.1f}")
    records = table(n)
    fast = ours(records, np.zeros(n, dtype=np.int32))
    tracemalloc.start()
    ours(records, np.zeros(n, dtype=np.int32))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(
        f"{n:>9,}: here {fast:.2f}, work memory {peak / (n * 4 * 8):.1f} times the table; O alone would take "
        f"{8 * n * n / 1e12:,.1f} terabytes"
    )
    print(f"\n{n:,} records in groups of ten, CPU seconds")
    fast = ours(records, np.arange(n, dtype=np.int32) // 10)
    some, x, y = min(n, 20_000), records.raw(NEW), records.raw(GIVEN)
    rng = np.random.default_rng(1)
    slow = n / some * seconds(lambda: [ipso(x[i : i + 10], y[i : i + 10], rng) for i in range(0, some, 10)])
    print(f"definition group by group {slow:.1f} (from {some:,} records), here {fast:.1f}, ratio {slow / fast:.1f}")


if __name__ == "__main__":
    main()
