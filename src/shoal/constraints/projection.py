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

The solution is exact up to rounding of the largest number that took part, which can be far above the bounds of a
small column. It is therefore polished with W held: columns that lie on a bound of their own are put exactly there
and stay, and the other columns take up what the rows still lack; an inequality that rounding has broken joins W.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shoal.kernels import linear
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.table.equal_rows import patterns

EXACT = 1e-9
"""Residual, relative to the point's violation, up to which a system counts as solved before it is polished."""

KEPT = 5e-11
"""Share of the size of its terms by which a comparison may be missed after polishing: half of what its judge allows."""

POLISH = 2
"""Least number of corrections with a fixed tight set, each for the digits that the one before lost."""

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Share of the size of its terms by which a sum of several columns may exceed its bound without breaking it."""

TOUCHING = 1e-12
"""Values closer to a bound than this share of a length lie on it."""

DEPENDENT = 1e-10
"""Directions of the tight rows whose singular value is below this share of the largest count as dependent."""

STILL = 1e-15
"""Moves smaller than this many lengths are rounding noise and are omitted, so that cells stay unchanged."""


@dataclass(frozen=True, eq=False)
class System:
    """a x == b for `equalities` and g x <= h for `inequalities`."""

    # equalities, inequalities: shapes (m, p) and (l, p)
    equalities: Floats
    # equal_to, at_most: shapes (m,) and (l,)
    equal_to: Floats
    inequalities: Floats
    at_most: Floats

    @classmethod
    def of(cls, rows: Iterable[tuple[bool, Floats, float]], p: int) -> "System":
        """The system of rows of p coefficients, each with its right side, and True for an equality."""
        parts: tuple[list[Floats], list[Floats]] = ([], [])
        for equal, row, bound in rows:
            parts[0 if equal else 1].append(np.append(row, bound))
        e, g = (np.array(part, dtype=np.float64).reshape(-1, p + 1) for part in parts)
        return cls(e[:, :-1], e[:, -1], g[:, :-1], g[:, -1])

    @property
    def empty(self) -> bool:
        return not (len(self.equalities) or len(self.inequalities))


def nearest(x: Floats, system: System, lengths: Floats) -> tuple[Floats, Bools]:
    """Move points to the nearest ones that satisfy a system.

    `x`, shape (n, p): finite. `lengths`, shape (p,): unit of distance in each column; 0 keeps a column unchanged.
    Returns the points, shape (n, p), and shape (n,): True if the point satisfies the system.
    """
    if system.empty or not len(x):
        return x.copy(), np.ones(len(x), dtype=bool)
    y, feasible, tight = _solved(x, system, lengths)
    moved = x + np.where(feasible[:, None], y, 0.0) * lengths
    polish = _Polish(system, lengths)
    moved[feasible] = polish.polished(moved[feasible], tight[feasible])
    feasible &= polish.holds(moved)
    return np.where(feasible[:, None], moved, x), feasible


class _Polish:
    """Corrections of solutions that hold up to rounding."""

    def __init__(self, system: System, lengths: Floats) -> None:
        self.lengths = lengths
        self.rows = np.vstack([system.equalities, system.inequalities])
        self.bounds = np.concatenate([system.equal_to, system.at_most])
        self.equal = np.arange(len(self.rows)) < len(system.equalities)
        alone = (self.rows != 0).sum(axis=1) == 1
        self.own = np.where(alone, (self.rows != 0).argmax(axis=1), -1)
        """The column that a row bounds by itself, -1 where it binds several."""
        self.end = self.bounds / np.where(alone, self.rows.sum(axis=1), 1.0) + 0.0
        """The bound of that column."""

    def polished(self, x: Floats, tight: Bools) -> Floats:
        """Points (n, p) with the tight inequalities (n, l) and all equalities met to the last digits."""
        active = np.hstack([np.broadcast_to(True, (len(x), int(self.equal.sum()))), tight])
        for turn in range(POLISH + tight.shape[1]):
            for pattern, members in patterns(active):
                x[members] = self._corrected(x[members], pattern)
            over = self._over(x) & ~active
            if turn + 1 >= POLISH and not over.any():
                break
            active |= over
        self._snap(x)
        return x

    def holds(self, x: Floats) -> Bools:
        """Shape (n,); True if a point satisfies the system up to rounding of its terms."""
        excess, size = self._excess(x)
        spread = np.abs(self.rows * self.lengths).sum(axis=1)
        size += np.where(spread > 0, spread, np.abs(self.rows).max(axis=1, initial=0.0))
        return np.asarray((np.where(self.equal, np.abs(excess), excess) <= KEPT * size).all(axis=1))

    def _excess(self, x: Floats) -> tuple[Floats, Floats]:
        """Shape (n, m + l) twice: left sides minus bounds, and the sizes of their terms."""
        size = _times(np.abs(x), np.abs(self.rows).T) + np.abs(self.bounds)
        return _times(x, self.rows.T) - self.bounds, size

    def _corrected(self, x: Floats, active: Bools) -> Floats:
        free = self.lengths > 0
        for row in np.flatnonzero(active & (self.own >= 0)):
            j = self.own[row]
            if free[j]:
                x[:, j] = self.end[row]
        free[self.own[active & (self.own >= 0)]] = False
        lengths = np.where(free, self.lengths, 0.0)
        shared = active & (self.own < 0) & (self.rows[:, free] != 0).any(axis=1)
        rows, lacking = _scaled(self.rows[shared], self.bounds[shared], x, lengths)
        y = _times(lacking, linear.pseudo_inverse(rows, DEPENDENT).T)
        y[np.abs(y) < STILL] = 0.0
        return x + y * lengths

    def _over(self, x: Floats) -> Bools:
        """Shape (n, m + l); True for inequalities that are broken by more than the rounding of their own terms."""
        excess, size = self._excess(x)
        over = excess > ROUNDING * size
        alone = self.own >= 0
        sign = np.sign(self.rows.sum(axis=1)[alone])
        over[:, alone] = sign * (x[:, self.own[alone]] - self.end[alone]) > 0
        return np.asarray(over & ~self.equal)

    def _snap(self, x: Floats) -> None:
        """Put values that lie on a bound of their own column exactly on it."""
        for row in np.flatnonzero(self.own >= 0):
            j = self.own[row]
            x[np.abs(x[:, j] - self.end[row]) <= TOUCHING * self.lengths[j], j] = self.end[row]


def _solved(x: Floats, system: System, lengths: Floats) -> tuple[Floats, Bools, Bools]:
    """Shortest moves y, the points that have one, and the inequalities that are tight there."""
    a, p = _scaled(system.equalities, system.equal_to, x, lengths)
    b, q = _scaled(system.inequalities, system.at_most, x, lengths)
    scale = np.abs(np.hstack([p, q])).max(axis=1, initial=1.0)  # far points are solved in their own unit
    p, q = p / scale[:, None], q / scale[:, None]
    y, settled, tight = _by_active_set(a, p, b, q)
    feasible = settled.copy()
    for row in np.flatnonzero(~settled):
        y[row], feasible[row], tight[row] = _least_distance(a, p[row], b, q[row])
    feasible &= (np.abs(_times(y, a.T) - p) <= EXACT * (1 + np.abs(p))).all(axis=1)
    feasible &= (_times(y, b.T) <= q + EXACT * (1 + np.abs(q))).all(axis=1)
    y *= scale[:, None]
    y[np.abs(y) < STILL] = 0.0
    return y, feasible, tight


def _times(points: Floats, matrix: Floats) -> Floats:
    """Points (n, p) times a matrix (p, m), summed in the order of the p, so that equal points give equal bits."""
    total = np.zeros((len(points), matrix.shape[1]))
    for j in range(len(matrix)):
        total += points[:, j : j + 1] * matrix[j]
    return total


def _scaled(rows: Floats, bounds: Floats, x: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    """Rows in units of length, of norm 1 if a column can move, and the violation of each by each point."""
    lacking = np.broadcast_to(bounds, (len(x), len(bounds))).copy()
    for j in range(x.shape[1]):
        lacking -= x[:, j : j + 1] * rows[:, j]
    inside = rows * lengths
    norms = np.sqrt((inside**2).sum(axis=1))
    norms[norms == 0] = np.maximum(np.abs(rows).max(axis=1), 1e-300)[norms == 0] if len(rows) else 1.0
    return inside / norms[:, None], lacking / norms


def _by_active_set(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, Bools, Bools]:
    n, bounds = len(p), len(b)
    tight = np.zeros((n, bounds), dtype=bool)
    y, settled, stuck = np.zeros((n, a.shape[1])), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for _ in range(4 * bounds + 1):
        todo = np.flatnonzero(~(settled | stuck))
        if not len(todo):
            break
        for pattern, members in patterns(tight[todo]):
            rows = todo[members]
            y[rows], multipliers = _with_tight(a, p[rows], b[pattern], q[rows][:, pattern])
            broken = _times(y[rows], b.T) - q[rows]
            stuck[rows] = (np.abs(broken[:, pattern]) > EXACT * (1 + np.abs(q[rows][:, pattern]))).any(axis=1)
            settled[rows] = _improve(rows, tight, pattern, multipliers, broken) & ~stuck[rows]
    return y, settled, tight


def _with_tight(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The shortest y with a y = p and b y = q, and the multipliers of b."""
    m, r = np.vstack([a, b]), np.hstack([p, q])
    inverse = linear.pseudo_inverse(m, DEPENDENT)
    y = _times(r, inverse.T)
    return y, _times(y, inverse)[:, len(a) :]


