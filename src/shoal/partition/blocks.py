"""Partitioning block by block, for tables on which the exact algorithm takes too long."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from shoal.kernels.partition import principal_blocks
from shoal.table.prelude import Floats, Ints, Longs, Partition, Progress
from shoal.vocabulary.facts import Count

LOOK_EVERY = 0.1
"""Seconds between two looks at the workers; a choice of ours, well under what a person notices."""


class _Stopped(Exception):  # noqa: N818, it stops a worker and is never seen
    pass


def in_blocks(x: Floats, smallest: int, group: Callable[[Longs, Progress], Ints], progress: Progress) -> Partition:
    """Partition blocks of at least `smallest` records apart, on as many threads as there are processors.

    `group` is given the rows of a block.

    Blocks are cut at medians of first principal components. The result does not depend on the number of
    threads. An interrupt stops all of them.
    """
    blocks = principal_blocks(x, smallest)
    sizes = np.bincount(blocks)
    members = np.split(np.argsort(blocks, kind="stable"), np.cumsum(sizes)[:-1])
    done = np.zeros(len(sizes))
    stop = threading.Event()

    def work(number: int) -> Ints:
        def report(fraction: float) -> None:
            if stop.is_set():
                raise _Stopped
            done[number] = fraction

        report(0.0)
        return group(members[number], report)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(work, number) for number in range(len(sizes))]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, LOOK_EVERY, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(float(done @ sizes / sizes.sum()))
        finally:
            stop.set()
    labels = np.empty(len(x), dtype=np.int32)
    count = 0
    for rows, future in zip(members, futures):
        labels[rows] = future.result() + count
        count = int(labels[rows].max()) + 1
    return Partition(
        labels=labels, facts={"blocks": Count(n=len(sizes), unit="blocks"), "smallest block": Count(n=int(sizes.min()))}
    )
