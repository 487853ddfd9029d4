"""Local suppression by integer programming: the optimum, for tables that are small.

Rows are the distinct combinations b of keys, n_b records each; x_bV is the number of records of row b that
lose the set V of cells.

`wildcard`: f_b records are compatible with a record of row b to begin with. A record of b stays at risk until
k - f_b records of other rows have lost cells that made them compatible with b, unless all n_b records of b
are blanked themselves (y_b = 1), which is allowed where the original table makes them safe:

    sum over x_cV with (c, V) newly compatible with b  >=  (k - f_b)(1 - y_b),    sum_V x_bV  >=  n_b y_b.

`equal`: a record that loses V falls into the class of its pattern g = (V, rest); z_g = 1 if the class exists:

    sum_V x_bV = n_b,    sum of x_bV in g  >=  k z_g,    x_bV <= n_b z_g.

Both minimise the weighted number of cells; HiGHS proves the optimum, or gives a lower bound.
"""

import numpy as np

from shoal.kernels.solver import milp
from shoal.kernels.suppression import wildcard_counts
from shoal.mask._suppression.patterns import lone_sets
from shoal.mask._suppression.task import Losses, SuppressionTask
from shoal.table.prelude import Longs, MissingCells
from shoal.vocabulary.errors import ParameterError, Refused
from shoal.vocabulary.facts import ByLabel

MOST_VARIABLES = 60_000
"""Integer variables; more than that HiGHS does not solve in minutes."""

NODES = 20_000
"""Branch-and-bound nodes before the search settles for a bound; counted, not timed, so that results repeat."""

Answer = tuple[Losses, ByLabel]


Moves = list[tuple[int, tuple[int, ...]]]
"""The row and the set of each variable x_bV."""