def _improve(rows: Longs, tight: Bools, pattern: Bools, multipliers: Floats, broken: Floats) -> Bools:
    """Drop or add one inequality where the test fails; returns True where it passes."""
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


def _least_distance(a: Floats, p: Floats, b: Floats, q: Floats) -> tuple[Floats, bool, Bools]:
    """Lawson and Hanson's problem LDP on the null space of the equalities, for one point."""
    from scipy.optimize import nnls

    base = linear.product(linear.pseudo_inverse(a, DEPENDENT), p[:, None])[:, 0] if len(a) else np.zeros(b.shape[1])
    free = np.eye(b.shape[1])
    if len(a):
        values, rows = linear.singular(a)
        free = rows[int((values > 1e-12 * values.max(initial=0.0)).sum()) :].T
    g, h = -linear.product(b, free), -(q + EXACT / 10 - linear.product(b, base[:, None])[:, 0])
    stacked = np.vstack([g.T, h])
    target = np.append(np.zeros(free.shape[1]), 1.0)
    u, _ = nnls(stacked, target, maxiter=100 * max(len(b), 10))
    residual = linear.product(stacked, u[:, None])[:, 0] - target
    if -residual[-1] <= 1e-12:
        return base, False, np.zeros(len(b), dtype=bool)
    y, _ = _with_tight(a, p[None], b[u > 0], q[None, u > 0])
    return y[0], True, u > 0
