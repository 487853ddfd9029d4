"""Permuted privacy: by how many ranks each record was moved (Domingo-Ferrer & Muralidhar 2016)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shoal.judges.base import by_record
from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, TablePair
from shoal.kernels.draws import drawn_rows
from shoal.kernels.search.ranges import ranges_together
from shoal.kernels.swap.rank_swap import window_of
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import (
    ByColumn,
    Columns,
    Count,
    Ge,
    Gt,
    Le,
    NoFigure,
    OfPlan,
    Setting,
    in_digits,
    method,
    of_original,
)

PAIRS = 200_000_000
"""So many pairs of records are some seconds' work; above it records are sampled."""

BLOCK = 250_000
"""Pairs in memory at a time."""

BESIDE = 16
"""Released records on either side of the nearest value that are looked at first."""


@method("permutation-distance", title="Records that were hardly permuted", source="Domingo-Ferrer & Muralidhar (2016)")
class PermutationDistance(RiskMeasure):
    """Share of records without (d, v)-permuted privacy: their values moved by too few ranks, or among too like ones.

    Any masking is a permutation of each column, followed by a change that keeps the ranks (the permutation paradigm).
    The permutation distance of
    an original record is the least d for which some released record lies, in every column, within d ranks of the
    released value nearest to the record's own (Definition 1 of the source). All that a person needs to find it is
    their own record and the release, so that everybody can verify how well they are protected. A record has permuted
    privacy if its distance is at least d and, in every column, the released values within d ranks of the nearest one
    have a variance above v.

    By column the details tell what reverse mapping finds (Algorithm 1 of the source): by what share of all ranks
    values moved on average, and how much of the squared change is left once the original values are permuted into the
    order of the released ones.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    distance
        d, as a fraction of the records; at least one rank.
    variance
        v, as a share of the original column's variance.
    sample
        Attack so many records, drawn at random; by default all, or as many as make 200 million pairs.

    Notes
    -----
    Equal values share all of their ranks, and the least difference counts. Of two released values equally near, the
    lower counts. Records with a missing cell in these columns, in either table, are left out.
    """

    question = "linkability"
    needs = ("columns", "pairing", "records", "versions")
    continuous = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    distance: Annotated[float, Gt(0), Le(1), Setting()] = 0.01
    variance: Annotated[float, Ge(0), Setting()] = 0.0
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        x, y = pair.before.raw(names)[pair.pairing], pair.released.raw(names)
        rows = np.flatnonzero(~(np.isnan(x) | np.isnan(y)).any(axis=1))
        n = len(rows)
        if n < 2:
            raise NoFigure("Fewer than two records are complete in these columns.")
        x, y = x[rows], y[rows]
        d = max(1, window_of(self.distance, n))
        attacked = drawn_rows(rng, n, self.sample or max(100, PAIRS // n))
        columns = [Permuted(before, after, attacked) for before, after in zip(x.T, y.T)]
        distances = _distances(columns, attacked)
        alike = np.logical_or.reduce([c.alike(d, self.variance) for c in columns])
        exposed = (distances < d) | alike
        value = float(exposed.mean())
        return self.finding(
            value,
            f"{in_digits(100 * value, 3)} % of the records lie within fewer than {d:,} ranks of a released record in "
            f"every column, or among values too like their own.",
            interval=cautious_interval(float(exposed.sum()), len(attacked)),
            by_column=ByColumn(
                of_original(
                    {
                        name: {
                            "mean share of ranks moved": column.moved,
                            "change beyond permutation": column.noise,
                            "largest share of ranks moved": column.furthest,
                        }
                        for name, column in zip(names, columns)
                    }
                )
            ),
            facts={
                "records attacked": Count(n=len(attacked)),
                "columns": OfPlan(list(names)),
                "distance": OfPlan(self.distance),
                **of_original(
                    {
                        "ranks": d,
                        "least permutation distance": int(distances.min()),
                        "median permutation distance": float(np.median(distances)),
                        "share too near": float((distances < d).mean()),
                        "share among like values": float(alike.mean()),
                    }
                ),
            },
            record_risk=by_record(pair.released, rows[attacked], exposed.astype(np.float64)),
        )


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of values among others, from 0; equal values share all of theirs, from the first to the last."""

    first: Longs
    last: Longs

    @classmethod
    def among(cls, ordered: Floats, values: Floats) -> "Ranks":
        return cls(np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right") - 1)


class Permuted:
    """One column before and after.

    Parameters
    ----------
    x, y
        Shape (n,); original and released values of each record.
    attacked
        Rows of the records whose distance is sought.
    """

    def __init__(self, x: Floats, y: Floats, attacked: Longs) -> None:
        self.x, self.y, self.ordered = x, y, np.sort(y)
        self.own = Ranks.among(self.ordered, y)
        self.nearest = Ranks.among(self.ordered, _nearest(self.ordered, x[attacked]))

    @property
    def moves(self) -> Floats:
        """Shape (n,); by what share of all ranks each value moved."""
        before = Ranks.among(np.sort(self.x), self.x)
        gap = np.maximum(before.first - self.own.last, self.own.first - before.last)
        return np.asarray(np.maximum(gap, 0) / (len(self.x) - 1))

    @property
    def moved(self) -> float:
        return float(self.moves.mean())

    @property
    def furthest(self) -> float:
        return float(self.moves.max())

    @property
    def noise(self) -> float:
        """The squared change that permuting the original values does not explain, as a share of all; 0 without any."""
        permuted = reverse_mapped(self.x, self.y)
        scale = max(float(np.abs(self.y - self.x).max()), np.finfo(float).tiny)
        whole = float((((self.y - self.x) / scale) ** 2).sum())
        return float((((self.y - permuted) / scale) ** 2).sum()) / whole if whole else 0.0

    def alike(self, d: int, share: float) -> Bools:
        """True where the released values within d ranks of the nearest have no variance above a share of the column's.

        Shape (m,).
        """
        low = np.maximum(self.nearest.first - d, 0)
        high = np.minimum(self.nearest.last + d, len(self.ordered) - 1)
        spread = max(float(np.ptp(self.x)), float(np.ptp(self.y)), np.finfo(float).tiny)
        z = (self.ordered - np.median(self.ordered)) / spread
        sums, squares = (np.concatenate([[0.0], np.cumsum(power)]) for power in (z, z**2))
        size = high - low + 1
        means = (sums[high + 1] - sums[low]) / size
        variances = (squares[high + 1] - squares[low]) / size - means**2
        constant = self.ordered[low] == self.ordered[high]
        return np.asarray(
            constant | (variances <= share * float(((self.x - np.median(self.x)) / spread).var())) & (share > 0)
        )


def reverse_mapped(x: Floats, y: Floats) -> Floats:
    """Shape (n,); the original values in the order of the released ones (Algorithm 1 of the source).

    Equal released values get their original ones in these values' own order, the nearest to no permutation.
    """
    permuted = np.empty(len(x))
    permuted[np.lexsort((x, y))] = np.sort(x)
    return permuted


def _nearest(ordered: Floats, values: Floats) -> Floats:
    """Shape of `values`; the nearest of some ascending values, of two equally near the lower."""
    above = np.minimum(np.searchsorted(ordered, values, "left"), len(ordered) - 1)
    below = np.maximum(above - 1, 0)
    nearer = np.abs(values - ordered[below]) <= np.abs(ordered[above] - values)
    return np.asarray(np.where(nearer, ordered[below], ordered[above]))


def _distances(columns: list[Permuted], attacked: Longs) -> Longs:
    """Shape (m,); the permutation distance of each record attacked: over the released records the least of the largest
    differences of ranks in any column.

    Its own record, and those beside it in one column, tell within how many ranks the search in that column ends.
    """
    n, m = len(columns[0].y), len(attacked)
    lead = columns[0]
    order = np.argsort(lead.y, kind="stable")
    first, last = lead.own.first[order], lead.own.last[order]
    beside = np.clip(lead.nearest.first[:, None] + np.arange(-BESIDE, BESIDE), 0, n - 1)
    least = _apart(columns, np.arange(m), np.column_stack([attacked, order[beside]])).min(axis=1)
    start = np.searchsorted(last, lead.nearest.first - least + 1, "left")
    stop = np.where(least > 0, np.searchsorted(first, lead.nearest.last + least - 1, "right"), start)
    for part, near in ranges_together(start, stop, BLOCK):
        least[part] = np.minimum(least[part], _apart(columns, part, order[near]).min(axis=1))
    return np.asarray(least)


def _apart(columns: list[Permuted], attacked: Longs, released: Longs) -> Longs:
    """Shape (a, r); the largest difference of ranks in any column, of some attacked records by number to released ones.

    `released`: of shape (r,), or (a, r) for others beside each.
    """
    largest = np.zeros((len(attacked), released.shape[-1]), dtype=np.int64)
    for column in columns:
        np.maximum(largest, column.own.first[released] - column.nearest.last[attacked, None], out=largest)
        np.maximum(largest, column.nearest.first[attacked, None] - column.own.last[released], out=largest)
    return largest
