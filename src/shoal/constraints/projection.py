"""The nearest point that satisfies linear equalities and inequalities.

For a point x and a length s_j a column, the nearest feasible point minimises sum ((x'_j - x_j) / s_j)^2.
With y = (x' - x) / s this is the shortest y with A y = p and B y <= q, where p and q are what x lacks. A column
of length 0 cannot move.

Points are solved together by the set W of inequalities that are tight at the solution. For a given W the
shortest y is M^+ r, M holding the rows of A and of W, and its multipliers are (M M')^+ r; it solves the
problem exactly if the multipliers of W are not positive and no other inequality is broken (Karush, Kuhn and
Tucker; the problem is strictly convex, so the solution is the only one). W starts empty; a point that
fails the test drops its worst multiplier or adds its most broken inequality. A point that does not settle, or
whose W comes to contradict itself, is solved by itself as a least distance programme through non-negative
least squares (Lawson & Hanson 1974, chapter 23), which is finite, and which also proves that a point has no
feasible neighbour at all.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Floats, Longs

EXACT = 1e-9
"""Relative residual up to which a system counts as solved; far above rounding, far below any rule broken."""

POLISH = 2
"""Times the solution is projected again, each for the digits that the one before has lost."""

TOUCHING = 1e-12
"""Values nearer to a bound than this share of a length lie on it."""

STILL = 1e-15
"""Moves smaller than this many lengths are rounding noise and are left out, so that cells stay as they were."""


@dataclass(frozen=True, eq=False)
class System:
    """a x == b for `equalities` and g x <= h for `inequalities`.

    Parameters
    ----------
    equalities, inequalities
        Shapes (m, p) and (l, p).
    equal_to, at_most
        Shapes (m,) and (l,).
    """

    equalities: Floats
    equal_to: Floats
    inequalities: Floats
    at_most: Floats

    @property
    def empty(self) -> bool:
        return not (len(self.equalities) or len(self.inequalities))


def nearest(x: Floats, system: System, lengths: Floats) -> tuple[Floats, Bools]:
    """Move points to the nearest ones that satisfy a system.

    Parameters
    ----------
    x
        Shape (n, p), finite.
    lengths
        Shape (p,); what counts as one unit of distance in each column; 0 keeps a column as it is.

    Returns
    -------
    Shape (n, p), and shape (n,): whether the point satisfies the system.
    """
    if system.empty or not len(x):
        return x.copy(), np.ones(len(x), dtype=bool)
    moved, feasible = _once(x, system, lengths)
    if feasible.any():
        for _ in range(POLISH):
            moved, _ = _once(moved, system, lengths)
        _snap(moved, system, lengths)
    return moved, feasible


def _snap(x: Floats, system: System, lengths: Floats) -> None:
    """Put values that lie on a bound of their own column exactly there."""
    rows = np.vstack([system.equalities, system.inequalities])
    bounds = np.concatenate([system.equal_to, system.at_most])
    for row, bound in zip(rows[(rows != 0).sum(axis=1) == 1], bounds[(rows != 0).sum(axis=1) == 1]):
        j = int(np.flatnonzero(row)[0])
        at = bound / row[j] + 0.0
        x[np.abs(x[:, j] - at) <= TOUCHING * lengths[j], j] = at


def _once(x: Floats, system: System, lengths: Floats) -> tuple[Floats, Bools]:
    a, p = _scaled(system.equalities, system.equal_to, x, lengths)
    b, q = _scaled(system.inequalities, system.at_most, x, lengths)
    y, settled = _by_active_set(a, p, b, q)
    feasible = settled.copy()
    for row in np.flatnonzero(~settled):
        y[row], feasible[row] = _least_distance(a, p[row], b, q[row])
    feasible &= _close(y, a, p) & (y @ b.T <= q + EXACT * (1 + np.abs(q))).all(axis=1)
    y[np.abs(y) < STILL] = 0.0
    return x + np.where(feasible[:, None], y, 0.0) * lengths, feasible


def _scaled(rows: Floats, bounds: Floats, x: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    """Rows in units of length, of norm 1 where a column can move, and what each point lacks."""
    lacking = np.broadcast_to(bounds, (len(x), len(bounds))).copy()
    for j in range(x.shape[1]):  # in the order of the columns, so that equal points give equal bits
        lacking -= x[:, j : j + 1] * rows[:, j]
    inside = rows * lengths
    norms = np.sqrt((inside**2).sum(axis=1))
    norms[norms == 0] = np.maximum(np.abs(rows).max(axis=1), 1e-300)[norms == 0] if len(rows) else 1.0
    return inside / norms[:, None], lacking / norms


def _close(y: Floats, a: Floats, p: Floats) -> Bools:
    return np.asarray((np.abs(y @ a.T - p) <= EXACT * (1 + np.abs(p))).all(axis=1))


def _by_active_set(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, Bools]:
    n, bounds = len(p), len(b)
    tight = np.zeros((n, bounds), dtype=bool)
    y, settled, stuck = np.zeros((n, a.shape[1])), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for _ in range(4 * bounds + 1):
        todo = np.flatnonzero(~(settled | stuck))
        if not len(todo):
            break
        for members in alike(tight[todo]):
            rows = todo[members]
            pattern = tight[rows[0]].copy()
            y[rows], multipliers = _with_tight(a, p[rows], b[pattern], q[rows][:, pattern])
            broken = y[rows] @ b.T - q[rows]
            stuck[rows] = (np.abs(broken[:, pattern]) > EXACT * (1 + np.abs(q[rows][:, pattern]))).any(axis=1)
            settled[rows] = _improve(rows, tight, pattern, multipliers, broken) & ~stuck[rows]
    return y, settled


def alike(table: NDArray[Any]) -> list[Longs]:
    """Numbers of the rows of a small whole-number table (n, p) that are equal, one array a distinct row."""
    ids = np.zeros(len(table), dtype=np.int64)
    for column in table.T.astype(np.int64):
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        ids = ids * width + (column - low)
        if ids.max(initial=0) > len(ids):
            ids = np.unique(ids, return_inverse=True)[1].ravel()
    order = np.argsort(ids, kind="stable")
    ends = np.flatnonzero(np.diff(ids[order])) + 1
    return [part for part in np.split(order, ends) if len(part)]


def _with_tight(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The shortest y with a y = p and b y = q, and the multipliers of b."""
    m, r = np.vstack([a, b]), np.hstack([p, q])
    inverse = np.linalg.pinv(m, rcond=1e-10)
    y = r @ inverse.T
    return y, (y @ inverse)[:, len(a) :]