class Programme:
    """A linear programme in integers, its rows gathered one after the other; its first variables are moves."""

    def __init__(self, task: SuppressionTask, moves: Moves) -> None:
        self.cost = [float(task.cost[list(chosen)].sum()) for _, chosen in moves]
        self.most = [float(task.counts[b]) for b, _ in moves]
        self.of_row: dict[int, list[int]] = {}
        for v, (b, _) in enumerate(moves):
            self.of_row.setdefault(b, []).append(v)
        self.entries: list[tuple[int, int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def switch(self) -> int:
        """A further variable, 0 or 1, without cost."""
        self.cost.append(0.0)
        self.most.append(1.0)
        return len(self.cost) - 1

    def row(self, terms: list[tuple[int, float]], low: float, high: float = np.inf) -> None:
        self.entries += [(len(self.low), column, value) for column, value in terms]
        self.low.append(low)
        self.high.append(high)

    def solve(self) -> tuple[Longs, ByLabel]:
        """Values of the integer variables, and whether they are proved optimal."""
        from scipy.sparse import csr_array

        count = len(self.cost)
        if count > MOST_VARIABLES:
            raise ParameterError(
                f"suppress: search: optimal is for small tables; this one needs {count:,} integer variables, "
                f"more than {MOST_VARIABLES:,}. Set search: refined."
            )
        i, j, value = (np.array(part) for part in zip(*self.entries))
        matrix = csr_array((value.astype(float), (i, j)), shape=(len(self.low), count))
        solution = milp(self.cost, matrix, self.low, self.high, high=self.most, mip_max_nodes=NODES)
        if solution.x is None:
            raise Refused(
                "suppress: no suppression reaches k within the limits and the columns to keep. "
                "Raise the limits, free a column, or recode first."
            )
        note = {"optimal": solution.proved, "cost": solution.cost, "lower bound": solution.bound}
        return np.round(solution.x).astype(np.int64), note


def optimum(task: SuppressionTask, missing: MissingCells, sacrifice: bool) -> Answer:
    """The least weighted suppression and its proof, or the best found and a lower bound."""
    if missing == "nothing":
        return lone_sets(task), {"optimal": bool((task.allowance >= task.counts.sum()).all())}
    table = task.codes
    if missing == "equal":
        sets = [(), *task.sets()]
        moves = [(b, chosen) for b in range(len(table)) for chosen in sets if all(table[b, j] >= 0 for j in chosen)]
    else:
        moves = _moves(task, sacrifice)
    programme = Programme(task, moves)
    (_classes if missing == "equal" else _cover)(programme, task, moves)
    for column in np.flatnonzero(np.isfinite(task.cost)):
        terms = [(v, 1.0) for v, (b, chosen) in enumerate(moves) if column in chosen and table[b, column] >= 0]
        if terms:
            programme.row(terms, 0, float(task.allowance[column]))
    if not moves or not programme.low:
        return Losses.of_sets([], [], table.shape[1]), {"optimal": True, "cost": 0.0, "lower bound": 0.0}
    x, note = programme.solve()
    used = [(v, int(x[v])) for v in range(len(moves)) if x[v] and moves[v][1]]
    wanted = [np.repeat(moves[v][0], times) for v, times in used]
    return Losses.of_sets(wanted, [moves[v][1] for v, _ in used], table.shape[1]), note


def _moves(task: SuppressionTask, sacrifice: bool) -> Moves:
    """Moves under `wildcard`: rows and sets such that the original table makes the record safe."""
    table, counts = task.codes, task.counts
    base = wildcard_counts(table, counts)
    moves: Moves = []
    for b in range(len(table)):
        if base[b] >= task.k and not sacrifice:
            continue
        minimal: list[set[int]] = []
        for chosen in sorted(task.sets(), key=len):
            if any(table[b, j] < 0 for j in chosen) or any(smaller <= set(chosen) for smaller in minimal):
                continue
            seen = [j for j in range(table.shape[1]) if j not in chosen and table[b, j] >= 0]
            same = (table[:, seen] == table[b, seen]).all(axis=1)
            if counts[same].sum() >= task.k:
                moves.append((b, chosen))
                if not sacrifice:
                    minimal.append(set(chosen))
    return moves


def _cover(programme: Programme, task: SuppressionTask, moves: Moves) -> None:
    """Add the rows for `wildcard`."""
    table, counts = task.codes, task.counts
    base = wildcard_counts(table, counts)
    blanked = [np.where(np.isin(np.arange(table.shape[1]), chosen), -1, table[b]) for b, chosen in moves]
    new = np.array(blanked, dtype=np.int32).reshape(-1, table.shape[1])
    owner = np.array([b for b, _ in moves], dtype=np.int64)
    for b in np.flatnonzero(base < task.k).tolist():
        now = ((new == table[b]) | (new < 0) | (table[b] < 0)).all(axis=1)
        then = ((table[owner] == table[b]) | (table[owner] < 0) | (table[b] < 0)).all(axis=1)
        y, lack = programme.switch(), float(task.k - base[b])
        programme.row([(int(v), 1.0) for v in np.flatnonzero(now & ~then)] + [(y, lack)], lack)
        programme.row([(v, 1.0) for v in programme.of_row.get(b, [])] + [(y, -float(counts[b]))], 0)
    for b, own in programme.of_row.items():
        programme.row([(v, 1.0) for v in own], 0, float(counts[b]))


def _classes(programme: Programme, task: SuppressionTask, moves: Moves) -> None:
    """Add the rows for `equal`."""
    table, counts = task.codes, task.counts
    classes: dict[tuple[int, ...], list[int]] = {}
    for v, (b, chosen) in enumerate(moves):
        pattern = tuple(-1 if j in chosen else int(table[b, j]) for j in range(table.shape[1]))
        classes.setdefault(pattern, []).append(v)
    for b, own in programme.of_row.items():
        programme.row([(v, 1.0) for v in own], float(counts[b]), float(counts[b]))
    for members in classes.values():
        z = programme.switch()
        programme.row([(v, 1.0) for v in members] + [(z, -float(task.k))], 0)
        for v in members:
            programme.row([(v, -1.0), (z, programme.most[v])], 0)
