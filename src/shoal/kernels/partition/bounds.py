"""How good can groups be? Proven lower bounds of the loss, and exact answers where they are within reach.

A microaggregation chooses groups of k or more that hold every record once. Only groups of k to 2k - 1 need be
looked at, since splitting a larger one never raises the loss SSE, the sum of squared distances to the group's
mean. Two bounds on what any choice must lose:

**Neighbours.** A group of m records loses the sum of its squared distances over m, so each member's part is
half the sum of its m - 1 squared distances over m. That is no less than with its m - 1 nearest, and the sum of
the m - 1 least values over m grows with m. So every partition loses at least

    sum over records of (sum of the k - 1 smallest squared distances) / (2k).

**Set partition.** The linear relaxation: minimise sum c_S x_S over groups S, each record covered once, x >= 0. For
any prices u with sum_{i in S} u_i <= c_S for *all* groups, sum u_i is a lower bound (weak duality). Columns
are generated: a restricted program proposes prices, the kernel `pricing` lists all groups that cost less than
their members' prices, and the bound is taken at prices lowered, record by record, by the largest (u(S) - c_S) / |S|
among the groups S listed that hold it, after which no group is below its price. The prices asked about are
a small step from the best ones known towards those of the restricted program (Wentges 1997), so that the list
stays short; prices whose list the kernel had to cut short yield no bound at all. So whatever the number of
rounds, the bound is proven; rounding is covered by `SLACK`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.kernels._native import groups_below_price, neighbours
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats
from shoal.kernels.solver import milp

Group = tuple[int, ...]

MOST_NEIGHBOURS = 64
"""Distances beyond this many neighbours are replaced by the largest of them, which keeps the bound valid."""

MOST_RECORDS = 5_000
"""The relaxation keeps all pairs of records in memory: 200 MB."""

SLACK = 1e-9
"""Groups less than this share of a record's mean price below their price are not listed; all bounds give way by
as much."""

FIRST_STEP = 0.2
"""Share of the way from the best prices to those of the restricted program; halved where the list is cut short."""

LIST_LIMIT = 2_000_000
"""Steps of the kernel's walk before a list is cut short (a second or so)."""

WINDOW_LIMIT = 50_000
"""The same for a window."""

MOST_COLUMNS = 4_000
"""Columns of a program: those of least reduced cost. Its first node then takes some seconds."""

NEW_PER_RECORD = 6
"""Columns that one round adds for a record, at most."""


def neighbour_bound(x: Floats, k: int, progress: Progress = None) -> float:
    """Least loss that any partition of `x` (n, d) into groups of `k` or more can have, by nearest neighbours."""
    return float(_neighbour_prices(x, k, progress).sum())


def _neighbour_prices(x: Floats, k: int, progress: Progress = None) -> Floats:
    """Shape (n,); prices that no group undercuts."""
    if k <= 1 or len(x) < 2:
        return np.zeros(len(x))
    m = min(k - 1, len(x) - 1)
    square = neighbours(x, min(m, MOST_NEIGHBOURS), progress=progress)[1]
    return np.asarray((square.sum(axis=1) + (m - square.shape[1]) * square[:, -1]) / (2 * k))


@dataclass(frozen=True, kw_only=True, eq=False)
class Relaxation:
    """What column generation found.

    Parameters
    ----------
    bound
        Proven: no partition loses less.
    value
        Optimum of the linear program over the columns known; the bound cannot rise above it.
    prices
        Shape (n,); no group costs less than its members' prices, which sum to the bound (but for `SLACK`).
    groups, costs
        The columns.
    """

    bound: float
    value: float
    prices: Floats
    groups: tuple[Group, ...]
    costs: Floats


def relaxation(
    x: Floats,
    k: int,
    columns: Iterable[Group],
    *,
    rounds: int = 100,
    precision: float = 1e-4,
    progress: Progress = None,
) -> Relaxation:
    """Bound the loss by the linear relaxation of the set partition.

    Parameters
    ----------
    x
        Shape (n, d), finite, n <= `MOST_RECORDS`.
    columns
        Groups of k to 2k - 1 ascending row numbers to begin with; some of them must form a partition. The more
        good ones, the fewer rounds.
    rounds
        Most programs to solve.
    precision
        Stop when the bound is within this share of the program's optimum.
    """
    losses = {group: loss_of(x, group) for group in columns}
    best = _neighbour_prices(x, k)
    value, step = np.inf, FIRST_STEP
    least = SLACK * max(float(best.mean()), 1e-300)
    for number in range(rounds):
        if progress is not None:
            progress(number / rounds)
        groups, costs = list(losses), np.array(list(losses.values()))
        value, prices = _restricted(groups, costs, len(x))
        if value - best.sum() <= precision * value or step < 1e-3:
            break
        asked = best + step * (prices - best)
        below = groups_below_price(x, asked, k, least=least, limit=LIST_LIMIT)
        if not below.complete:
            step /= 2
        elif (asked - below.shortfall).sum() > best.sum():
            best, step = asked - below.shortfall, min(2 * FIRST_STEP, 1.1 * step)
        if below.complete and not below.groups:
            step = min(1.0, 1.5 * step)
        losses.update({group: loss_of(x, group) for group in _chosen(below.groups, below.reduced, len(x))})
    bound = max(0.0, float(best.sum()) - len(x) / k * least)
    return Relaxation(
        bound=bound, value=float(value), prices=best, groups=tuple(losses), costs=np.array(list(losses.values()))
    )


def loss_of(x: Floats, group: Sequence[int]) -> float:
    """Sum of squared distances of a group's records to their mean."""
    members = x[list(group)]
    return float(((members - members.mean(axis=0)) ** 2).sum())