def _improve(rows: Longs, tight: Bools, pattern: Bools, multipliers: Floats, broken: Floats) -> Bools:
    """Drop or add one inequality where the test fails; returns where it passes."""
    slack = 1e-12 * (1 + np.abs(broken).max(axis=1, initial=0.0))
    done = np.ones(len(rows), dtype=bool)
    if pattern.any():
        worst = multipliers.argmax(axis=1)
        wrong = multipliers[np.arange(len(rows)), worst] > 1e-12
        tight[rows[wrong], np.flatnonzero(pattern)[worst[wrong]]] = False
        done &= ~wrong
    if not pattern.all():
        outside = np.where(pattern, -math.inf, broken)
        most = outside.argmax(axis=1)
        over = done & (outside[np.arange(len(rows)), most] > slack)
        tight[rows[over], most[over]] = True
        done &= ~over
    return done


def _least_distance(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, bool]:
    """Lawson and Hanson's problem LDP on the null space of the equalities, for one point."""
    from scipy.optimize import nnls

    base = np.linalg.pinv(a) @ p if len(a) else np.zeros(b.shape[1])
    free = np.eye(b.shape[1])
    if len(a):
        _, values, rows = np.linalg.svd(a)
        free = rows[int((values > 1e-12 * values.max(initial=0.0)).sum()) :].T
    g, h = -(b @ free), -(q + EXACT / 10 - b @ base)
    stacked = np.vstack([g.T, h])
    target = np.append(np.zeros(free.shape[1]), 1.0)
    u, _ = nnls(stacked, target, maxiter=100 * max(len(b), 10))
    residual = stacked @ u - target
    if -residual[-1] <= 1e-12:
        return base, False
    y, _ = _with_tight(a, p[None], b[u > 0], q[None, u > 0])
    return y[0], True
