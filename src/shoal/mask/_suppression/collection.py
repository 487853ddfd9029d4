"""One greedy collection of classes under `equal`: which records lose which cells, set of columns by set of columns.

Records that miss different cells are never in one class, so that each step compares only those that miss the same.
"""

from collections.abc import Sequence

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.classes import classes
from shoal.mask._suppression.task import SuppressionTask, row_ids


class Collection:
    """Records at risk on their way into classes, each row of the task one record."""

    def __init__(self, task: SuppressionTask) -> None:
        self._task = task
        self._columns = np.ascontiguousarray(task.codes.T)
        self._free = [j for j in range(len(task.cost)) if np.isfinite(task.cost[j]) and task.allowance[j] > 0]
        self._cost, self._allowance = task.cost[self._free], task.allowance[self._free]
        # Shape (n,); a bit for each free column: the cells that a record misses now; those blanked of them
        self._missing = _bits(task.codes[:, self._free] < 0)
        self._blanked = np.zeros(len(task.codes), dtype=np.int64)
        ids = row_ids(task.codes)
        self.waiting: Bools = np.bincount(ids)[ids] < task.k  # Shape (n,); records that have found no class

    @property
    def blank(self) -> Bools:
        """Shape (n, q); the cells to blank."""
        cells = np.zeros(self._task.codes.shape, dtype=bool)
        cells[:, self._free] = self._cells(self._blanked)
        return cells

    def collect(self, order: Sequence[tuple[int, ...]], sets: Sequence[tuple[int, ...]], *, refine: bool) -> None:
        """Try the sets in an order, then fill up what is left; twice the way back to cheaper ones to refine it.

        `sets`: the same, cheapest first.
        """
        for chosen in order:
            if not self.waiting.any():
                break
            self._classes_of(self._bit(chosen))
        if self.waiting.any() and sets:
            self._draw_in_donors(self._bit(max(sets, key=len)))
        for _ in range(2 if refine else 0):  # a second pass meets the room that the first has made
            for chosen in sets:
                self._move_to_cheaper(chosen)

    def _ids(self, rows: Longs, missing: Longs) -> Longs:
        """Shape (m,); classes of some records if they miss such cells, in lexicographic order, -1 before all codes."""
        columns = [codes[rows] for codes in self._columns]
        for place, j in enumerate(self._free):
            columns[j] = np.where(missing >> place & 1, np.int32(-1), columns[j])
        return classes(columns, len(rows))[0]

    def _classes_of(self, chosen: int) -> None:
        """Blank a set in all waiting records that then form, or join, a class of k."""
        rows = np.flatnonzero(self.waiting & (~self._missing & chosen != 0))
        moved = self._missing[rows] | chosen
        there = np.flatnonzero(~self.waiting & (self._missing & chosen == chosen))
        there = there[np.isin(self._missing[there], np.unique(moved))]
        ids = self._ids(np.concatenate([rows, there]), np.concatenate([moved, self._missing[there]]))
        large = np.bincount(ids, minlength=1)[ids[: len(rows)]] >= self._task.k
        order = np.argsort(ids[: len(rows)][large], kind="stable")
        members = rows[large][order]
        ends = np.flatnonzero(np.diff(ids[: len(rows)][large][order], append=-1))
        cells = self._lost(members, chosen)
        if (cells.sum(axis=0) <= self._allowance).all():
            self._take(members, chosen, cells)
            return
        for group in np.split(members, ends[:-1] + 1):
            self._blank(group, chosen)

    def _lost(self, rows: Longs, chosen: int) -> Bools:
        """Shape (m, f); cells of the free columns that some records lose with a set."""
        return self._cells(~self._missing[rows] & chosen)

    def _blank(self, rows: Longs, chosen: int) -> bool:
        """Blank a set in some records if there is room for all of them."""
        cells = self._lost(rows, chosen)
        if (cells.sum(axis=0) > self._allowance).any():
            return False
        self._take(rows, chosen, cells)
        return True

    def _take(self, rows: Longs, chosen: int, cells: Bools) -> None:
        self._allowance -= cells.sum(axis=0)
        self._blanked[rows] |= ~self._missing[rows] & chosen
        self._missing[rows] |= chosen
        self.waiting[rows] &= self._blanked[rows] == 0

    def _draw_in_donors(self, chosen: int) -> None:
        """Fill up classes of fewer than k that are left when everything is blanked, from classes that can spare."""
        k, every = self._task.k, np.arange(len(self.waiting))
        final = self._ids(every, self._missing)
        places = self._ids(every, _bits(self._task.codes[:, self._free] < 0) | chosen)
        order = np.argsort(places, kind="stable")
        begins = np.append(np.searchsorted(places[order], np.arange(int(places.max()) + 1)), len(places))
        for place in np.unique(places[self.waiting]):
            inside = order[begins[place] : begins[place + 1]]
            short = inside[self.waiting[inside]]
            ids = np.unique(final[inside], return_inverse=True)[1]
            sizes = np.bincount(ids)
            others = np.flatnonzero(~self.waiting[inside])
            spare = others[_rank_in_group(ids[others]) < (sizes[ids[others]] - k)]
            need = max(k - len(short), 0)
            taken = spare[:need]
            if len(taken) < need and len(others):
                smallest = ids[others][np.argmin(sizes[ids[others]])]
                taken = np.union1d(taken, others[ids[others] == smallest])
            if len(short) + len(taken) >= k and self._blank(np.concatenate([short, inside[taken]]), chosen):
                self.waiting[short] = False

    def _move_to_cheaper(self, columns: tuple[int, ...]) -> None:
        """Give records of classes with more than k the cheaper set of columns where that leads into a class."""
        chosen, k = self._bit(columns), self._task.k
        original = self._missing & ~self._blanked
        able = np.flatnonzero((self._blanked & ~chosen != 0) & (~self._blanked & ~original & chosen == 0))
        if not len(able):
            return
        dear = able[self._costs(self._blanked[able]) > self._task.cost[list(columns)].sum() + 1e-12]
        if not len(dear):
            return
        peers = np.flatnonzero(np.isin(self._missing, np.unique(self._missing[dear])))
        ids = self._ids(peers, self._missing[peers])
        of_dear = ids[np.searchsorted(peers, dear)]
        spare = dear[_rank_in_group(of_dear) < np.bincount(ids, minlength=1)[of_dear] - k]
        moved = original[spare] | chosen
        there = np.flatnonzero(np.isin(self._missing, np.unique(moved)))
        both = self._ids(np.concatenate([there, spare]), np.concatenate([self._missing[there], moved]))
        home = np.bincount(both[: len(there)], minlength=int(both.max(initial=-1)) + 1)[both[len(there) :]]
        going = spare[home >= k]
        self._blanked[going] = ~original[going] & chosen
        self._missing[going] = original[going] | chosen

    def _costs(self, blanked: Longs) -> Floats:
        """Shape (m,); what some sets of cells cost."""
        sets, which = np.unique(blanked, return_inverse=True)
        return np.asarray((self._cells(sets) * self._cost).sum(axis=1)[which])

    def _cells(self, bits: Longs) -> Bools:
        """Shape (m, f); the free columns that bits stand for."""
        return np.asarray((bits[:, None] >> np.arange(len(self._free))) & 1 == 1)

    def _bit(self, columns: Sequence[int]) -> int:
        return sum(1 << self._free.index(j) for j in columns)


def _bits(cells: Bools) -> Longs:
    """Shape (n,); the cells of each row that are true, as bits of a number."""
    bits = np.zeros(len(cells), dtype=np.int64)
    for j in range(cells.shape[1]):
        bits |= cells[:, j].astype(np.int64) << j
    return bits


def _rank_in_group(ids: Longs) -> Longs:
    """Shape (n,); 0 for the first element of each group, 1 for the second, and so on."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids)) - np.searchsorted(ordered, ordered)
    return rank
