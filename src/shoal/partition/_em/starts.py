"""First assignments for EM: model-based agglomeration and k-means, and how long each is tried."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoal.kernels import linear
from shoal.kernels.draws import drawn_rows
from shoal.kernels.mixture.agglomeration import agglomeration, cut
from shoal.kernels.mixture.mixture import Statistics, statistics_of
from shoal.kernels.tall import independent
from shoal.table.prelude import Floats, Generator, Ints

LLOYD_STEPS = 50
"""k-means is only a start: it is stopped after this many steps if it has not settled."""

COLLINEAR = 1e-10
"""A column is left out of the fit when so little of its variance is left, given the columns before it."""


class Start(NamedTuple):
    """A first assignment in the form an M-step takes."""

    name: str
    statistics: Statistics


class Starts:
    """Starts for any number of groups from one sample of the records.

    `x`: shape (n, d) with columns of full rank.
    """

    def __init__(self, x: Floats, hierarchy_records: int, kmeans: int, rng: Generator) -> None:
        self.x = x
        self.kmeans = kmeans
        self.seed = int(rng.integers(2**63))
        about = x - x.mean(axis=0)
        self.covariance = linear.cross_product(about, about) / len(x)
        self.sample = x[drawn_rows(rng, len(x), hierarchy_records)]
        self.merges = agglomeration(self._white(self.sample))

    def _white(self, x: Floats) -> Floats:
        factor = linear.cholesky(self.covariance)
        return linear.product(x - self.x.mean(axis=0), linear.inverse(factor).T)

    def of(self, groups: int) -> Iterator[Start]:
        """The hierarchical start, then those by k-means: at least one where the hierarchy has too few records."""
        if groups <= len(self.sample):
            yield self._start("hierarchical", self.sample, cut(self.merges, groups), groups)
        for number in range(self.kmeans or groups > len(self.sample)):
            labels = kmeans(self.x, groups, np.random.default_rng([self.seed, number, groups]))
            yield self._start(f"k-means {number + 1}", self.x, labels, groups)

    def _start(self, name: str, x: Floats, labels: Ints, groups: int) -> Start:
        """Each class is credited with one more record, scattered like the table, so that no start is singular."""
        statistics = statistics_of(x, labels, groups)
        one_more = statistics.scatter + self.covariance
        return Start(name, Statistics(statistics.weight, statistics.mean, one_more))


def kmeans(x: Floats, groups: int, rng: Generator) -> Ints:
    """Shape (n,); Lloyd's algorithm from seeds drawn by squared distance (Arthur & Vassilvitskii 2007).

    An emptied class takes the record farthest from its centre.
    """
    columns = np.ascontiguousarray(x.T)
    centres = x[[int(rng.integers(len(x)))]]
    gap = _squared_distances(columns, centres)[0]
    for _ in range(groups - 1):
        total = gap.sum()
        chance = gap / total if total > 0 else np.full(len(x), 1 / len(x))
        centres = np.vstack([centres, x[rng.choice(len(x), p=chance)]])
        np.minimum(gap, _squared_distances(columns, centres[-1:])[0], out=gap)
    labels = np.full(len(x), -1)
    for _ in range(LLOYD_STEPS):
        distances = _squared_distances(columns, centres)
        before, labels = labels, distances.argmin(axis=0)
        for g in np.flatnonzero(np.bincount(labels, minlength=groups) == 0):
            crowded = np.bincount(labels, minlength=groups)[labels] > 1
            labels[np.where(crowded, distances[labels, np.arange(len(x))], -1.0).argmax()] = g
        if (labels == before).all():
            break
        sizes = np.bincount(labels, minlength=groups)
        centres = np.column_stack([np.bincount(labels, column, groups) for column in columns]) / sizes[:, None]
    return labels.astype(np.int32)


def _squared_distances(columns: Floats, centres: Floats) -> Floats:
    """Shape (G, n), for columns of shape (d, n): along the records, since rows are short."""
    out = np.zeros((len(centres), columns.shape[1]))
    for square, centre in zip(out, centres):
        for column, place in zip(columns, centre):
            gap = column - place
            gap *= gap
            square += gap
    return out


def independent_columns(x: Floats) -> list[int]:
    """Columns in order, without those that are constant or linear in the ones before them."""
    return np.flatnonzero(independent(x, COLLINEAR)).tolist()
