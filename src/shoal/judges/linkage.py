"""Linkage by distance: whose original record is the nearest one (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001).

The attack that several judges make. Both tables lie in the original's standardised embedding; where t records are
equally near and the true one is among them, the link is right with probability 1/t.
"""

from typing import Literal

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.search.nearest import NO_LIMIT, link

Metric = Literal["euclidean", "mahalanobis"]
Direction = Literal["released to original", "original to released"]

METRICS: tuple[Metric, ...] = ("euclidean", "mahalanobis")
DIRECTIONS: tuple[Direction, ...] = ("released to original", "original to released")

EFFORT = 300_000_000_000
"""Points times (dimensions + OVERHEAD) that a minute can look at (bench/judgement.py)."""

OVERHEAD = 50
"""What a point costs beyond its dimensions, in dimensions."""


def link_by_distance(
    pair: TablePair,
    names: tuple[str, ...],
    metric: Metric,
    direction: Direction,
    sample: int | None,
    rng: np.random.Generator,
) -> tuple[Longs, Floats]:
    """Link records by some columns.

    Parameters
    ----------
    pair
        Tables of which the pairing is known, with at least one released record.
    metric
        Distance of the embedding, or Mahalanobis distance in the original's covariance (directions without variance are
        left out).
    direction
        Who is looked up where.
    sample
        Attack so many records, drawn at random; None: as many as a minute allows.

    Returns
    -------
    Shapes (m,); positions of the released records attacked, ascending, and the probability that each is linked right.
    """
    x, y = pair.embedded(names)
    if metric == "mahalanobis":
        x, y = _whitened(x, y)
    truth = pair.pairing
    if direction == "original to released":
        x, y, truth = y, x[truth], np.arange(len(y))
    rows = rng.permutation(len(y))[:sample]
    allowed = EFFORT // (x.shape[1] + OVERHEAD) if sample is None else NO_LIMIT
    chances = link(x, y[rows], truth[rows], allowed)
    in_order = np.argsort(rows[: len(chances)])
    return rows[in_order], chances[in_order]


def _whitened(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both tables in coordinates in which the original's covariance is the identity."""
    centre = x.mean(axis=0)
    covariance = np.atleast_2d(np.cov(x - centre, rowvar=False)) if len(x) > 1 else np.zeros((x.shape[1],) * 2)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps * 100
    turn = vectors[:, kept] / np.sqrt(values[kept])
    return (x - centre) @ turn, (y - centre) @ turn
