"""Proven lower bound: how little any partition could lose."""

from typing import Annotated, Literal

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.kernels.partition.bounds import MOST_RECORDS, groups_of, neighbour_bound, relaxation
from shoal.table.partition import Partition
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import ByLabel, Columns, Ge, NoFigure, in_digits, method, of_original


@method("lower-bound", title="Proven lower bound of the loss of microaggregation", source="shoal")
class LowerBound(UtilityMeasure):
    """The information loss, in percent, that no partition into groups of k or more can go below.

    IL = 100 SSE / SST over the quasi-identifiers, as for microaggregation with means. "neighbours": half of what
    a record loses to its k - 1 nearest, over k, summed; quick. "set-partition": the linear relaxation of choosing
    the best groups, solved by column generation; much closer, for up to 5 000 records and k up to about 5; proven
    even where it stops before the end (see `shoal.kernels.partition.bounds`).

    Parameters
    ----------
    k
        Smallest group size; by default the size of the smallest group of the partition that was released.
    kind
        Which bound.
    columns
        By default the quasi-identifiers.
    """

    k: Annotated[int, Ge(1)] | None = None
    kind: Literal["neighbours", "set-partition"] = "neighbours"
    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original = pair.before
        partition = pair.groups
        paired = partition is not None and len(partition) == len(original)
        k = self.k or (partition.k if partition is not None and paired else None)
        if not k:
            raise NoFigure("Neither k nor the partition of the release is known.")
        if k > len(original):
            raise NoFigure(f"No group of {k} can be formed: the table has {len(original)} records.")
        names = original.quasi_identifiers if self.columns is None else self.columns
        if incomplete := [name for name in names if original[name].missing.any()]:
            raise NoFigure(f"Columns with missing values have no distances: {', '.join(incomplete)}.")
        x = original.matrix(names)
        if not x.size or not np.ptp(x, axis=0).any():
            raise NoFigure("All records are equal, so the loss has no scale.")
        spread = float(((x - x.mean(axis=0)) ** 2).sum())
        if self.kind == "set-partition" and len(x) > MOST_RECORDS:
            raise NoFigure(f"The set-partition bound takes up to {MOST_RECORDS} records; set kind: neighbours.")
        bound = 100 * self._bound(x, k, partition if paired else None) / spread
        details: ByLabel = {"k": k, "kind": self.kind}
        if partition is not None and paired:
            details["loss of the partition"] = partition.information_loss(x)
        return self.finding(
            bound,
            f"Groups of {k} or more, however chosen, lose at least {in_digits(bound, 3)} % of the spread.",
            facts=of_original(details),
        )

    def _bound(self, x: Floats, k: int, partition: Partition | None) -> float:
        if self.kind == "neighbours" or k == 1 or len(x) < 2 * k:
            return neighbour_bound(x, k)
        labels = np.minimum(np.arange(len(x)) // k, len(x) // k - 1)
        columns = groups_of(labels)
        if partition is not None and partition.k >= k:
            columns += [group for group in groups_of(partition.labels) if len(group) < 2 * k]
        return relaxation(x, k, columns).bound
