"""mu-Approx: microaggregation with a proven approximation factor."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from shoal.groups import Partition, Progress
from shoal.kernels.mu_approx import mu_approx
from shoal.methods import method
from shoal.partition.partitioner import Partitioner
from shoal.records import Records


@method("mu-approx", title="mu-Approx", source="Domingo-Ferrer, Sebe & Solanas (2008)")
class MuApprox(Partitioner):
    """Groups of k to 2k - 1 records cut from a forest of nearest-neighbour edges.

    Records are joined to near ones until every tree has k or more; trees of more than max(2k - 1, 3k - 5) are
    decomposed (Aggarwal et al. 2005); groups of 2k or more are then split around the record farthest from their
    mean. It follows chains and odd shapes and is bounded in how far from the optimum it can be; on compact data
    MDAV loses less, and `refined` starts well from either. Differs from the paper: decomposition starts from a
    tree's centroid, which keeps the work near linear. Which of several records at equal distance is joined is left
    open, though it repeats.

    Parameters
    ----------
    k
        Smallest group size.
    """

    k: Annotated[int, Ge(1)]

    def assign(self, records: Records, rng: np.random.Generator, progress: Progress) -> Partition:
        labels, edges = mu_approx(records.matrix(), self.k, progress=progress)
        return Partition(labels=Partition.of(labels).labels, facts={"trees": int((edges < 0).sum())})
