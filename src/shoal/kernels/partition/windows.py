"""A partition improved window by window: the groups nearest to one another, replaced by the best for their records.

Annealing ends in a local optimum: whatever moves one or two records loses. A window of some ten groups is solved to
optimality (`bounds`), so that any number of records change places at once. Every group is in the midst of a window,
unless an earlier window replaced it.
"""

from collections.abc import Sequence

import numpy as np

from shoal.kernels._native import groups_below_price
from shoal.kernels.arrays import Floats, Ints, Longs, Progress
from shoal.kernels.partition.bounds import better_of, groups_of, labels_of, loss_of, relaxation
from shoal.kernels.partition.programme import Group

LEAST_RECORDS, GROUPS = 48, 12
"""Records of a window, or as many as so many groups of k have: the largest that are solved in about .2 seconds."""

WINDOW_NODES = 200
"""Branch-and-bound nodes of one window; nodes, unlike seconds, repeat."""

WINDOW_LIMIT = 50_000
"""Steps of the kernel's walk for a window."""


def better_in_windows(x: Floats, labels: Ints, k: int, progress: Progress = None) -> Ints:
    """Labels that lose no more than the given ones, of groups of `k` or more; windows with the largest losses first."""
    groups = groups_of(labels)
    first = np.argsort([-loss_of(x, group) for group in groups], kind="stable").tolist()
    centres = np.array([x[list(group)].mean(axis=0) for group in groups])
    for number, g in enumerate(first):
        if progress is not None:
            progress(number / len(first))
        if groups[g]:
            window = _around(g, groups, centres, max(LEAST_RECORDS, GROUPS * k))
            better = _replacement(x, [groups[h] for h in window], k)
            for h in window if better else ():
                groups[h], centres[h] = (), np.inf
            groups += better
            centres = np.vstack([centres, *(x[list(group)].mean(axis=0) for group in better)])
    return labels_of([group for group in groups if group], len(x))


def _around(g: int, groups: Sequence[Group], centres: Floats, most: int) -> Longs:
    """A group and those nearest to it, up to `most` records."""
    near = np.argsort(((centres - centres[g]) ** 2).sum(axis=1), kind="stable")[:most]
    sizes = np.cumsum([len(groups[h]) for h in near])
    return near[: max(2, int(np.searchsorted(sizes, most, "right")))]


def _replacement(x: Floats, groups: Sequence[Group], k: int) -> list[Group]:
    """The best groups for the records of these; none if there are no better ones."""
    rows = np.sort(np.concatenate([np.array(group, dtype=np.int64) for group in groups]))
    place = {row: at for at, row in enumerate(rows.tolist())}
    current = [tuple(place[row] for row in group) for group in groups if group]
    better = best_in_window(x[rows], k, current, nodes=WINDOW_NODES)
    return [] if better is None else [tuple(rows[list(group)].tolist()) for group in better]


def best_in_window(x: Floats, k: int, current: Sequence[Group], *, nodes: int) -> list[Group] | None:
    """The best partition of a few records; None if the current one is the best or no better one was found.

    All groups that could be part of a better partition than `current` are searched: those whose reduced cost is below
    the gap between its loss and the bound. If all of them can be listed, the result is exact.
    """
    now = sum(loss_of(x, group) for group in current)
    relaxed = relaxation(x, k, current, rounds=40, precision=1e-6)
    gap = now - relaxed.bound
    if gap <= 1e-9 * now:
        return None
    # A group with reduced cost under the gap falls below its price once every price is raised by gap / k.
    below = groups_below_price(x, relaxed.prices + gap / k, k, least=0.0, limit=WINDOW_LIMIT)
    return better_of(x, current, list(dict.fromkeys([*relaxed.groups, *below.groups])), relaxed, nodes)
