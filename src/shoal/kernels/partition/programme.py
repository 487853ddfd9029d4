"""The linear programme of a partition into some groups, to which groups and cuts are added.

Minimise sum c_S x_S, every record covered once, x >= 0. Three records can be covered by at most one group that holds
two of them or more, which the programme does not know: it may take half of each of three groups. A cut of three
records says so: sum x_S <= 1 over the groups with two of them or more (subset-row cuts with three rows; Jepsen,
Petersen, Spoorendonk & Pisinger 2008). Groups that such a cut counts pay its toll beside their records' prices.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.kernels.solver import GrowingProgramme

Group = tuple[int, ...]

VIOLATED = 0.02
"""Least violation of a cut that is added."""

CUTS_PER_RECORD = 5
"""Most cuts of one round that a record is part of."""


class GroupProgramme:
    """The programme over the groups and cuts added so far, solved from the last solution."""

    def __init__(self, n: int, scale: float) -> None:
        self._n, self._scale = n, scale
        self._programme = GrowingProgramme(np.ones(n))
        self.costs: dict[Group, float] = {}
        self.cuts: list[Group] = []

    def add(self, costs: dict[Group, float]) -> None:
        """Add groups with their costs; groups that are there already are left out."""
        new = {group: cost for group, cost in costs.items() if group not in self.costs}
        self.costs |= new
        if new:
            self._programme.add_columns(np.array([*new.values()]) / self._scale, covering([*new], self._n, self.cuts))

    def solve(self) -> tuple[float, Floats, Floats, Floats]:
        """Least cost, prices of the records, tolls of the cuts, and the share of each group."""
        value, duals, shares = self._programme.solve()
        return value * self._scale, duals[: self._n] * self._scale, -duals[self._n :] * self._scale, shares

    def cut(self, shares: Floats) -> bool:
        """Add the cuts that these shares violate; returns True if there are any."""
        groups = [*self.costs]
        parted = {group: share for group, share in zip(groups, shares) if 1e-6 < share < 1 - 1e-6}
        present = set(self.cuts)
        new = [cut for cut in violated_cuts(parted) if cut not in present]
        self.cuts += new
        if new:
            self._programme.add_rows(counted(groups, new, self._n), np.ones(len(new)))
        return bool(new)


def violated_cuts(shares: dict[Group, float]) -> list[Group]:
    """Cuts whose groups, those with two or more of the three records, have shares that sum to over 1; worst first."""
    pairs: defaultdict[Group, float] = defaultdict(float)
    triples: defaultdict[Group, float] = defaultdict(float)
    beside: dict[int, set[int]] = defaultdict(set)
    for group, share in shares.items():
        for pair in combinations(group, 2):
            pairs[pair] += share
            beside[pair[0]].add(pair[1])
        for triple in combinations(group, 3):
            triples[triple] += share
    violated = []
    for (i, j), share in pairs.items():
        for m in beside[i] & beside[j]:
            total = share + pairs[i, m] + pairs[j, m] - 2 * triples.get((i, j, m), 0.0)
            if total > 1 + VIOLATED:
                violated.append((-round(total, 9), (i, j, m)))
    return _spread(cut for _, cut in sorted(violated))


def _spread(cuts: Iterable[Group]) -> list[Group]:
    """The first of the cuts, with each record in a few of them."""
    taken: Counter[int] = Counter()
    chosen = []
    for cut in cuts:
        if all(taken[i] < CUTS_PER_RECORD for i in cut):
            taken.update(cut)
            chosen.append(cut)
    return chosen


def incidence(groups: Sequence[Group], n: int) -> Any:
    """Shape (number of groups, n); 1 where a record is in a group."""
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *map(len, groups)])
    members = np.fromiter((i for group in groups for i in group), dtype=np.int64, count=ends[-1])
    return csr_array((np.ones(len(members)), members, ends), shape=(len(groups), n))


def counted(groups: Sequence[Group], cuts: Sequence[Group], n: int) -> Any:
    """Shape (number of cuts, number of groups); 1 where a group holds two records of a cut or all three."""
    members = (incidence(cuts, n) @ incidence(groups, n).T).tocsr()
    members.data = (members.data >= 2).astype(float)
    members.eliminate_zeros()
    return members


def covering(groups: Sequence[Group], n: int, cuts: Sequence[Group]) -> Any:
    """Shape (n + number of cuts, number of groups); the coefficients of the rows of records and of cuts."""
    from scipy.sparse import vstack

    return vstack([incidence(groups, n).T, counted(groups, cuts, n)]).tocsc()
