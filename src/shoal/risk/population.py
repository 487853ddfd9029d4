"""Numbers of people that a released record may stand for, in the table and in the population."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.judges.class_figures import ClassCounts
from shoal.judges.prelude import Bools, Floats, Longs, MissingCells, Records
from shoal.vocabulary.errors import NoFigure

NO_WEIGHTS = "The table has no sampling weight, so class sizes in the population are not known."


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookalikes:
    """The records that match each record on all quasi-identifiers, itself included."""

    sizes: Longs  # Shape (m,); how many there are in the table, f
    population: Floats  # Shape (m,); how many people there are in the population, F: the sum of the weights, at least f
    weighted: bool = False  # True if the table has weights
    records: Longs | None = None  # Shape (m,); of how many records each entry tells; None where each tells of one

    @property
    def count(self) -> int:
        """Number of records."""
        return len(self.sizes) if self.records is None else int(self.records.sum())

    def total(self, figure: Floats) -> float:
        """The sum over the records of a figure of shape (m,)."""
        return float(figure.sum() if self.records is None else (figure * self.records).sum())

    def mean(self, figure: Floats) -> float:
        """The mean over the records."""
        return self.total(figure) / self.count

    def share(self, chosen: Bools) -> float:
        """The share of the records in some entries, shape (m,)."""
        return int(chosen.sum() if self.records is None else self.records[chosen].sum()) / self.count

    @classmethod
    def of_classes(cls, counts: ClassCounts, *, weights_needed: bool = False) -> "Lookalikes":
        """Lookalikes in a table whose records match the others of their class; as `lookalikes`."""
        if weights_needed and counts.weights is None:
            raise NoFigure(NO_WEIGHTS)
        summed = counts.sizes.astype(np.float64) if counts.weights is None else counts.weights
        population = np.maximum(summed, counts.sizes)
        weighted = counts.weights is not None
        return cls(sizes=counts.sizes, population=population, weighted=weighted, records=counts.sizes)

    @classmethod
    def joined(cls, parts: "Sequence[Lookalikes]") -> "Lookalikes":
        """Lookalikes in a table, from those in parts that hold their classes whole; equal entries are united."""
        ones = [np.ones(len(part.sizes), dtype=np.int64) if part.records is None else part.records for part in parts]
        sizes, population = (np.concatenate([getattr(p, name) for p in parts]) for name in ("sizes", "population"))
        order = np.lexsort((population, sizes))
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(sizes[order]) != 0) | (np.diff(population[order]) != 0)
        starts = np.flatnonzero(first)
        records = np.add.reduceat(np.concatenate(ones)[order], starts) if len(starts) else order
        kept = order[starts]
        return cls(sizes=sizes[kept], population=population[kept], weighted=parts[0].weighted, records=records)


def lookalikes(released: Records, missing: MissingCells = "equal", *, weights_needed: bool = False) -> Lookalikes:
    """Lookalikes in a table that has records and quasi-identifiers.

    `missing`: what a missing cell matches (`Records.matching`). NoFigure if weights are needed and there are none, or
    if some cannot be used.
    """
    sizes = released.matching(released.quasi_identifiers, missing)
    weights = sampling_weights(released)
    if weights is not None:
        summed = released.matching_weight(released.quasi_identifiers, weights, missing)
        return Lookalikes(sizes=sizes, population=np.maximum(summed, sizes), weighted=True)
    if weights_needed:
        raise NoFigure(NO_WEIGHTS)
    return Lookalikes(sizes=sizes, population=sizes.astype(np.float64))


def sampling_weights(released: Records) -> Floats | None:
    """Shape (n,); the sampling weights, None where there are none.

    NoFigure if some cannot be used.
    """
    weights = released.weights
    if weights is None or (np.isfinite(weights) & (weights > 0)).all():
        return weights
    raise NoFigure("Sampling weights must be present and above 0 for every record.")
