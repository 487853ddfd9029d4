"""Masking methods against named alternatives, in one run; CPU seconds of this process.

    python bench/masking.py            all
    python bench/masking.py suppress   one

sdcMicro's figures (5.8.1, R 4.2.2, another run on a shared two-core machine) stand beside ours for reference; they
were not measured here. The other alternatives are: plain NumPy and pandas, written as one would write them.
"""

import sys

import numpy as np
import pandas as pd

import shoal
from alone import timed
from shoal.kernels.suppression import wildcard_counts
from shoal.mask._suppression.task import distinct_rows
from shoal.table.hierarchy import Hierarchy
from shoal.table.records import Records
from shoal.table.variable import Variable

SDCMICRO = {
    "rank swap, 1 000 000 x 5": 91.4,
    "suppress, 100 000 x 6, 28 000 classes": 844.7,
    "wildcard counts, 10 000 x 6": 6.17,
    "PRAM, 1 000 000, 10 categories": 9.89,
}


def line(task: str, ours: float, other: str, theirs: float, note: str = "") -> None:
    known = f"  (sdcMicro {SDCMICRO[task]:g} s)" if task in SDCMICRO else ""
    ratio = f"{other}: {theirs:8.3f} s   {theirs / ours:6.1f} times"
    print(f"{task:44s} {ours:8.3f} s   {ratio}{known}  {note}", flush=True)


def keys(n: int, m: int, slope: float, seed: int = 0) -> np.ndarray:
    """Six keys with m categories each, of frequencies proportional to rank^-slope."""
    share = 1 / np.arange(1, m + 1) ** slope
    return np.random.default_rng(seed).choice(m, (n, 6), p=share / share.sum()).astype(np.int32)


def records_of(codes: np.ndarray) -> Records:
    m = int(codes.max()) + 1
    return Records.of(
        [
            Variable(
                name=f"k{j}",
                role="quasi-identifier",
                level="nominal",
                categories=tuple(range(m)),
                values=np.ascontiguousarray(codes[:, j]),
            )
            for j in range(codes.shape[1])
        ]
    )


def naive_rank_swap(x: np.ndarray, p: float, rng: np.random.Generator) -> np.ndarray:
    """The textbook loop: each free rank draws a partner from a list of the free ranks in its window."""
    out = x.copy()
    order = np.argsort(x, kind="stable")
    n, window = len(x), int(p * len(x))
    free = np.ones(n, dtype=bool)
    for i in range(n):
        if free[i]:
            free[i] = False
            ahead = np.flatnonzero(free[i + 1 : i + 1 + window])
            if len(ahead):
                j = i + 1 + int(rng.choice(ahead))
                free[j] = False
                out[order[i]], out[order[j]] = x[order[j]], x[order[i]]
    return out


def rank_swap() -> None:
    x = np.random.default_rng(0).normal(size=(1_000_000, 5))
    records, method = Records.from_array(x), shoal.RankSwap(p=0.05)
    ours, _ = timed(lambda: method.apply(records, records.quasi_identifiers, np.random.default_rng(0)))
    small = x[:20_000]
    few, _ = timed(
        lambda: method.apply(data := Records.from_array(small), data.quasi_identifiers, np.random.default_rng(0))
    )
    loop, _ = timed(lambda: [naive_rank_swap(c, 0.05, np.random.default_rng(0)) for c in small.T])
    line("rank swap, 20 000 x 5", few, "NumPy loop", loop)
    line("rank swap, 1 000 000 x 5", ours, "sort alone", timed(lambda: np.argsort(x, axis=0, kind="stable"))[0])


