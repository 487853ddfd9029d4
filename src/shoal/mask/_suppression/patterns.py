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

from shoal.kernels.arrays import Bools, Ints, Longs
from shoal.mask._suppression.task import Losses, Task, row_ids

Sets = list[tuple[int, ...]]

WHIM = 0.8
"""By up to this share the costs of sets vary from start to start."""


def lone_sets(task: Task) -> Losses:
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


def _supported(task: Task, safe: Bools, rows: Longs, chosen: tuple[int, ...], need: int) -> Bools:
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


def pattern_groups(task: Task, rng: Generator, *, starts: int) -> Losses:
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


def _best_collection(task: Task, rng: Generator, starts: int) -> Bools:
    """The cells to blank, where each row is one record."""
    best: Bools | None = None
    sets = task.sets()
    finite = np.where(np.isfinite(task.cost), task.cost, 0.0)
    for start in range(starts):
        whim = 1 + WHIM * rng.random(len(sets)) if start else np.ones(len(sets))
        order = np.argsort([finite[list(chosen)].sum() * w for chosen, w in zip(sets, whim)], kind="stable")
        blank, whole = _collection(task, [sets[i] for i in order], sets, refine=starts > 1)
        if best is None or (whole and (blank.sum(axis=0) * finite).sum() < (best.sum(axis=0) * finite).sum()):
            best = blank
        if not whole:
            break  # the limits bind; what fails will be said by the proof
    return np.zeros(task.codes.shape, dtype=bool) if best is None else best


def _collection(task: Task, order: Sets, sets: Sets, *, refine: bool) -> tuple[Bools, bool]:
    """The cells to blank after one greedy collection, and whether every record found a class."""
    blank = np.zeros(task.codes.shape, dtype=bool)
    allowance = task.allowance.copy()
    ids = row_ids(task.codes)
    waiting = np.bincount(ids)[ids] < task.k
    for chosen in order:
        if not waiting.any():
            break
        _collect(task, blank, allowance, waiting, chosen)
    if waiting.any() and sets:
        _draw_in_donors(task, blank, allowance, waiting, max(sets, key=len))
    for _ in range(2 if refine else 0):  # a second pass meets the room that the first has made
        for chosen in sets:
            _move_to_cheaper(task, blank, chosen)
    return blank, not waiting.any()


def _released(task: Task, blank: Bools) -> Ints:
    return np.where(blank, np.int32(-1), task.codes)


def _collect(task: Task, blank: Bools, allowance: Longs, waiting: Bools, chosen: tuple[int, ...]) -> None:
    """Blank a set in all waiting records that then form, or join, a class of k."""
    table = _released(task, blank)
    rows = np.flatnonzero(waiting & (table[:, chosen] >= 0).any(axis=1))
    table[rows] = np.where(np.isin(np.arange(table.shape[1]), chosen), -1, table[rows])
    ids = row_ids(table)
    alike = ~waiting
    alike[rows] = True
    sizes = np.bincount(ids, weights=alike)
    for group in np.unique(ids[rows[sizes[ids[rows]] >= task.k]]):
        members = rows[ids[rows] == group]
        _blank(task, blank, allowance, members, chosen)
    waiting[rows[blank[rows].any(axis=1)]] = False


def _blank(task: Task, blank: Bools, allowance: Longs, rows: Longs, chosen: tuple[int, ...]) -> bool:
    """Blank a set in some records if there is room for all of them."""
    cells = np.zeros((len(rows), task.codes.shape[1]), dtype=bool)
    cells[:, chosen] = True
    cells &= (task.codes[rows] >= 0) & ~blank[rows]
    if (cells.sum(axis=0) > allowance).any():
        return False
    blank[rows] |= cells
    allowance -= cells.sum(axis=0)
    return True


def _draw_in_donors(task: Task, blank: Bools, allowance: Longs, waiting: Bools, chosen: tuple[int, ...]) -> None:
    """Fill up classes of fewer than k that are left when everything is blanked, from classes that can spare."""
    final = _released(task, blank)
    fully = task.codes.copy()
    fully[:, chosen] = -1
    places = row_ids(fully)
    for place in np.unique(places[waiting]):
        inside = np.flatnonzero(places == place)
        short = inside[waiting[inside]]
        ids = row_ids(final[inside])
        sizes = np.bincount(ids)
        others = np.flatnonzero(~waiting[inside])
        spare = others[_rank_in_group(ids[others]) < (sizes[ids[others]] - task.k)]
        need = max(task.k - len(short), 0)
        taken = spare[:need]
        if len(taken) < need and len(others):
            smallest = ids[others][np.argmin(sizes[ids[others]])]
            taken = np.union1d(taken, others[ids[others] == smallest])
        if len(short) + len(taken) >= task.k and _blank(
            task, blank, allowance, np.concatenate([short, inside[taken]]), chosen
        ):
            waiting[short] = False


def _move_to_cheaper(task: Task, blank: Bools, chosen: tuple[int, ...]) -> None:
    """Give records of classes with more than k the cheaper set `chosen` where that leads into a class."""
    inside = np.isin(np.arange(len(task.cost)), chosen)
    cost = np.where(np.isfinite(task.cost), task.cost, 0.0)
    table = _released(task, blank)
    ids = row_ids(table)
    sizes = np.bincount(ids)
    dear = np.flatnonzero((blank * cost).sum(axis=1) > cost[list(chosen)].sum() + 1e-12)
    present = task.codes >= 0
    within = (blank[dear] & ~inside).any(axis=1) & ~(~blank[dear] & present[dear] & inside).any(axis=1)
    dear = dear[within]
    spare = dear[_rank_in_group(ids[dear]) < sizes[ids[dear]] - task.k]
    moved = task.codes[spare].copy()
    moved[:, chosen] = -1
    both = row_ids(np.vstack([table, moved]))
    home = np.bincount(both[: len(table)], minlength=int(both.max(initial=-1)) + 1)[both[len(table) :]]
    going = spare[home >= task.k]
    blank[going] = present[going] & inside


def _rank_in_group(ids: Longs) -> Longs:
    """Shape (n,); 0 for the first element of each group, 1 for the second, and so on."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids)) - np.searchsorted(ordered, ordered)
    return rank
