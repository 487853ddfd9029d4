"""Fuzzy microaggregation by entropy fuzzy c-means, plain and constrained (Miyamoto & Mukaidono 1997; Torra 2017)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shoal.groups import Partition, Progress
from shoal.methods import method
from shoal.partition.fuzzy import Search, drawn_partition, fit, number_of_centres, system_of
from shoal.partition.partitioner import Partitioner
from shoal.records import Records


@method("entropy-fuzzy-c-means", title="Entropy fuzzy c-means", source="Miyamoto & Mukaidono (1997); Torra (2017)")
class EntropyFuzzyCMeans(Partitioner):
    """Records draw one of c centres at random, with probabilities exp(-lambda |x - v|^2), normalised.

    The centres minimise sum_k sum_i (u_ki |x_k - v_i|^2 + u_ki log(u_ki) / lambda) over memberships with
    sum_i u_ki = 1, with `constraints` among the centres that satisfy them. Otherwise as fuzzy-c-means.

    Parameters
    ----------
    k
        Smallest size of a group. Unless `c` is given the number of centres is n / k, or with a balanced draw half
        as many, so that a group can hold more than k where records are dense.
    c
        Number of centres.
    lambda1, lambda2
        Crispness, over 0, of the clustering and of the draw: a record prefers a centre to another one
        by a factor e for every 1/lambda that its squared distance is smaller, in standardised columns. Towards 0
        every membership goes to 1/c and every centre to the mean.
    balanced
        Draw so that every group has k records at least; needs k. Without it sizes are k only on average,
        and only for a small lambda2.
    constraints
        Linear rules over the columns that are grouped by, such as "net + tax == gross" or "tax >= 0".
    starts
        Number of starts; each gets a short run, the best goes on.
    tolerance
        The search ends when no coordinate of a centre moves by more than this, in standardised units.
    most_steps
        The search ends after so many steps at the latest.
    """

    by_household = False

    k: Annotated[int, Ge(1)] | None = None
    c: Annotated[int, Ge(1)] | None = None
    lambda1: Annotated[float, Gt(0)] = 10.0
    lambda2: Annotated[float, Gt(0)] = 10.0
    balanced: bool = True
    constraints: tuple[str, ...] = ()
    starts: Annotated[int, Ge(1)] = 3
    tolerance: Annotated[float, Gt(0)] = 1e-6
    most_steps: Annotated[int, Ge(1)] = 300

    @property
    def smallest(self) -> int:
        return self.k if self.balanced and self.k is not None else 1

    def assign(self, records: Records, rng: np.random.Generator, progress: Progress) -> Partition:
        centres = number_of_centres(len(records), self.c, self.k, balanced=self.balanced)
        rules, system = system_of(self.constraints, records)
        search = Search(starts=self.starts, tolerance=self.tolerance, most_steps=self.most_steps)
        found = fit(records.matrix(), centres, "entropy", self.lambda1, system, search, rng, progress)
        least = self.smallest if self.k is not None and self.balanced else 0
        return drawn_partition(records, found, "entropy", self.lambda2, rules, least, self.k, rng)
