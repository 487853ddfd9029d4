"""Exact nearest neighbours of one set of points in another, ties counted, never n x n in memory.

Points that coincide are merged first: ties cost nothing then, and a released table has many.

There are three engines. A tree of boxes (native/search/nearest.cpp) visits few points if boxes separate them, as they
do in few dimensions and wherever the nearest point is close. If it would visit more than a share of all points, every
pair is compared instead, in blocks: the matrix product |x|^2/2 - x.y ranks candidates at the speed of the processor but
loses digits, so all candidates within its error bound are decided again by the sum of squared differences. Columns of
categories are never expanded into coordinates: a tree that splits numbers and categories alike
(native/search/mixed_tree.hpp) reads their distances from a table.

To tell whether a record is linked to the right one, the search need not find the nearest point, only one nearer than
the true one. So it starts with the known distance as its radius and ends as soon as that is beaten.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels import _native, classes
from shoal.kernels.arrays import Floats, Ints, Longs, floats, ints

TIE = 1e-9
"""Distances within TIE (1 + d) of the smallest distance d tie with it: they differ by rounding only."""

PAIR = 0.4
"""Cost of a pair in a block, in points that the tree visits (bench/judgement.py)."""

BLOCK = 2_000_000
"""Pairs in memory at a time (16 MB of float64)."""

NO_LIMIT = 2**62
"""A limit on visited points that is never reached."""

Neighbours = tuple[Floats, Longs, Longs]
"""Smallest distance, number of rows that tie there, and lowest point among them, of some queries."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Distinct:
    """The distinct rows of a matrix.

    Parameters
    ----------
    points
        Shape (u, d).
    of_row
        Shape (n,); number of each row's point.
    sizes
        Shape (u,); number of rows at each point.
    """

    points: Floats
    of_row: Longs
    sizes: Longs


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed:
    """Rows of numbers and of codes.

    Parameters
    ----------
    numbers
        Shape (n, p), finite.
    codes
        Shape (n, q), each from 0.
    """

    numbers: Floats
    codes: Ints

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Longs) -> "Mixed":
        return Mixed(numbers=floats(self.numbers[rows]), codes=ints(self.codes[rows]))


def distinct(x: Floats) -> Distinct:
    """Merge equal rows (0 equals -0)."""
    x = x + 0.0
    ids, sizes = classes.classes(list(x.T), len(x))
    first = classes.first_rows(ids, len(sizes))
    return Distinct(points=np.ascontiguousarray(x[first]), of_row=ids, sizes=sizes)


def distinct_mixed(rows: Mixed) -> tuple[Longs, Mixed]:
    """Shape (n,), numbers from 0 of distinct rows (0 equals -0), and these rows."""
    columns = [*(column + 0.0 for column in rows.numbers.T), *(np.ascontiguousarray(c) for c in rows.codes.T)]
    ids, sizes = classes.classes(columns, len(rows))
    return ids, rows.take(classes.first_rows(ids, len(sizes)))


def nearest_distance(x: Floats, y: Floats) -> Floats:
    """Shape (m,); distance of each row of `y` (m, d) to the nearest row of `x` (n, d), n >= 1."""
    queries = distinct(y)
    return _nearest(distinct(x), queries.points)[0][queries.of_row]


def nearest_point(points: Floats, y: Floats) -> Longs:
    """Shape (m,); row of the distinct `points` (u, d) that is nearest to each row of `y`; the lowest of equals."""
    u, queries = len(points), distinct(y)
    each = Distinct(points=points, of_row=np.arange(u), sizes=np.ones(u, dtype=np.int64))
    return _nearest(each, queries.points)[2][queries.of_row]


