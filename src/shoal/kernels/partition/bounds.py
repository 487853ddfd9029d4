"""Proven lower bounds of the loss of a microaggregation, and exact optima where they are within reach.

A microaggregation chooses groups of k or more that hold every record once. Only groups of k to 2k - 1 need be
considered, since splitting a larger one never raises the loss SSE, the sum of squared distances to the group's
mean. There are two lower bounds on the loss of any choice:

**Neighbours.** A group of m records loses the sum of its squared distances over m, so each member's part is
half the sum of its m - 1 squared distances over m. That is no less than with its m - 1 nearest, and the sum of
the m - 1 least values over m grows with m. So every partition loses at least

    sum over records of (sum of the k - 1 smallest squared distances) / (2k).

**Set partition.** The linear relaxation: minimise sum c_S x_S over groups S, each record covered once, x >= 0, with
cuts of three records each (`programme`). For prices u >= 0 and tolls v >= 0 with u(S) <= c_S + v(S) for *all* groups,
u(S) the prices of its members and v(S) the tolls of the cuts that count it, sum u - sum v is a lower bound (weak
duality). Columns are generated: a restricted programme proposes prices and tolls, the kernel `pricing` lists all groups
that cost less than their members' prices, of which those count that do so with their tolls, too; and the bound is taken
at prices lowered, record by record, by the largest shortfall (u(S) - v(S) - c_S) / |S| of such a group that holds it,
after which there is none. The prices asked about are a small step from the best ones known towards those of the
restricted programme (Wentges 1997), so that the list stays short; prices whose list the kernel had to cut short yield
no bound at all. So whatever the number of rounds, the bound is proven; rounding is covered by `SLACK`. Where the bound
has come near the programme's optimum, cuts are added, and it goes on.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels._native import groups_below_price, neighbours
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats
from shoal.kernels.partition.programme import Group, GroupProgramme, counted, covering, incidence
from shoal.kernels.solver import milp

MOST_NEIGHBOURS = 64
"""Distances beyond this many neighbours are replaced by the largest of them, which keeps the bound valid."""

MOST_RECORDS = 5_000
"""The relaxation keeps all pairs of records in memory: 200 MB."""

SLACK = 1e-9
"""A group is listed if it lies below its price by this share of a mean price; all bounds give way by as much."""

FIRST_STEP, LEAST_STEP, MOST_STEP = 0.2, 0.05, 0.5
"""Share of the way from the best prices to those of the restricted programme.

It grows while the bound rises, shrinks while it does not, and is halved if the list is cut short.
"""

LIST_LIMIT = 500_000
"""Steps of the kernel's walk before a list is cut short (some seconds)."""

MOST_COLUMNS = 4_000
"""Most columns of a programme: those of least reduced cost. Its first node then takes some seconds."""

NEW_PER_RECORD = 6
"""Most columns that one round adds for a record."""


def neighbour_bound(x: Floats, k: int) -> float:
    """Lower bound, by nearest neighbours, of the loss of any partition of `x` (n, d) into groups of `k` or more."""
    return float(_neighbour_prices(x, k).sum())


def _neighbour_prices(x: Floats, k: int, progress: Progress = None) -> Floats:
    """Shape (n,); prices that no group undercuts."""
    if k <= 1 or len(x) < 2:
        return np.zeros(len(x))
    m = min(k - 1, len(x) - 1)
    square = neighbours(x, min(m, MOST_NEIGHBOURS), progress=progress)[1]
    return np.asarray((square.sum(axis=1) + (m - square.shape[1]) * square[:, -1]) / (2 * k))