def _covering(groups: Sequence[Group], n: int) -> Any:
    """Shape (n, number of groups); which record is in which group."""
    from scipy.sparse import csc_matrix

    ends = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    members = np.concatenate([np.asarray(group) for group in groups])
    return csc_matrix((np.ones(len(members)), members, ends), shape=(n, len(groups)))


def _restricted(groups: Sequence[Group], costs: Floats, n: int) -> tuple[float, Floats]:
    """Optimum and prices of the linear program over some groups."""
    from scipy.optimize import linprog

    scale = float(costs.mean()) or 1.0
    solution = linprog(costs / scale, A_eq=_covering(groups, n), b_eq=np.ones(n), method="highs-ds")
    if solution.status != 0:
        raise RuntimeError(f"The linear program over {len(groups)} groups was not solved: {solution.message}")
    return float(solution.fun) * scale, np.asarray(solution.eqlin.marginals) * scale


def _chosen(groups: Sequence[Group], reduced: Floats, n: int) -> list[Group]:
    """The groups farthest below their price, so many that each record has its choice."""
    taken = np.zeros(n, dtype=np.int64)
    chosen = []
    for number in np.argsort(reduced, kind="stable"):
        rows = list(groups[number])
        if taken[rows].min() < NEW_PER_RECORD:
            taken[rows] += 1
            chosen.append(groups[number])
    return chosen


def cheapest(
    groups: Sequence[Group], costs: Floats, n: int, *, nodes: int, start: Sequence[Group] = ()
) -> list[Group] | None:
    """The partition of least cost among those that the groups given can form.

    None where branch and bound (HiGHS) found none within its number of nodes. Where `start`, a partition of groups
    given, is known, the answer costs no more than it does.
    """
    scale, started = float(costs.mean()) or 1.0, set(start)
    from_there = [float(group in started) for group in groups] if started else None
    limits = {"mip_max_nodes": nodes, "mip_rel_gap": 1e-6}
    solution = milp(costs / scale, _covering(groups, n), 1, 1, high=1, start=from_there, **limits)
    if solution.x is None:
        return None
    return [group for group, share in zip(groups, solution.x) if share > 0.5]


def groups_of(labels: Ints) -> list[Group]:
    """The groups of a partition as ascending row numbers."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [tuple(part.tolist()) for part in np.split(order, ends)]


def labels_of(groups: Sequence[Sequence[int]], n: int) -> Ints:
    """Shape (n,); the number of each record's group."""
    labels = np.full(n, -1, dtype=np.int32)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    return labels


def best_in_window(x: Floats, k: int, current: Sequence[Group], *, nodes: int) -> list[Group] | None:
    """The best partition of a few records, or None where the one at hand is the best or no better one was found.

    All groups that could be part of a better partition than `current` are sought: those whose reduced cost is
    below the gap between its loss and the bound. Where they can all be listed, the answer is exact.
    """
    now = sum(loss_of(x, group) for group in current)
    relaxed = relaxation(x, k, current, rounds=40, precision=1e-6)
    gap = now - relaxed.bound
    if gap <= 1e-9 * now:
        return None
    # A group with reduced cost under the gap falls below its price once every price is raised by gap / k.
    below = groups_below_price(x, relaxed.prices + gap / k, k, least=0.0, limit=WINDOW_LIMIT)
    return _better(x, current, list(dict.fromkeys([*relaxed.groups, *below.groups])), relaxed, nodes)


def best_of_columns(
    x: Floats, k: int, current: Sequence[Group], met: Sequence[Group], *, nodes: int, progress: Progress = None
) -> list[Group] | None:
    """The best partition of a table from groups met and those that column generation adds.

    None where no better one than `current` was found. Of the groups those of least reduced cost take part.
    """
    relaxed = relaxation(x, k, [*current, *met], progress=progress)
    return _better(x, current, relaxed.groups, relaxed, nodes)


def _better(
    x: Floats, current: Sequence[Group], groups: Sequence[Group], relaxed: Relaxation, nodes: int
) -> list[Group] | None:
    """A partition into some of the groups that loses less than the current one; None where none was found."""
    now = sum(loss_of(x, group) for group in current)
    costs = floats([loss_of(x, group) for group in groups])
    reduced = _reduced(costs, groups, relaxed.prices)
    least = [
        number for number in np.argsort(reduced, kind="stable")[:MOST_COLUMNS] if reduced[number] <= now - relaxed.bound
    ]
    own = set(current)
    kept = list(dict.fromkeys([*least, *(number for number, group in enumerate(groups) if group in own)]))
    cover = cheapest([groups[number] for number in kept], costs[kept], len(x), nodes=nodes, start=current)
    if cover is None or sum(loss_of(x, group) for group in cover) >= now * (1 - 1e-12):
        return None
    return cover


def _reduced(costs: Floats, groups: Sequence[Group], prices: Floats) -> Floats:
    return np.asarray(costs - _covering(groups, len(prices)).T @ prices)


def windows(x: Floats, labels: Ints, most: int) -> Iterable[Longs]:
    """Group numbers of overlapping windows that cover all groups: a group and its nearest, up to `most` records.

    The window around a group starts where no earlier one reached; groups with the largest loss come first.
    """
    sizes = np.bincount(labels)
    centres = np.column_stack([np.bincount(labels, column) for column in x.T]) / sizes[:, None]
    loss = np.bincount(labels, ((x - centres[labels]) ** 2).sum(axis=1))
    covered = np.zeros(len(sizes), dtype=bool)
    for g in np.argsort(-loss, kind="stable"):
        if not covered[g]:
            near = np.argsort(((centres - centres[g]) ** 2).sum(axis=1), kind="stable")
            window = near[: max(2, int(np.searchsorted(np.cumsum(sizes[near]), most, "right")))]
            covered[window[: max(1, len(window) // 2)]] = True
            yield window
