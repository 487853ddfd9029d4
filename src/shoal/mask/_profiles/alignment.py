"""The structure that is common to a group of persons: places, each filled by one row of every person.

The row of a person is the first place. Below a place there are as many places of each table as the member with the
fewest rows has; the rows of each other member go to the places where they fit best, and what is left over goes. Where
the order of rows is known, they stay in it.
"""

from dataclasses import dataclass, field

import numpy as np

from shoal.mask._profiles.people import People, RowDistance
from shoal.table.links import below
from shoal.table.prelude import Floats, Longs
from shoal.vocabulary.errors import DataError

MOST_PAIRS = 5_000**2
"""Most pairs of rows of two persons that are compared: the loss of each is held, and is looked at some times."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowPlaces:
    """Places of the rows of grouped persons.

    Parameters
    ----------
    labels
        Shape (n,) by table; the place of each row, counted from 0, and -1 for those that go.
    """

    people: People
    distances: dict[str, RowDistance]
    labels: dict[str, Longs]
    count: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, people: People, groups: Longs) -> "RowPlaces":
        """The places of all rows.

        Parameters
        ----------
        groups
            Shape (u,); the group of each person.
        """
        lower = list(people.links.keys)[1:]
        labels = {name: np.full(n, -1) for name, n in people.links.sizes.items()}
        places = cls(people=people, distances={name: RowDistance.of(people, name) for name in lower}, labels=labels)
        labels[people.root] = groups
        ends = np.cumsum(np.bincount(groups))[:-1]
        for members in np.split(np.argsort(groups, kind="stable"), ends):
            places._fill(people.root, members)
        return places

    def _fill(self, name: str, members: Longs) -> None:
        """Give the rows below those of one place their own places."""
        for lower in below(self.people.links.keys, name):
            for rows in self._aligned(lower, [self.people.below(lower, int(member)) for member in members]).T:
                self.labels[lower][rows] = self.count.get(lower, 0)
                self.count[lower] = self.count.get(lower, 0) + 1
                self._fill(lower, rows)

    def _aligned(self, name: str, rows: list[Longs]) -> Longs:
        """Shape (members, places); the row of each member at each place."""
        pivot = min(rows, key=len)
        if not len(pivot) or all(len(own) == 1 for own in rows):
            return np.array([own[: len(pivot)] for own in rows]).reshape(len(rows), len(pivot))
        ordered = name in self.people.order
        chosen = []
        for own in rows:
            if own is pivot:
                chosen.append(own)
                continue
            if len(pivot) * len(own) > MOST_PAIRS:
                raise DataError(
                    f"profiles: two persons of a group have {len(pivot):,} and {len(own):,} rows in '{name}' to make "
                    f"alike, and at most {MOST_PAIRS:,} pairs of rows are compared. Keep fewer of each person's rows "
                    f"in a step before (truncate-records)."
                )
            lost = self.distances[name].between(pivot, own)
            chosen.append(own[_in_order(lost) if ordered else _assigned(lost)])
        return np.array(chosen)


def _assigned(lost: Floats) -> Longs:
    """Shape (s,); the columns that lose least in all, one for each row; there are as many columns or more."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(lost[0].argmin()[None] if len(lost) == 1 else linear_sum_assignment(lost)[1])


def _in_order(lost: Floats) -> Longs:
    """Shape (s,); as `_assigned`, ascending."""
    s, n = lost.shape
    best = np.zeros(n + 1)  # least loss of the rows so far within the first columns
    taken = np.zeros((s, n + 1), dtype=bool)
    for row in range(s):
        with_last = np.concatenate([[np.inf], best[:-1] + lost[row]])
        best = np.minimum.accumulate(with_last)
        taken[row] = with_last == best
    columns, last = np.empty(s, dtype=np.int64), n
    for row in reversed(range(s)):
        while not taken[row, last]:
            last -= 1
        last -= 1
        columns[row] = last
    return columns
