"""One greedy collection of classes under `equal`, over the whole table at each step."""

import numpy as np


def row_ids(codes):
    """The number of each row, equal rows alike, in lexicographic order."""
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel()


def collection(task, order, sets, refine):
    """Shape (n, q); the cells to blank, and which records found no class."""
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
    return blank, waiting


def _released(task, blank):
    return np.where(blank, np.int32(-1), task.codes)


def _collect(task, blank, allowance, waiting, chosen):
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


def _blank(task, blank, allowance, rows, chosen):
    """Blank a set in some records if there is room for all of them."""
    cells = np.zeros((len(rows), task.codes.shape[1]), dtype=bool)
    cells[:, chosen] = True
    cells &= (task.codes[rows] >= 0) & ~blank[rows]
    if (cells.sum(axis=0) > allowance).any():
        return False
    blank[rows] |= cells
    allowance -= cells.sum(axis=0)
    return True


def _draw_in_donors(task, blank, allowance, waiting, chosen):
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


def _move_to_cheaper(task, blank, chosen):
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


def _rank_in_group(ids):
    """Shape (n,); 0 for the first element of each group, 1 for the second, and so on."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids)) - np.searchsorted(ordered, ordered)
    return rank
