"""Optimal microaggregation of one column."""

from collections.abc import Sequence
from typing import Annotated

from shoal.kernels.partition import univariate
from shoal.partition.base import Partitioner
from shoal.table.prelude import Generator, Partition, Progress, Records
from shoal.vocabulary.prelude import DataError, Ge, method, quoted


@method(
    "univariate",
    title="Optimal univariate microaggregation",
    source="Hansen & Mukherjee (2003)",
    example={"k": 3},
    example_columns=("size",),
)
class Univariate(Partitioner):
    """Groups of k to 2k - 1 consecutive values of one column with the least sum of squared errors there is.

    The groups of an optimal partition are runs of the sorted values, so a shortest path over cuts finds them
    in time k n. For several columns there is no such order: a step for each of them is what the literature calls
    individual ranking, but it does not make records k-anonymous over the columns together. Missing cells make a group.

    Sampling weights are not used: with them the best groups need not be runs (values 0, 1, 1.1 and 5 of weights
    1, 0, 1 and 1, k = 2: the least weighted error has the groups {0, 1.1} and {1, 5}).

    Parameters
    ----------
    k
        Smallest group size.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)]

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        x = records.matrix(columns)
        if x.shape[1] != 1:
            names = f" ({quoted(columns)})" if columns else ""
            raise DataError(
                f"univariate works on one column that is continuous or ordinal; got {len(columns)}{names}. "
                f"Name one column in the step, or use mdav or refined for several."
            )
        return Partition(labels=univariate(x[:, 0], self.k, progress=progress))
