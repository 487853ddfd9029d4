"""Partitions of records into groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from shoal.kernels import arrays
from shoal.kernels.arrays import Floats, Ints, Longs, ints
from shoal.kernels.classes import classes
from shoal.vocabulary.errors import DataError, ParameterError, plural
from shoal.vocabulary.facts import ByLabel, Fact, Facts, private_form

Progress = arrays.Progress

Item = TypeVar("Item")


def part_of(progress: Progress, first: float, share: float) -> Progress:
    """The progress of one part of the work, reported as the range from `first` to `first + share` of the whole."""
    if progress is None:
        return None
    return lambda done: progress(first + share * done)


def tracked(items: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """Each item in turn; after each the share of items done is reported."""
    for number, item in enumerate(items):
        yield item
        if progress is not None:
            progress((number + 1) / len(items))


def meet(parts: "Sequence[Partition]") -> "Partition":
    """The coarsest partition whose groups lie inside a group of each of some partitions."""
    if len(parts) == 1:
        return parts[0]
    return Partition.of(classes([part.labels for part in parts], len(parts[0]))[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Partition:
    """Groups that cover every record once.

    Parameters
    ----------
    labels
        Shape (n,); group number of each record, 0 to G - 1, every group holding at least one record.
    facts
        Facts about how the groups were formed (see `shoal.vocabulary.facts`); no cell's value.
    model
        Model for the replacement beyond the labels (a fitted mixture, membership weights); None for most.
    loss, lower_bound
        Information loss of the partition, and a lower bound on that of any partition into groups of this size, in
        percent; None if not computed.
    """

    labels: Ints
    facts: Facts = field(default_factory=dict)
    model: Any = None
    loss: float | None = None
    lower_bound: float | None = None

    def __post_init__(self) -> None:
        given = np.asarray(self.labels)
        labels = ints(given)
        if labels.size and (labels != given).any():  # cut off or wrapped round, they would join other groups
            raise DataError("labels must be whole numbers of 32 bits.")
        if labels.ndim != 1:
            raise DataError(f"labels must have one dimension; got {labels.ndim}.")
        if labels.size and (labels.min() < 0 or (np.bincount(labels) == 0).any()):
            raise DataError("labels must number the groups 0 to G - 1 without a gap.")
        labels = labels.copy()
        labels.flags.writeable = False
        object.__setattr__(self, "labels", labels)

    @classmethod
    def of(cls, labels: ArrayLike, **facts: Fact) -> "Partition":
        """A partition from any group labels (numbers or text), numbered in order of first appearance."""
        _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
        order = np.empty(len(first), dtype=np.int32)
        order[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
        return cls(labels=order[inverse], facts=facts)

    @property
    def details(self) -> ByLabel:
        """The facts in their private form."""
        return private_form(self.facts)

    def __repr__(self) -> str:
        sizes = f" of {self.sizes.min():,} to {self.sizes.max():,}" if len(self) else ""
        return f"Partition of {plural(len(self), 'record')} into {plural(self.n_groups, 'group')}{sizes}"

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def sizes(self) -> Longs:
        """Shape (G,); number of records in each group."""
        return np.bincount(self.labels).astype(np.int64)

    @property
    def n_groups(self) -> int:
        return len(self.sizes)

    @property
    def k(self) -> int:
        """Size of the smallest group; 0 for a table without records."""
        return int(self.sizes.min()) if len(self.labels) else 0

    @cached_property
    def _order(self) -> tuple[Longs, Longs]:
        return np.argsort(self.labels, kind="stable"), np.concatenate([[0], np.cumsum(self.sizes)])

    def members(self) -> Iterator[Longs]:
        """Row numbers of each group, ascending, group by group."""
        order, ends = self._order
        for g in range(self.n_groups):
            yield order[ends[g] : ends[g + 1]]

    def sums(self, x: Floats) -> Floats:
        """Shape (G, d); sum of the rows of `x` (n, d) over each group."""
        order, ends = self._order
        return np.add.reduceat(x[order], ends[:-1], axis=0) if len(self.labels) else x[:0]

    def means(self, x: Floats, weights: Floats | None = None) -> Floats:
        """Shape (G, d); mean of the rows of `x` over each group.

        Means are computed about a member of the group, so that neither a large offset costs digits nor equal values
        change.
        """
        if not len(self.labels):
            return x[:0]
        order, ends = self._order
        first = x[order[ends[:-1]]]
        about = x - first[self.labels]
        if weights is None:
            return self.sums(about) / self.sizes[:, None] + first
        totals = self.sums(weights[:, None])
        if (totals <= 0).any():
            raise ParameterError("Weights must sum to more than 0 in every group.")
        return self.sums(about * weights[:, None]) / totals + first

    def sse(self, x: Floats, weights: Floats | None = None) -> float:
        """Within-group sum of squared distances to the group's mean; `x` of shape (n, d), or (n,) for one column."""
        x = x.reshape(len(x), -1)
        squares = ((x - self.means(x, weights)[self.labels]) ** 2).sum(axis=1)
        return float((squares if weights is None else squares * weights).sum())

    def information_loss(self, x: Floats) -> float:
        """IL = 100 SSE / SST in percent; 0 where all records are equal. `x` as for `sse`."""
        total = float(((x - x.mean(axis=0)) ** 2).sum()) if len(x) else 0.0
        return 100.0 * self.sse(x) / total if total > 0 else 0.0


def shuffled(partition: Partition, rng: Generator) -> Longs:
    """Shape (n,); for each record, the record whose cells it gets under a random permutation of its group."""
    source = np.empty(len(partition), dtype=np.int64)
    source[np.argsort(partition.labels, kind="stable")] = np.lexsort((rng.random(len(partition)), partition.labels))
    return source
