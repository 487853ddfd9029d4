"""BUREL: groups that are beta-like, by buckets and dichotomies (Cao & Karras 2012)."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from shoal.kernels.elementary import log
from shoal.kernels.requirement import emd
from shoal.partition._requirement.requirement import GroupRequirement, RequirementPartitioner
from shoal.table.confidential_bins import Bins, confidential_bins
from shoal.table.prelude import Bools, Floats, Generator, Ints, Longs, Progress, Records
from shoal.vocabulary.prelude import ByLabel, Count, Facts, Ge, Gt, Setting, method

FILLS = tuple(tenths / 10 for tenths in range(10, -1, -1))
"""Shares of what a bucket may hold up to which buckets are filled; the first that makes most groups is taken."""

BLOCK = 4_000
"""Records among which the nearest are sought: the work of a group grows with them."""

ROUNDING = 1e-12
"""Shares within this are equal; whether a group is beta-like is decided in whole numbers at the end."""


@method("burel", title="BUREL", source="Cao & Karras (2012), section 4", example={"beta": 4.0, "k": 2})
class BUREL(RequirementPartitioner):
    """Groups in which no confidential value is much more frequent than in the table: beta-likeness.

    With p a value's share in the table, its share in a group may be at most f(p) = (1 + min(beta, -ln p)) p.

    1. Bucketisation: values, the rarest first, go into as few buckets as can be, such that the values of a bucket
       together have no larger share than the rarest of them may have in a group.
    2. Dichotomies: the table is halved, bucket by bucket, and each half again, as long as no bucket has more than
       its rarest value may have in either half.
    3. Each half that is halved no further becomes a group: the record farthest from the mean of those left, and from
       each bucket as many of the nearest records as the half has of it.

    Parameters
    ----------
    beta
        Largest relative gain.
    k
        Smallest group size.
    enhanced
        The enhanced model, with the minimum in f; else f(p) = (1 + beta) p.

    Notes
    -----
    Differs from the paper: buckets are filled one after the other, which makes as few as can be since f does not fall,
    and also to nine tenths, eight ... of what they may hold, since full ones leave no allowance for odd numbers; what
    makes most groups is taken. Records are taken by their distance and not along a Hilbert curve, odd ones of a bucket
    go to either half in turn, and groups have k records or more. Tables of more than 4 000 records are halved as they
    lie, along the column in which they are widest, until blocks of no more are left.

    With several confidential columns the buckets are of that with the rarest value; groups that fail for another are
    merged, as are those of a stratum whose values are not spread like the table's.
    """

    beta: Annotated[float, Gt(0), Setting()]
    k: Annotated[int, Ge(1)] = 1
    enhanced: bool = True

    def required(self, records: Records) -> GroupRequirement:
        columns = confidential_bins(records, "equal")
        return GroupRequirement.of(columns, [emd.Alike(c.counts, self.beta, self.enhanced) for c in columns])

    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> ByLabel:
        sizes = np.bincount(labels)
        largest = 0.0
        for column, bins in zip(required.columns, required.bins):
            pairs, counts = np.unique(labels.astype(np.int64) * column.m + bins, return_counts=True)
            shares = counts / sizes[pairs // column.m]
            largest = max(
                largest, float((shares * column.records / column.counts[pairs % column.m]).max(initial=1)) - 1
            )
        return {"beta": float(np.ceil(largest * 1e6 * (1 - ROUNDING)) / 1e6)}

    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        shares = [column.counts / column.records for column in required.columns]
        rarest = min(range(len(shares)), key=lambda j: float(shares[j].min()))
        column, bins = required.columns[rarest], required.bins[rarest]
        tried = [self._divided(column, bins, fill) for fill in FILLS]
        buckets, most, groups = max(tried, key=lambda divided: divided[2])
        rows = [np.flatnonzero(buckets[bins] == bucket) for bucket in range(len(most))]
        labels = self._labels(records.matrix(columns), rows, most, progress)
        facts = {"buckets": Count(n=len(most), unit="buckets"), "groups before merging": Count(n=groups, unit="groups")}
        return labels, facts

    def _divided(self, column: Bins, bins: Ints, fill: float) -> tuple[Longs, Floats, int]:
        """The buckets, as `buckets` makes them, and how many groups they let the dichotomies make."""
        buckets, most = self.buckets(column, fill)
        return buckets, most, sum(1 for _ in self._halved(np.bincount(buckets[bins], minlength=len(most)), most))

    def buckets(self, column: Bins, fill: float = 1.0) -> tuple[Longs, Floats]:
        """Shape (m,), the bucket of each value, and by bucket the share that it may have in a group.

        `fill`: share of that up to which buckets are filled.
        """
        share = column.counts / column.records
        gain = np.minimum(self.beta, -log(share)) if self.enhanced else self.beta
        bound = (1 + gain) * share
        of_value = np.empty(column.m, dtype=np.int64)
        most: list[float] = []
        filled = 0.0
        for value in np.argsort(share, kind="stable"):
            filled += float(share[value])
            if not most or filled > fill * most[-1] + ROUNDING:
                most.append(float(bound[value]))
                filled = float(share[value])
            of_value[value] = len(most) - 1
        return of_value, np.array(most)

    def _halved(self, sizes: Longs, most: Floats) -> Iterator[Longs]:
        """The numbers of records, by bucket, of halves that are halved no further."""
        if (first := self._half(sizes, most)) is None:
            yield sizes
        else:
            yield from self._halved(first, most)
            yield from self._halved(sizes - first, most)

    def _half(self, sizes: Longs, most: Floats) -> Longs | None:
        """The numbers of records, by bucket, of a half; None where one of the two may not be."""
        odd = sizes % 2
        first = sizes // 2 + odd * (np.cumsum(odd) % 2)
        return first if all(self._may_be(half, most) for half in (first, sizes - first)) else None

    def _may_be(self, sizes: Longs, most: Floats) -> bool:
        """True if so many records of the buckets may be a group, whatever values they have."""
        total = int(sizes.sum())
        return total >= self.k and bool((sizes <= (most + ROUNDING) * total).all())

    def _labels(self, x: Floats, rows: list[Longs], most: Floats, progress: Progress) -> Ints:
        """Shape (n,); the group of each record; `rows`, by bucket, of all of them.

        What is more than a block is halved where it lies, along the column in which it is widest.
        """
        labels, groups, done = np.empty(len(x), dtype=np.int32), 0, 0
        waiting = [rows]
        while waiting:
            node = waiting.pop()
            together, sizes = np.concatenate(node), np.array([len(of) for of in node])
            first = self._half(sizes, most) if len(together) > BLOCK else None
            if first is not None:
                widest = x[:, x[together].var(axis=0).argmax()]
                in_order = [of[np.argsort(widest[of], kind="stable")] for of in node]
                cut = list(zip(in_order, first.tolist()))
                waiting += [[of[size:] for of, size in cut], [of[:size] for of, size in cut]]
                continue
            halves = list(self._halved(sizes, most))
            labels[together] = groups + _filled(x[together], np.repeat(np.arange(len(node)), sizes), halves)
            groups, done = groups + len(halves), done + len(together)
            if progress is not None:
                progress(done / len(x))
        return labels


def _filled(x: Floats, of_record: Longs, halves: Sequence[Longs]) -> Ints:
    """Shape (n,); the group of each record; group by group the nearest records of each bucket."""
    labels = np.empty(len(x), dtype=np.int32)
    left = [np.flatnonzero(of_record == bucket) for bucket in range(len(halves[0]))]
    for group, sizes in enumerate(halves):
        rows = np.concatenate(left)
        points = x[rows]
        seed = points[_squares(points, points.mean(axis=0)).argmax()]
        far = np.split(_squares(points, seed), np.cumsum([len(of) for of in left])[:-1])
        for bucket, size in enumerate(sizes.tolist()):
            near = _nearest(far[bucket], size)
            labels[left[bucket][near]] = group
            left[bucket] = left[bucket][~near]
    return labels


def _squares(points: Floats, place: Floats) -> Floats:
    return np.asarray(((points - place) ** 2).sum(axis=1))


def _nearest(far: Floats, size: int) -> Bools:
    """Shape of `far`; True for so many of the smallest, of equal ones for the first."""
    near = np.zeros(len(far), dtype=bool)
    if size:
        reach = np.partition(far, size - 1)[size - 1]
        near = far < reach
        near[np.flatnonzero(far == reach)[: size - int(near.sum())]] = True
    return near
