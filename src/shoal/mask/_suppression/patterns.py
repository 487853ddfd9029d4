"""Local suppression where a missing cell does not match every value.

Under `nothing`, records with missing cells support no one, so a record is made safe by complete records
alone: those whose class holds k to begin with, for every other complete record must lose a cell. Each record
at risk then has a cheapest set of its own, and together these sets are optimal.

Under `equal`, records are to fall into classes of k that miss the same cells and agree on the others: the
problem of optimal suppression is NP-hard (Meyerson & Williams 2004).
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Bools, Longs
from shoal.mask._suppression.collection import Collection
from shoal.mask._suppression.task import Losses, SuppressionTask, row_ids

Sets = list[tuple[int, ...]]

WHIM = 0.8
"""By up to this share the costs of sets vary from start to start."""


def lone_sets(task: SuppressionTask) -> Losses:
    """The cheapest set of cells of each record at risk under `nothing`."""
    codes, need = task.codes, task.k - 1
    safe = (codes >= 0).all(axis=1) & (task.counts >= task.k)
    allowance, left = task.allowance.copy(), task.counts.copy()  # of each row, the records that wait
    rows: list[Longs] = []
    blanks: Sets = []
    waiting = np.flatnonzero(~safe & ~_supported(task, safe, np.flatnonzero(~safe), (), need))
    for chosen in task.sets():
        if not len(waiting):
            break
        able = waiting[(codes[waiting][:, chosen] >= 0).all(axis=1)]
        now = able[_supported(task, safe, able, chosen, need)[able]]
        allowed = int(allowance[list(chosen)].min()) - (np.cumsum(left[now]) - left[now])
        times = np.clip(allowed, 0, left[now])
        allowance[list(chosen)] -= times.sum()
        left[now] -= times
        rows.append(np.repeat(now, times))
        blanks.append(chosen)
        waiting = waiting[left[waiting] > 0]
    return Losses.of_sets(rows, blanks, codes.shape[1])


def _supported(task: SuppressionTask, safe: Bools, rows: Longs, chosen: tuple[int, ...], need: int) -> Bools:
    """Shape (r,); which of some rows agree with `need` safe records outside a set and their missing cells."""
    codes = task.codes
    out = np.zeros(len(codes), dtype=bool)
    patterns = row_ids((codes[rows] < 0).astype(np.int32)) if len(rows) else np.empty(0, dtype=np.int64)
    for pattern in range(int(patterns.max(initial=-1)) + 1):
        same = rows[patterns == pattern]
        seen = [j for j in range(codes.shape[1]) if j not in chosen and codes[same[0], j] >= 0]
        ids = row_ids(codes[:, seen])
        out[same] = np.bincount(ids[safe], weights=task.counts[safe], minlength=len(codes))[ids[same]] >= need
    return out


def pattern_groups(task: SuppressionTask, rng: Generator, *, starts: int) -> Losses:
    """Sets of cells that leave classes of k under `equal`: the best of several greedy collections.

    The first start takes the cheapest sets first; the others vary the order at random. Records are looked at one by
    one, but no more than `enough` of each row.
    """
    times = np.minimum(task.counts, enough(task.k))
    single = replace(task, codes=np.repeat(task.codes, times, axis=0), counts=np.ones(int(times.sum()), dtype=np.int64))
    blank = _best_collection(single, rng, starts)
    at_risk = np.flatnonzero(blank.any(axis=1))
    return Losses(rows=np.repeat(np.arange(len(times)), times)[at_risk], cells=blank[at_risk])


def enough(k: int) -> int:
    """Records of a row that stand for any number of them in a collection.

    A class of 2k - 1 gives k - 1 records to others, which never need more, and is a class of k thereafter.
    """
    return 2 * k - 1


def _best_collection(task: SuppressionTask, rng: Generator, starts: int) -> Bools:
    """The cells to blank, where each row is one record."""
    best: Bools | None = None
    sets = task.sets()
    finite = np.where(np.isfinite(task.cost), task.cost, 0.0)
    for start in range(starts):
        whim = 1 + WHIM * rng.random(len(sets)) if start else np.ones(len(sets))
        order = np.argsort([finite[list(chosen)].sum() * w for chosen, w in zip(sets, whim)], kind="stable")
        collection = Collection(task)
        collection.collect([sets[i] for i in order], sets, refine=starts > 1)
        blank, whole = collection.blank, not collection.waiting.any()
        if best is None or (whole and (blank.sum(axis=0) * finite).sum() < (best.sum(axis=0) * finite).sum()):
            best = blank
        if not whole:
            break  # the limits bind; what fails will be said by the proof
    return np.zeros(task.codes.shape, dtype=bool) if best is None else best
