"""Linkage by distance: whose original record is the nearest one (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001).

The attack that several judges make. Both tables lie in the original's standardised embedding; where t records are
equally near and the true one is among them, the link is right with probability 1/t.
"""

from typing import Literal

import numpy as np

from shoal.judges.space import OVERHEAD
from shoal.judges.table_pair import TablePair
from shoal.kernels import linear
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.search.nearest import NO_LIMIT, link

Metric = Literal["euclidean", "mahalanobis"]
Direction = Literal["released to original", "original to released"]

METRICS: tuple[Metric, ...] = ("euclidean", "mahalanobis")
DIRECTIONS: tuple[Direction, ...] = ("released to original", "original to released")

EFFORT = 20_000_000_000
"""Points times (columns + OVERHEAD) that some seconds can look at (bench/judgement.py)."""


def link_by_distance(
    pair: TablePair,
    names: tuple[str, ...],
    metric: Metric,
    direction: Direction,
    sample: int | None,
    rng: np.random.Generator,
) -> tuple[Longs, Floats]:
    """Link records by some columns.

    `pair`: tables of which the pairing is known, with at least one released record. `metric`: distance of the
    embedding, or Mahalanobis distance in the original's covariance (directions without variance are left out).
    `direction`: who is looked up where. `sample`: attack so many records, drawn at random; None: as many as some
    seconds allow. Returns shapes (m,); positions of the released records attacked, ascending, and the probability that
    each is linked right.
    """
    space, truth = pair.space(names), pair.pairing
    rows = rng.permutation(len(truth))[:sample]
    work = EFFORT if sample is None else None
    backwards = direction == "original to released"
    queries, answer = (truth[rows], rows) if backwards else (rows, truth[rows])
    if metric == "mahalanobis":
        x, y = _whitened(*space.coordinates())
        searched, searchers = (y, x) if backwards else (x, y)
        chances = link(
            searched, searchers[queries], answer, NO_LIMIT if work is None else work // (x.shape[1] + OVERHEAD)
        )
    else:
        chances = space.link(queries, answer, backwards=backwards, work=work)
    in_order = np.argsort(rows[: len(chances)])
    return rows[in_order], chances[in_order]


def _whitened(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both tables in coordinates in which the original's covariance is the identity."""
    centre = x.mean(axis=0)
    covariance = linear.cross_product(x - centre, x - centre) / max(len(x) - 1, 1)
    values, vectors = linear.eigen(covariance)
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps * 100
    turn = vectors[:, kept] / np.sqrt(values[kept])
    return linear.product(x - centre, turn), linear.product(y - centre, turn)
