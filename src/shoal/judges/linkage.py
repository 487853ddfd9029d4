"""Linkage by distance: whose original record is the nearest one (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001).

The attack that several judges make. Both tables lie in the original's standardised embedding; where t records are
equally near and the true one is among them, the link is right with probability 1/t.

Whoever knows that everybody was released, and once, does better by linking all records at once, so that no two records
share a link and the sum of the squared distances is least (Herranz, Nin, Rodriguez & Tassa 2015). Squares instead of
their distances make the assignment the likeliest one under normal noise, and in one column the only best one.
"""

from typing import Literal

import numpy as np

from shoal.judges.fitted_weights import fitted_weights
from shoal.judges.space import OVERHEAD, Space
from shoal.judges.table_pair import TablePair
from shoal.kernels import linear
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.search.nearest import NO_LIMIT, distinct, link

Metric = Literal["euclidean", "mahalanobis", "fitted"]
Direction = Literal["released to original", "original to released"]
Matching = Literal["nearest", "one-to-one"]

METRICS: tuple[Metric, ...] = ("euclidean", "mahalanobis")  # Those for which no true pair need be known
DIRECTIONS: tuple[Direction, ...] = ("released to original", "original to released")

EFFORT = 20_000_000_000
"""Points times (columns + OVERHEAD) that some seconds can look at (bench/judgement.py)."""

PAIRS = 4_000_000
"""Pairs of records whose best assignment takes about a second."""


def link_by_distance(
    pair: TablePair,
    names: tuple[str, ...],
    metric: Metric,
    direction: Direction,
    sample: int | None,
    rng: np.random.Generator,
    matching: Matching = "nearest",
) -> tuple[Longs, Floats]:
    """Link records by some columns.

    `pair`: tables of which the pairing is known, with at least one released record. `metric`: distance of the
    embedding, Mahalanobis distance in the original's covariance (directions without variance are left out), or the
    distance with columns weighed by `fitted_weights`, unless equal weights link more. `direction`: who is looked up
    where. `sample`: attack so many records, drawn at random; None: as many as some seconds allow. `matching`: each
    record by itself, or all at once. Returns shapes (m,); positions of the released records attacked, ascending, and
    the probability that each is linked right.
    """
    space, truth = pair.space(names), pair.pairing
    rows = rng.permutation(len(truth))[:sample]
    work = EFFORT if sample is None else None
    backwards = direction == "original to released"
    queries, answer = (truth[rows], rows) if backwards else (rows, truth[rows])

    def linked(x: Floats, y: Floats) -> Floats:
        searched, wanted = (y, x) if backwards else (x, y)
        if matching == "one-to-one":
            some = max(PAIRS // max(len(searched), 1), 1)
            return _assigned(searched, wanted[queries[:some]], answer[:some])
        return link(searched, wanted[queries], answer, NO_LIMIT if work is None else work // (x.shape[1] + OVERHEAD))

    if metric == "mahalanobis":
        chances = linked(*_whitened(*space.coordinates()))
    elif matching == "one-to-one":
        chances = linked(*space.coordinates())
    else:
        chances = space.link(queries, answer, backwards=backwards, work=work)
    if metric == "fitted":
        chances = _more(chances, linked(*_weighted(space, truth[rows], rows, backwards, rng)))
    in_order = np.argsort(rows[: len(chances)])
    return rows[in_order], chances[in_order]


def _weighted(
    space: Space, originals: Longs, released: Longs, backwards: bool, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Both tables in coordinates in which the distance is that with the fitted weights of the columns."""
    x, y = space.coordinates()
    of_coordinate = np.repeat(np.arange(len(space.columns)), [c.column.width for c in space.columns])
    searched, wanted, queries, answer = (y, x, originals, released) if backwards else (x, y, released, originals)
    roots = np.sqrt(fitted_weights(searched, wanted[queries], answer, of_coordinate, rng))[of_coordinate]
    return x * roots, y * roots


def _more(first: Floats, second: Floats) -> Floats:
    """The chances that are higher on the whole, of the records for which there are both."""
    both = min(len(first), len(second))
    return max(first[:both], second[:both], key=lambda chances: float(chances.sum()))


def _assigned(x: Floats, y: Floats, truth: Longs) -> Floats:
    """Shape (m,); the probability that the best assignment of `y` (m, d) to `x` (n, d) gives each its true record.

    Equal records may change places: of s equal ones that look for t equal ones, and r of them there, each is right with
    probability r / (s t).
    """
    from scipy.optimize import linear_sum_assignment

    if not len(x):
        return np.zeros(len(y))
    squares = np.zeros((len(y), len(x)))
    for j in range(x.shape[1]):
        squares += (y[:, j : j + 1] - x[:, j]) ** 2
    asked, seat = linear_sum_assignment(squares)
    there, seekers = distinct(x), distinct(y)
    pair = seekers.of_row * len(there.sizes)
    links = np.bincount(pair[asked] + there.of_row[seat], minlength=len(seekers.sizes) * len(there.sizes))
    true = there.of_row[truth]
    return np.asarray(links[pair + true] / (seekers.sizes[seekers.of_row] * there.sizes[true]), dtype=np.float64)


def _whitened(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both tables in coordinates in which the original's covariance is the identity."""
    centre = x.mean(axis=0)
    covariance = linear.cross_product(x - centre, x - centre) / max(len(x) - 1, 1)
    values, vectors = linear.eigen(covariance)
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps * 100
    turn = vectors[:, kept] / np.sqrt(values[kept])
    return linear.product(x - centre, turn), linear.product(y - centre, turn)