def nearest_mixed_point(points: Mixed, y: Mixed, tables: tuple[Floats, ...], weights: Floats) -> Longs:
    """As `nearest_point`, for rows of numbers and codes; `tables` and `weights` as for `link_mixed`."""
    if not tables:
        return nearest_point(points.numbers, y.numbers)
    of_row, asked = distinct_mixed(y)
    ones, known = np.ones(len(points), dtype=np.int64), np.full(len(asked), np.inf)
    lowest = _native.nearest_mixed(
        points.numbers, points.codes, ones, asked.numbers, asked.codes, tables, weights, known, TIE, NO_LIMIT
    )[2]
    return lowest[of_row]


def link(x: Floats, y: Floats, truth: Longs, most: int = NO_LIMIT) -> Floats:
    """Probability that the nearest row of `x` is the true one, for each row of `y`.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    y
        Shape (m, d), finite.
    truth
        Shape (m,); row of `x` that each row of `y` belongs to.
    most
        Approximate number of points to visit; those that the first rows of `y` need are visited in any case.

    Returns
    -------
    Shape (m,), or less if `most` was spent on the first rows: 1/t if the true row is among the t nearest ones (rows
    within rounding of the smallest distance tie), else 0.
    """
    columns = [column + 0.0 for column in x.T], [column + 0.0 for column in y.T]
    ids = [classes.classes(side, len(rows))[0] for side, rows in zip(columns, (x, y))]
    return link_columns(*columns, np.arange(len(y)), truth, most, x_ids=ids[0], y_ids=ids[1])


def link_columns(
    x: Sequence[Floats],
    y: Sequence[Floats],
    rows: Longs,
    truth: Longs,
    most: int = NO_LIMIT,
    *,
    x_ids: Longs,
    y_ids: Longs,
) -> Floats:
    """As `link`, for tables stored column by column: a matrix is made of their distinct rows only.

    Parameters
    ----------
    x, y
        Columns of shapes (n,) and (m',).
    rows, truth
        Shape (m,); the rows of `y` to look up, and the row of `x` that each belongs to.
    x_ids, y_ids
        Shapes (n,) and (m,); numbers that only equal rows share; of `y` those of the rows to look up. Those of `x` have
        no gaps from 0 on.
    """
    sizes = np.bincount(x_ids)
    if all(before is after for before, after in zip(x, y)) and np.array_equal(rows, truth) and all(map(_apart, x)):
        of_row, alike = classes.classes([column + 0.0 for column in x], len(x_ids))
        return np.asarray(1.0 / alike[of_row[truth]])  # of a table with itself, where only equal rows tie
    points = Distinct(points=_matrix(x, classes.first_rows(x_ids, len(sizes))), of_row=x_ids, sizes=sizes)
    own = np.zeros(len(rows))
    for before, after in zip(x, y):
        own += (after[rows] - before[truth]) ** 2
    return _chances(
        y_ids, np.sqrt(own, out=own), lambda asked, limits: _nearest(points, _matrix(y, rows[asked]), most, limits)
    )


def _apart(column: Floats) -> bool:
    """True if no two different numbers of a column are so near that rows with them may tie."""
    return bool(np.diff(np.unique(column)).min(initial=np.inf) > 2 * TIE)


def _matrix(columns: Sequence[Floats], rows: Longs) -> Floats:
    """Shape (m, d); some rows of a table."""
    out = np.empty((len(rows), len(columns)))
    for j, column in enumerate(columns):
        out[:, j] = column[rows]
    return out


def link_mixed(
    x: Mixed,
    y: Mixed,
    truth: Longs,
    tables: tuple[Floats, ...],
    weights: Floats,
    most: int = NO_LIMIT,
    *,
    x_ids: Longs,
    y_ids: Longs,
) -> Floats:
    """As `link`, for rows of numbers and codes.

    Parameters
    ----------
    tables
        For each column of codes the squared distance of every code of `y` (rows) to every code of `x` (columns).
    weights
        Shape (q,); typical squared distance of two different codes of `x`, by which the tree chooses its splits.
    """
    sizes = np.bincount(x_ids)
    points = x.take(classes.first_rows(x_ids, len(sizes)))
    square = ((y.numbers - x.numbers[truth]) ** 2).sum(axis=1)
    for j, table in enumerate(tables):
        square += table[y.codes[:, j], x.codes[truth, j]]

    def search(rows: Longs, known: Floats) -> Neighbours:
        asked = y.take(rows)
        return _native.nearest_mixed(
            points.numbers, points.codes, sizes, asked.numbers, asked.codes, tables, weights, known, TIE, most
        )[:3]

    return _chances(y_ids, np.sqrt(square), search)


