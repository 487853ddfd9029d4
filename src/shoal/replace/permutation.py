"""Permutation inside the group: probabilistic k-anonymity by swapping."""

from collections.abc import Sequence

from shoal.replace.base import Replacement
from shoal.table.partition import shuffled
from shoal.table.prelude import Dealing, Generator, Partition, Progress, Records, StepResult
from shoal.table.records import unchanged
from shoal.vocabulary.prelude import Count, method


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

    joint: bool = True

    @property
    def dealing(self) -> Dealing:
        return "records" if self.joint else "columns"

    @property
    def anew(self) -> bool:
        return not self.joint  # which leaves the cells of an original record beside one another

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        source, changed = shuffled(partition, rng), []
        for number, name in enumerate(columns):
            if number and not self.joint:
                source = shuffled(partition, rng)
            changed.append(records[name].with_values(records[name].values[source]))
        facts = {
            "groups": Count(n=partition.n_groups, unit="groups"),
            "smallest group": Count(n=partition.k),
            "records unchanged": Count(n=int(unchanged(records, changed).sum())),
        }
        return StepResult(records=records.with_variables(*changed), facts=facts)
