"""RequirementRefinement of t-close partitions: as little information lost as k and t allow."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.requirement import RequirementCheck, merge_groups, refine_tcloseness, repair_tcloseness
from shoal.partition._requirement.closeness import TClose
from shoal.partition._requirement.requirement import GroupRequirement, near_lists
from shoal.partition.ancestor_loss import AncestorLoss
from shoal.partition.tcloseness_first import first_groups, strata_of
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Partition, Progress, Records, ints, part_of, seed_of
from shoal.vocabulary.prelude import Count, Facts, Figure, Ge, method

MOVES_PER_RECORD, MOST_MOVES = 10_000, 20_000_000
"""Default budget: on Census 3 to 5 s, with results that differ by under 1 % between seeds."""

START = 0.1
"""Share of the progress that is told of while the start is made."""

MOST_ASSIGNED = 1_000
"""Strata of more records are not reassigned: the assignment's cost grows with the cube."""

MOST_BOTH = 5_000
"""Records up to which Algorithm 3 is a start where a walk over hierarchies is: on Adult its groups, made t-close,
lose .94 and the walk's .45."""


@method(
    "tcloseness-refined",
    title="Refined t-closeness",
    source="shoal; start: Soria-Comas et al. (2015), Algorithm 3",
    example={"k": 3, "t": 0.2},
)
class TClosenessRefined(TClose):
    """Groups of k or more, each t-close, with a within-group sum of squares near the least there is.

    Algorithm 3 (t-closeness-first) makes groups of one record of each stratum of the confidential column,
    which is more than t-closeness asks for. Its groups are the start; of them only k and t are kept, and the
    information loss is annealed under these two: exchanges and relocations of records, splits and
    dissolutions of groups. A distance above t is allowed on the way at a price that rises to a prohibition; two
    first prices, a low and a high one, are tried with a sixth of the budget each, and the better one has the rest.
    Before, each stratum is dealt anew to the groups by optimal assignment, which keeps one record of each
    stratum in each group and is all that can be gained where t leaves no room.

    Where it starts from it, the result is never worse than Algorithm 3. Where all columns have hierarchies, what is
    annealed is what cells lose that become the nearest common ancestors of their groups (see refined), from the t-close
    classes that generalise finds first. Algorithm 3, whose strata need an order, is then a start only where there are
    none, or on tables of up to 5 000 records.

    Parameters
    ----------
    moves
        Proposals to make. By default 10 000 a record, 20 million at most.
    """

    moves: Annotated[int, Ge(0)] | None = None

    def divide(
        self, records: Records, columns: Sequence[str], required: GroupRequirement, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts]:
        rest = part_of(progress, START, 1 - START)
        ancestors = AncestorLoss.of(records, columns)
        walked = [] if ancestors is None else ancestors.walked(self.k, required.check)
        if ancestors is not None and walked and len(records) > MOST_BOTH:
            return ancestors.refined(walked, self.k, required.check, rng, self.moves, rest)
        points = Packed.of(records, columns)
        near = near_lists(points.x, points.coding)
        first, count = first_groups(records, columns, required, self.k, self.t, part_of(progress, 0.0, START))
        if ancestors is not None:
            starts = [satisfying_groups(points, required, first, near, self.k), *walked]
            return ancestors.refined(starts, self.k, required.check, rng, self.moves, rest)
        starts = [first, assigned(points, first, strata_of(required.ranks(), count))]
        feasible = [satisfying_groups(points, required, start, near, self.k) for start in starts]
        losses = [points.sse(Partition.of(labels)) for labels in feasible]
        start = feasible[int(np.argmin(losses))]
        labels, facts = annealed(points, required.check, start, near, self.k, rng, self.moves, rest)
        return labels, {"sse of algorithm 3": Figure(value=losses[0]), **facts}


def annealed(
    points: Packed,
    check: RequirementCheck,
    labels: Ints,
    near: Ints,
    k: int,
    rng: Generator,
    moves: int | None,
    progress: Progress,
) -> tuple[Ints, Facts]:
    """Groups refined with the given budget, or the default one, and facts."""
    if moves is None:
        moves = min(MOVES_PER_RECORD * len(labels), MOST_MOVES)
    best = refine_tcloseness(
        points.x, check, labels, near, k, seed=seed_of(rng), moves=moves, coding=points.coding, progress=progress
    )
    return best.labels, {
        "sse at the start": Figure(value=points.sse(Partition.of(labels))),
        "sse": Figure(value=points.sse(Partition.of(best.labels))),
        "moves": Count(n=best.moves, unit="moves"),
    }


def satisfying_groups(points: Packed, required: GroupRequirement, labels: Ints, near: Ints, k: int) -> Ints:
    """The groups themselves if they satisfy the required, else after exchanges, else after merging."""
    if required.excess(labels).max() > 0:
        labels, _ = repair_tcloseness(points.x, required.check, labels, near, coding=points.coding)
    return merge_groups(points.x, required.check, Partition.of(labels).labels, k, coding=points.coding)[0]


def assigned(points: Packed, labels: Ints, strata: Ints) -> Ints:
    """Deal the records of each stratum anew to the places that the stratum has in the groups.

    Stratum by stratum the squared distances to the groups' other members are minimised by optimal assignment,
    until no stratum gains.
    """
    members = [np.flatnonzero(strata == s) for s in range(int(strata.max()) + 1)]
    if max(map(len, members)) > MOST_ASSIGNED:
        return labels
    labels = labels.copy()
    best, gained = points.sse(Partition.of(labels)), True
    while gained:
        for rows in members:
            labels[rows] = labels[rows][_dealt(points, labels, rows)]
        now = points.sse(Partition.of(labels))
        gained, best = now < best * (1 - 1e-9), now
    return ints(labels)


def _dealt(points: Packed, labels: Ints, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each of `rows` the number of the place, among those of `rows`, that it is given."""
    from scipy.optimize import linear_sum_assignment

    groups, others = labels[rows], labels.copy()
    others[rows] = -1
    count = int(labels.max()) + 1
    size = np.bincount(others[others >= 0], minlength=count).astype(np.float64)
    squares = points.squares_to_centres(rows, others, count)[:, groups]
    # A record joining s others costs s / (s + 1) times its squared distance to their mean.
    return np.asarray(linear_sum_assignment(squares * (size / (size + 1.0))[groups])[1])