def naive_suppress(codes: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Blank single keys where one suffices, then key after key in every record still under k: fast and wasteful."""
    out = codes.copy()
    table, ids, counts = distinct_rows(out)
    short = wildcard_counts(table, counts)[ids] < k
    for size in range(1, codes.shape[1] + 1):
        for j in range(codes.shape[1]):
            rows = np.flatnonzero(short)
            if not len(rows):
                return out, int((out < 0).sum())
            trial = out.copy()
            trial[rows, j] = -1
            table, ids, counts = distinct_rows(trial)
            helped = rows[wildcard_counts(table, counts)[ids][rows] >= k] if size == 1 else rows
            out[helped, j] = -1
            table, ids, counts = distinct_rows(out)
            short = wildcard_counts(table, counts)[ids] < k
    return out, int((out < 0).sum())


def suppress() -> None:
    hard, harder = "suppress, 100 000 x 6, 28 000 classes", "suppress, 100 000 x 6, 50 000 classes"
    for name, m, slope in ((hard, 7, 1.2), (harder, 9, 1.1)):
        codes = keys(100_000, m, slope)
        records = records_of(codes)
        ours, change = timed(
            lambda records=records: shoal.Suppress(k=3).apply(
                records, records.quasi_identifiers, np.random.default_rng(0)
            )
        )
        theirs, (_, cells) = timed(lambda codes=codes: naive_suppress(codes, 3))
        (note,), ours_cells = change.details["searches"].values(), change.details["cells suppressed"]
        classes = len(distinct_rows(codes)[0])
        line(
            name,
            ours,
            "key by key",
            theirs,
            f"{note['records at risk']:,} at risk in {classes:,} classes; {ours_cells:,} cells against {cells:,}",
        )


def naive_counts(codes: np.ndarray) -> np.ndarray:
    return np.array([((codes == row) | (codes < 0) | (row < 0)).all(axis=1).sum() for row in codes])


def wildcards() -> None:
    codes = keys(1_000_000, 8, 1.2)
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = -1
    for n in (10_000, 1_000_000):
        records = records_of(codes[:n])
        ours, matching = timed(lambda records=records: records.matching(records.names(), "wildcard"))
        if n == 10_000:
            theirs, expected = timed(lambda: naive_counts(codes[:10_000]))
            if not np.array_equal(matching, expected):
                raise SystemExit("the counts differ")
            line("wildcard counts, 10 000 x 6", ours, "NumPy, pairs", theirs)
        else:
            classes, _ = timed(lambda records=records: records.classes(records.names()))
            line("wildcard counts, 1 000 000 x 6", ours, "classes only", classes)


def pram() -> None:
    codes = keys(1_000_000, 10, 0.5)[:, :1]
    records = records_of(codes)
    method = shoal.Pram(diagonal=0.8)
    ours, _ = timed(lambda: method.apply(records, records.quasi_identifiers, np.random.default_rng(0)))
    matrix = method.transition(records["k0"], np.bincount(codes[:, 0]).astype(float))
    rng = np.random.default_rng(0)
    few, _ = timed(lambda: [rng.choice(10, p=matrix[c]) for c in codes[:20_000, 0]])
    line("PRAM, 1 000 000, 10 categories", ours, "choice a cell", few * 50, "(alternative scaled up from 20 000)")


def generalise() -> None:
    g = np.random.default_rng(0)
    sizes = [74, 8, 16, 7, 14, 5, 2, 41]
    widths = [[5, 10, 20, 40], [2, 4], [2, 4, 8], [2, 4], [2, 6], [2], [], [5, 20]]
    frame, spec = {}, {}
    for j, (size, steps) in enumerate(zip(sizes, widths)):
        leaves = [f"{j}-{i:02d}" for i in range(size)]
        score = np.abs(g.normal(size=30_162))
        frame[f"q{j}"] = np.array(leaves)[np.minimum((score / np.quantile(score, 0.995) * size).astype(int), size - 1)]
        paths = tuple((leaf, *(f"{w}:{i // w}" for w in steps), "*") for i, leaf in enumerate(leaves))
        spec[f"q{j}"] = {"role": "quasi-identifier", "hierarchy": Hierarchy(paths)}
    records = shoal.Microdata.of(pd.DataFrame(frame), spec).records
    for recoding, seen in {"full-domain": "nodes looked at", "local": "nodes visited"}.items():
        method = shoal.Generalise(k=5, suppression=0.02, recoding=recoding)
        ours, change = timed(
            lambda method=method: method.apply(records, records.quasi_identifiers, np.random.default_rng(0))
        )
        facts = change.details
        one, _ = timed(lambda: records.classes(records.names()))
        line(
            f"generalise, Adult-like, {recoding}",
            ours,
            "every node",
            one * facts["nodes"],
            f"loss {facts['loss']:.3f}; {facts[seen]:,} of {facts['nodes']:,} nodes "
            f"(alternative: one count of classes times all nodes)",
        )


TASKS = {"rank-swap": rank_swap, "suppress": suppress, "wildcards": wildcards, "pram": pram, "generalise": generalise}

if __name__ == "__main__":
    for task in sys.argv[1:] or TASKS:
        TASKS[task]()
