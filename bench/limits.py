"""How near the kernels come to what the machine can do: what must be read at least, and how fast it is read.

    python bench/limits.py

Rates are of one thread, in one run. What reading costs is the rate of a sum: over an array as large as the kernel's,
which the caches hold, and over 400 MB, which they do not.
"""

import os
import time
from collections.abc import Callable

import numpy as np

import shoal
from alone import timed
from shoal.kernels.classes import class_sizes
from shoal.kernels.partition import mdav
from shoal.table.records import Records

K = 5


def reading(megabytes: float) -> float:
    """GB/s of a sum over an array, the best of some."""
    x = np.ones(int(megabytes * 1e6 / 8))
    times = max(3, int(400 / megabytes))
    return max(x.nbytes * times / timed(lambda: [x.sum() for _ in range(times)])[0] / 1e9 for _ in range(5))


def mdav_scans(n: int, d: int) -> None:
    """Three looks at all records that are left, for each two groups: farthest from the mean, near and far, near."""
    x = np.random.default_rng(0).normal(size=(n, d))
    looks = 3 * sum(range(n, 3 * K, -2 * K))
    scan, labels = timed(mdav, x, K, engine="brute")
    tree, same = timed(mdav, x, K, engine="tree")
    assert (labels == same).all()
    read, cached = looks * d * 8 / 1e9, reading(n * d * 8 / 1e6)
    print(
        f"mdav, {n:,} x {d}: three looks read {read:.1f} GB; all looked at, {read / scan:.1f} GB/s; by the tree as if "
        f"{read / tree:.1f} GB/s; a sum {cached:.1f}, from memory {reading(400):.1f}"
    )


def sorting(n: int, d: int) -> None:
    x = np.random.default_rng(0).normal(size=(n, d))
    records, method = Records.from_array(x), shoal.RankSwap(p=0.05)
    swap, _ = timed(lambda: method.apply(records, records.quasi_identifiers, np.random.default_rng(0)))
    columns = [np.ascontiguousarray(column) for column in x.T]
    sort, _ = timed(lambda: [np.argsort(column, kind="stable") for column in columns])
    print(f"rank-swap, {n:,} x {d}: {swap:.2f} s; a stable sort of the columns alone {sort:.2f} s")


def classes(n: int, d: int) -> None:
    codes = np.random.default_rng(0).integers(0, 50, (d, n)).astype(np.int32)
    proof, _ = timed(class_sizes, list(codes), n)
    numbers = np.random.default_rng(1).integers(0, 2**40, n)
    sort, _ = timed(np.sort, numbers)
    once = codes.nbytes / reading(400) / 1e9
    print(
        f"classes, {n:,} x {d} codes: {proof * 1e3:.0f} ms, {proof / once:.0f} times as long as to read the codes; "
        f"np.sort of one number a record {sort * 1e3:.0f} ms"
    )


def threads(title: str, call: Callable[[], np.ndarray]) -> None:
    """Seconds by the clock on one processor and on all, and the same bytes."""
    every, seconds, results = os.sched_getaffinity(0), [], []
    for processors in ({min(every)}, every):
        os.sched_setaffinity(0, processors)
        begin = time.perf_counter()
        results.append(call().tobytes())
        seconds.append(time.perf_counter() - begin)
    assert results[0] == results[1]
    print(f"{title}: {seconds[0]:.2f} s on one processor, {seconds[1]:.2f} s on {len(every)}, same bytes")


def main() -> None:
    for n, d in ((20_000, 5), (20_000, 50), (100_000, 5)):
        mdav_scans(n, d)
    sorting(1_000_000, 5)
    classes(1_000_000, 6)
    x = np.random.default_rng(0).normal(size=(1_000_000, 5))
    records, blocks = Records.from_array(x), shoal.MDAV(k=K, block_size=50_000)
    threads(
        "mdav in blocks of 50,000, 1,000,000 x 5",
        lambda: blocks.assign(records, records.quasi_identifiers, np.random.default_rng(0), None).labels,
    )
    codes = [np.random.default_rng(j).integers(0, 40, len(x)) for j in range(8)]
    names = Records.from_array(np.stack(codes, axis=1).astype(float))
    threads(
        "who is alone without a column, 1,000,000 x 8",
        lambda: np.array(names.alone_without(names.quasi_identifiers)[1]),
    )


if __name__ == "__main__":
    main()
