"""Fuzzy microaggregation by fuzzy c-means, plain and constrained (Bezdek 1981; Torra 2017)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shoal.groups import Partition, Progress
from shoal.methods import method
from shoal.partition.fuzzy import Search, drawn_partition, fit, number_of_centres, system_of
from shoal.partition.partitioner import Partitioner
from shoal.records import Records


@method("fuzzy-c-means", title="Fuzzy c-means", source="Bezdek (1981); Torra (2017)")
class FuzzyCMeans(Partitioner):
    """Records draw one of c centres at random, with probabilities that fall with their distance.

    The centres minimise sum_k sum_i u_ki^m |x_k - v_i|^2 over memberships with sum_i u_ki = 1. With
    `constraints` they do so among the centres that satisfy them: each centre is the weighted mean, moved to the
    nearest point that does, at every step. Then the memberships are computed anew with m2, and each record draws
    a centre with them (Algorithm 1 of Torra 2017). Release the centres with `replace: fuzzy-centre`.

    Parameters
    ----------
    k
        Smallest size of a group. Unless `c` is given the number of centres is n / k, or with a balanced draw half
        as many, so that a group can hold more than k where records are dense.
    c
        Number of centres.
    m1, m2
        Fuzziness, over 1, of the clustering and of the draw. Near 1 both are crisp; as m grows every
        membership goes to 1/c and, with three columns or more, every centre to the mean.
    balanced
        Draw so that every group has k records at least; needs k. Without it sizes are k only on average,
        and only for a large m2.
    constraints
        Linear rules over the columns that are grouped by, such as "net + tax == gross" or "tax >= 0".
    starts
        Number of starts; each gets a short run, the best goes on.
    tolerance
        The search ends when no coordinate of a centre moves by more than this, in standardised units.
    most_steps
        The search ends after so many steps at the latest.

    Notes
    -----
    The default m1 is about that of Torra's worked example, as far as its printed centres tell (1.32 fits best).

    Differs from the paper: that all centres at the mean are an optimum for large m (Proposition 2) holds where
    lambda < 1/2 - 1/(2m), lambda the largest eigenvalue of the mean of z z'/|z|^2, z the difference of a record
    from the mean; never with one or two columns, and the earlier the more columns vary alike.

    Differs from the paper: the balanced draw, and its number of centres. With n / k centres it would have to give
    every centre exactly k records, near or far; with half as many the loss on Census (k = 3) falls by 40 %.
    """

    by_household = False

    k: Annotated[int, Ge(1)] | None = None
    c: Annotated[int, Ge(1)] | None = None
    m1: Annotated[float, Gt(1)] = 1.3
    m2: Annotated[float, Gt(1)] = 1.3
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
        found = fit(records.matrix(), centres, "power", self.m1, system, search, rng, progress)
        least = self.smallest if self.k is not None and self.balanced else 0
        return drawn_partition(records, found, "power", self.m2, rules, least, self.k, rng)
