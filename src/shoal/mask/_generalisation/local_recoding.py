"""Local recoding: classes go down their hierarchies on their own, as far as k allows.

Top-down: a class whose records share a label in every column is split along the column that lowers the loss
most. Its records are sorted by their labels one level further down; those whose label is shared by k or more
become classes of their own, and the rest stays where it is if there are k of them or none (else the smallest
of the new classes stays with them). Every split lowers the loss, so that the outcome is never worse than what
it starts from.
"""

from dataclasses import dataclass

import numpy as np

from shoal.data.partition import Progress
from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.mask._generalisation.lattice import Table


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """Rows of the table that share their labels; `levels` are those of their columns."""

    rows: Longs
    levels: tuple[int, ...]
    done: frozenset[int]  # columns along which it cannot be split


def specialise(table: Table, classes: list[Class], k: int, progress: Progress = None) -> Ints:
    """Shape (m, q); the level of each row's cells, for the rows of the classes that came in; others keep -1."""
    levels = np.full(table.leaves.shape, -1, dtype=np.int32)
    losses = [ladder.loss for ladder in table.ladders]
    waiting, settled, total = list(classes), 0, sum(len(c.rows) for c in classes)
    while waiting:
        now = waiting.pop()
        parts = _best_split(table, losses, now, k)
        if parts is None:
            levels[now.rows] = now.levels
            settled += len(now.rows)
            if progress is not None:
                progress(settled / max(total, 1))
        else:
            waiting += parts
    return levels


def _best_split(table: Table, losses: list[Floats], now: Class, k: int) -> list[Class] | None:
    best: tuple[float, int, Longs] | None = None
    stuck = set(now.done)
    counts = table.counts[now.rows]
    for j, level in enumerate(now.levels):
        if level == 0 or j in stuck:
            continue
        leaves = table.leaves[now.rows, j]
        down = table.ladders[j].codes[level - 1][leaves]
        moved = _who_moves(down, counts, k)
        if not moved.any():
            stuck.add(j)
            continue
        gain = float(((losses[j][level] - losses[j][level - 1])[leaves] * counts)[moved].sum())
        if best is None or gain > best[0]:
            best = gain, j, np.where(moved, down, -1).astype(np.int64)
    if best is None:
        return None
    _, j, label = best
    lower = (*now.levels[:j], now.levels[j] - 1, *now.levels[j + 1 :])
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [
        Class(now.rows[part], now.levels, frozenset(stuck | {j}))
        if label[part[0]] < 0
        else Class(now.rows[part], lower, frozenset(stuck))
        for part in parts
    ]


def _who_moves(down: Ints, counts: Longs, k: int) -> Longs:
    """Shape (rows,); whether each row takes its label one level down."""
    sizes = np.bincount(down, weights=counts)
    moves = sizes >= k
    left = sizes[~moves].sum()
    if 0 < left < k:
        candidates = np.flatnonzero(moves)
        if not len(candidates):
            return np.zeros(len(down), dtype=bool)
        moves[candidates[np.argmin(sizes[candidates])]] = False  # it holds k or more, so the rest does too
    return np.asarray(moves[down])
