"""t-Closeness-first microaggregation (Soria-Comas et al. 2015, Algorithm 3)."""

from collections.abc import Sequence

import numpy as np

from shoal.kernels.requirement import repair_tcloseness, tcloseness_first
from shoal.partition._requirement.closeness import TClose
from shoal.partition._requirement.requirement import GroupRequirement, near_lists
from shoal.table.equal_rows import mean_ranks
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Progress, Records
from shoal.vocabulary.prelude import Count, Facts, method


@method(
    "tcloseness-first",
    title="t-closeness-first",
    source="Soria-Comas et al. (2015), Algorithm 3",
    example={"k": 3, "t": 0.2},
)
class TClosenessFirst(TClose):
    """Groups with one record of each of k'' strata of the confidential column.

    The strata hold equally many records in ascending order of the confidential value; each group takes the
    record nearest to its seed from every stratum, so that its values are spread like the table's.

    (3) k' = max(k, ceil(n / (2 (n - 1) t + 1))), (4) k'' = k' + floor((n mod k') / floor(n / k')).

    Notes
    -----
    Differs from the paper: (4) rounds down, as the paper's text does and its Table 3 needs (the algorithm box
    rounds up). The n mod k'' extra records are in stratum (k'' + 1)/2 for odd k'', else split between k''/2 and
    k''/2 + 1 (the paper's indices are off by half). The bound behind (3) is exact only where k'' divides n and
    no two values are equal, so the groups are checked; those above t exchange records with others, sizes
    unchanged, and are merged if that is not enough. Several confidential columns are ranked by the mean of
    their ranks. Categories of a nominal column with a hierarchy are ranked as its leaves lie; without one by their
    marginality (Domingo-Ferrer, Sánchez & Rufian-Torrell 2013), which for equal distances puts the most frequent
    first and ties as they are given.
    """

    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        labels, count = first_groups(records, columns, required, self.k, self.t, progress)
        swaps = 0
        if required.excess(labels).max() > 0:
            points = Packed.of(records, columns)
            near = near_lists(points.x, points.coding)
            labels, swaps = repair_tcloseness(points.x, required.check, labels, near, coding=points.coding)
        return labels, {
            "strata of the confidential value": Count(n=count, unit="strata"),
            "records exchanged": Count(n=2 * swaps),
        }


def first_groups(
    records: Records, columns: Sequence[str], required: GroupRequirement, k: int, t: float, progress: Progress
) -> tuple[Ints, int]:
    """The groups of Algorithm 3, unchecked, and their number of strata."""
    count = strata_needed(len(records), k, t)
    points, strata = Packed.of(records, columns), strata_of(required.ranks(), count)
    return tcloseness_first(points.x, strata, count, progress, coding=points.coding), count


def strata_needed(n: int, k: int, t: float) -> int:
    """Formulas (3) and (4)."""
    k = min(max(k, int(np.ceil(n / (2 * (n - 1) * t + 1)))), n)
    return k + (n % k) // (n // k)


def strata_of(ranks: Ints, count: int) -> Ints:
    """Shape (n,); stratum of each record, 0 to count - 1, by the (mean) rank of its confidential values.

    `ranks`: shape (columns, n). Equal ranks go by row.
    """
    n = ranks.shape[1]
    base, extra = divmod(n, count)
    sizes = np.full(count, base)
    sizes[(count - 1) // 2] += extra - extra // 2 if count % 2 == 0 else extra
    if count % 2 == 0:
        sizes[count // 2] += extra // 2
    rank = ranks[0] if len(ranks) == 1 else np.sum([mean_ranks(row) for row in ranks], axis=0)
    strata = np.empty(n, dtype=np.int32)
    strata[np.argsort(rank, kind="stable")] = np.repeat(np.arange(count), sizes)
    return strata
