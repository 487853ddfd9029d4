"""Permutation inside the group: probabilistic k-anonymity by swapping."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.facts import Count
from shoal.kernels.arrays import Longs
from shoal.methods import Scales, method
from shoal.replace.base import Replacement
from shoal.step_result import Dealing, StepResult


@method("permutation", title="Permutation inside the group", source="Soria-Comas & Domingo-Ferrer (2012)")
class Permutation(Replacement):
    """The target columns' values are dealt out anew among the records of a group, every order equally likely.

    Nothing but the assignment changes: inside every group, and so overall, all distributions of the target columns
    stay as they are. Of a group of s records one keeps its own values on average, whatever s.

    Parameters
    ----------
    joint
        Permute the columns together, so that their joint distribution in the group is kept; otherwise every column
        by an order of its own, so that only the columns' own distributions are.
    """

    scales: ClassVar[Scales] = "blocks"

    joint: bool = True

    @property
    def dealing(self) -> Dealing:
        return "records" if self.joint else "columns"

    @property
    def anew(self) -> bool:
        return not self.joint  # which leaves the cells of an original record beside one another

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        order = np.argsort(partition.labels, kind="stable")
        changed, moved = [], np.zeros(len(records), dtype=bool)
        source = _shuffled(partition, order, rng)
        for number, name in enumerate(columns):
            if number and not self.joint:
                source = _shuffled(partition, order, rng)
            variable = records[name]
            new = variable.with_values(variable.values[source])
            moved |= new.identity() != variable.identity()
            changed.append(new)
        facts = {
            "groups": Count(n=partition.n_groups, unit="groups"),
            "smallest group": Count(n=partition.k),
            "records unchanged": Count(n=int((~moved).sum())),
        }
        return StepResult(records=records.with_variables(*changed), facts=facts)


def _shuffled(partition: Partition, order: Longs, rng: np.random.Generator) -> Longs:
    """Shape (n,); the record whose values each record gets: a uniform permutation of every group."""
    keys = rng.random(len(order))
    source = np.empty(len(order), dtype=np.int64)
    source[order] = np.lexsort((keys, partition.labels))
    return source