@dataclass(frozen=True, kw_only=True, eq=False)
class Relaxation:
    """Result of column generation.

    Parameters
    ----------
    bound
        Proven lower bound: no partition loses less.
    value
        Optimum of the linear programme over the known columns; the bound cannot rise above it.
    prices, tolls
        Shapes (n,) and (number of cuts,); no group costs less than its members' prices minus its cuts' tolls. The sum
        of all prices minus all tolls is the bound (up to `SLACK`).
    groups, costs
        The columns.
    cuts
        Three records each; a partition has at most one group that holds two of them or more.
    """

    bound: float
    value: float
    prices: Floats
    tolls: Floats
    groups: tuple[Group, ...]
    costs: Floats
    cuts: tuple[Group, ...]

    def reduced(self, groups: Sequence[Group], costs: Floats) -> Floats:
        """Shape (number of groups,); the excess of each group's cost over its price."""
        n = len(self.prices)
        return np.asarray(costs - incidence(groups, n) @ self.prices + _tolls(groups, self.cuts, self.tolls, n))


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
        Groups of k to 2k - 1 ascending row numbers to begin with; some of them must form a partition. With more good
        ones, fewer rounds are needed.
    rounds
        Most programmes to solve.
    precision
        Stop when the bound is within this share of the programme's optimum.
    """
    best = _neighbour_prices(x, k)
    dual = _Dual(best, np.zeros(0))
    least = SLACK * max(float(best.mean()), 1e-300)
    losses = {group: loss_of(x, group) for group in columns}
    programme = GroupProgramme(len(x), float(np.mean([*losses.values()])) or 1.0)
    programme.add(losses)
    value, step = np.inf, FIRST_STEP
    for number in range(rounds):
        if progress is not None:
            progress(number / rounds)
        value, prices, tolls, shares = programme.solve()
        if value - dual.bound <= precision * value:
            if not programme.cut(shares):
                break
            dual = dual.with_cuts(len(programme.cuts))
            continue
        asked = dual.towards(_Dual(prices, np.maximum(tolls, 0)), step)
        below = groups_below_price(x, asked.prices, k, least=least, limit=LIST_LIMIT)
        groups = below.groups
        reduced = below.reduced + _tolls(groups, programme.cuts, asked.tolls, len(x))
        cheap = np.flatnonzero(reduced < -least)
        proven = asked.lowered([groups[i] for i in cheap], reduced[cheap])
        if not below.complete:
            step /= 2
        elif proven.bound > dual.bound:
            dual, step = proven, min(MOST_STEP, 1.1 * step)
        else:
            step = max(LEAST_STEP, 0.7 * step)
        if step < 1e-3:
            break
        programme.add({groups[i]: loss_of(x, groups[i]) for i in _chosen(groups, reduced, cheap)})
    bound = max(0.0, dual.bound - len(x) / k * least)
    return Relaxation(
        bound=bound,
        value=float(value),
        prices=dual.prices,
        tolls=dual.tolls,
        groups=tuple(programme.costs),
        costs=np.array([*programme.costs.values()]),
        cuts=tuple(programme.cuts),
    )


@dataclass(frozen=True, slots=True)
class _Dual:
    """Prices of the records, and tolls of the cuts."""

    prices: Floats
    tolls: Floats

    @property
    def bound(self) -> float:
        return float(self.prices.sum() - self.tolls.sum())

    def with_cuts(self, count: int) -> "_Dual":
        return _Dual(self.prices, np.concatenate([self.tolls, np.zeros(count - len(self.tolls))]))

    def towards(self, other: "_Dual", step: float) -> "_Dual":
        return _Dual(self.prices + step * (other.prices - self.prices), self.tolls + step * (other.tolls - self.tolls))

    def lowered(self, groups: Sequence[Group], reduced: Floats) -> "_Dual":
        """The prices lowered, by the groups' reduced costs, until no group is below its price."""
        shortfall = np.zeros(len(self.prices))
        for group, cost in zip(groups, reduced):
            members = list(group)
            shortfall[members] = np.maximum(shortfall[members], -cost / len(members))
        return _Dual(self.prices - shortfall, self.tolls)


def _tolls(groups: Sequence[Group], cuts: Sequence[Group], tolls: Floats, n: int) -> Floats:
    """Shape (number of groups,); the tolls of the cuts that count each group."""
    return np.asarray(counted(groups, cuts, n).T @ tolls)


def loss_of(x: Floats, group: Sequence[int]) -> float:
    """Sum of squared distances of a group's records to their mean."""
    members = x[list(group)]
    return float(((members - members.mean(axis=0)) ** 2).sum())


def _chosen(groups: Sequence[Group], reduced: Floats, candidates: Longs) -> list[int]:
    """The groups farthest below their price, so many that each record has a choice of several."""
    taken: Counter[int] = Counter()
    chosen = []
    for number in candidates[np.argsort(reduced[candidates], kind="stable")].tolist():
        if any(taken[i] < NEW_PER_RECORD for i in groups[number]):
            taken.update(groups[number])
            chosen.append(number)
    return chosen


def cheapest(
    groups: Sequence[Group],
    costs: Floats,
    n: int,
    *,
    nodes: int,
    start: Sequence[Group] = (),
    cuts: Sequence[Group] = (),
) -> list[Group] | None:
    """The partition of least cost that the given groups can form.

    None if branch and bound (HiGHS) found none within its number of nodes. The result costs no more than `start`, a
    partition into given groups, if one is given. `cuts` exclude only fractional solutions.
    """
    scale, started = float(costs.mean()) or 1.0, set(start)
    from_there = [float(group in started) for group in groups] if started else None
    limits = {"mip_max_nodes": nodes, "mip_rel_gap": 1e-6}
    low = np.concatenate([np.ones(n), np.full(len(cuts), -np.inf)])
    solution = milp(costs / scale, covering(groups, n, cuts), low, 1, high=1, start=from_there, **limits)
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


def best_of_columns(
    x: Floats, k: int, current: Sequence[Group], met: Sequence[Group], *, nodes: int, progress: Progress = None
) -> tuple[list[Group] | None, float]:
    """The best partition of a table into known groups and those that column generation adds, and a lower bound.

    None if no partition better than `current` was found. Groups of least reduced cost take part.
    """
    relaxed = relaxation(x, k, [*current, *met], progress=progress)
    return better_of(x, current, relaxed.groups, relaxed, nodes), relaxed.bound


def better_of(
    x: Floats, current: Sequence[Group], groups: Sequence[Group], relaxed: Relaxation, nodes: int
) -> list[Group] | None:
    """A partition into some of the groups that loses less than the current one; None if none was found."""
    now = sum(loss_of(x, group) for group in current)
    costs = floats([loss_of(x, group) for group in groups])
    reduced = relaxed.reduced(groups, costs)
    least = [
        number for number in np.argsort(reduced, kind="stable")[:MOST_COLUMNS] if reduced[number] <= now - relaxed.bound
    ]
    own = set(current)
    kept = list(dict.fromkeys([*least, *(number for number, group in enumerate(groups) if group in own)]))
    cover = cheapest(
        [groups[number] for number in kept], costs[kept], len(x), nodes=nodes, start=current, cuts=relaxed.cuts
    )
    if cover is None or sum(loss_of(x, group) for group in cover) >= now * (1 - 1e-12):
        return None
    return cover
