"""mu-Approx: microaggregation with a proven bound."""

from collections.abc import Sequence
from typing import Annotated

from shoal.kernels.partition.mu_approx import mu_approx
from shoal.partition.base import Partitioner
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Partition, Progress, Records
from shoal.vocabulary.prelude import Count, Ge, method


@method("mu-approx", title="mu-Approx", source="Domingo-Ferrer, Sebe & Solanas (2008)", example={"k": 3})
class MuApprox(Partitioner):
    """Groups of k to 2k - 1 records cut from a forest of nearest neighbours.

    (a) Forest: while a tree holds fewer than k records, its root, the one record without an outgoing edge, is
    joined to the nearest record outside of the tree (Aggarwal et al. 2005). (b) Trees of more than
    max(2k - 1, 3k - 5) records are cut where both sides keep k; a record at which several subtrees meet goes
    with one side, and a Steiner vertex that counts for nothing holds the other side together. (c) What is still
    larger than 2k - 1 is divided in two by MDAV. Ties go to the lowest row.

    What is guaranteed: every edge of the forest is at most as long as the distance from the record it leaves
    to the farthest member of that record's group, whatever the partition into groups of k or more. No edge is
    used by two of the parts that (b) leaves, so the diameters of these parts add up to no more than the length
    of the forest, and hence to no more than those distances in the best partition there is. From this the
    source derives bounds relative to the optimum for the within-group distances and for the sum of squared
    errors. They speak of the worst case: on most tables MDAV loses less, and `refined` gains on either.

    Parameters
    ----------
    k
        Smallest group size.

    Notes
    -----
    Differs from the paper in what it leaves open. Row after row, the tree of a row grows until it holds k. A tree
    is rooted where no subtree holds more than half of it, and all its cuts there are made at once. A remainder
    of up to 3k - 3 records that only a Steiner vertex holds together may have no cut; step (c) divides it.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)]

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        points = Packed.of(records, columns)
        labels, edge = mu_approx(points.x, self.k, coding=points.coding, progress=progress)
        return Partition.of(labels, trees=Count(n=int((edge < 0).sum()), unit="trees"))