def _chances(ids: Longs, own: Floats, search: Callable[[Longs, Floats], Neighbours]) -> Floats:
    """The probabilities of `link`.

    Parameters
    ----------
    ids
        Shape (m,); numbers that only equal rows share, so that these are looked up once.
    own
        Shape (m,); distance of each row to the true one.
    search
        Finds neighbours of some rows, or of the first of them, given a known distance for each; if that is beaten, any
        nearer point is returned.
    """
    of_row, sizes = classes.distinct(ids)[1:]
    first = classes.first_rows(of_row.astype(np.int64), len(sizes))
    order = ints(np.argsort(first))
    first = first[order]
    limits = np.full(len(sizes), np.inf)
    np.minimum.at(limits, of_row, own)
    near, tied = search(first, limits[order])[:2]
    answered = len(of_row) if len(near) == len(sizes) else int(first[len(near)])
    place = np.empty(len(sizes), dtype=np.int32)
    place[order] = np.arange(len(sizes))
    asked = place[of_row[:answered]]
    hit = own[:answered] <= _reach(near[asked])
    return np.where(hit, 1.0 / np.maximum(tied[asked], 1), 0.0)


def _reach(nearest: Floats) -> Floats:
    return nearest + TIE * (1.0 + nearest)


def _nearest(points: Distinct, queries: Floats, most: int = NO_LIMIT, limits: Floats | None = None) -> Neighbours:
    """Neighbours of each query or of the first ones; where a known distance is beaten, any nearer point."""
    each = PAIR * len(points.points)
    limits = np.full(len(queries), np.inf) if limits is None else limits
    near, tied, lowest, looked = _native.nearest(
        points.points, points.sizes, queries, limits, TIE, most, math.ceil(each)
    )
    rest = queries[len(near) : len(near) + max(0, int((most - looked) / each))]
    if len(rest):
        more = _by_blocks(points.points, points.sizes, rest)
        near, tied, lowest = np.append(near, more[0]), np.append(tied, more[1]), np.append(lowest, more[2])
    return near, tied, lowest


def _by_blocks(points: Floats, sizes: Longs, queries: Floats) -> Neighbours:
    """As `_nearest`, by comparing all pairs."""
    middle = points.mean(axis=0)
    x, y = points - middle, queries - middle
    half, squares = (x * x).sum(axis=1) / 2, (y * y).sum(axis=1)
    # Each product and sum of d + 2 terms errs by less than (d + 4) eps times the sizes of the factors.
    slack = (x.shape[1] + 4) * np.finfo(float).eps * (2 * half.max() + squares)
    nearest, tied, lowest = np.empty(len(y)), np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    step = max(1, BLOCK // len(x))
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        score = half - y[part] @ x.T
        least = score.min(axis=1)
        reach = _reach(np.sqrt(np.maximum(2 * least + squares[part] + 2 * slack[part], 0.0)))
        who, which = np.nonzero(score <= ((reach**2 - squares[part]) / 2 + slack[part])[:, None])
        exact = np.sqrt(((queries[part][who] - points[which]) ** 2).sum(axis=1))
        starts = np.searchsorted(who, np.arange(len(least)))
        nearest[part] = np.minimum.reduceat(exact, starts)
        ties = exact <= _reach(nearest[part])[who]
        tied[part] = np.add.reduceat(np.where(ties, sizes[which], 0), starts)
        lowest[part] = np.minimum.reduceat(np.where(ties, which, len(x)), starts)
    return nearest, tied, lowest
