"""Special uniques by household: households that a few things about their members pick out."""

from itertools import combinations
from math import comb, factorial
from typing import Annotated, Literal

import numpy as np

from shoal.judges.prelude import Bools, Finding, Generator, Longs, Records, TablePair
from shoal.kernels.arrays import Ints
from shoal.kernels.classes import classes
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Ge, Le, NoFigure, OfPlan, in_digits, method, of_release, plural

MOST_SETS = 1_000
"""Sets of columns that are looked at: all of up to three of 18 columns, all of up to four of 11."""


@method(
    "household-uniques",
    title="Households singled out by few columns",
    source="Elliot, Manning & Ford (2002); Hundepool et al. (2012)",
)
class HouseholdUniques(RiskMeasure):
    """Share of records in a household that is unique by at most `max_size` columns of its members, taken together.

    A neighbour knows of a household how many live there and what they are: two adults of 40, children of 3 and 5. On a
    set of columns two households are alike if the same combinations of cells occur in both, equally often. A household
    that is alone on some set is found by whoever knows these columns of its members, though none of them may be
    unique. A set is minimal for a household if it is alone on it and on no part of it; its size alone may be enough
    (a set of no column). Scores are as in SUDA2: sum over minimal sets of (columns - size)!.

    Parameters
    ----------
    max_size
        Most columns of a set.
    columns
        What is known of the members; by default the quasi-identifiers.
    missing
        A missing cell is a value like others (`equal`), or a household that lacks a cell of the set is not compared
        on it (`nothing`). By default what the plan's requirement says; where that lets a missing cell match every
        value, `equal`, and the figure is an upper bound, for what matches more is alone less often.
    """

    question = "singling out"
    of_release_alone = True
    needs = ("records", "quasi-identifiers", "people")

    max_size: Annotated[int, Ge(1), Le(4)] = 3
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    missing: Literal["equal", "nothing"] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released = pair.closure.records
        missing = self.missing or ("nothing" if pair.missing == "nothing" else "equal")
        households = released.households
        if households is None:
            raise NoFigure("The released table has no column with the role household.")
        names = released.quasi_identifiers if self.columns is None else released.select(self.columns).names()
        most = min(self.max_size, len(names))
        if (sets := sum(comb(len(names), size) for size in range(most + 1))) > MOST_SETS:
            raise NoFigure(
                f"There are {sets:,} sets of up to {most} of {len(names)} columns; at most {MOST_SETS:,} are looked "
                f"at. Lower max_size, or name fewer columns."
            )
        uniques = _Uniques(released, names, households, missing == "nothing")
        uniques.search(most)
        alone = uniques.smallest >= 0
        share = float(alone[households].mean())
        return self.finding(
            share,
            f"{in_digits(100 * share, 3)} % of the records are in one of {plural(int(alone.sum()), 'household')} that "
            f"at most {plural(most, 'column')} of all members single out.",
            facts={
                **of_release(
                    {
                        "households": uniques.count,
                        "households alone by their size": int((uniques.smallest == 0).sum()),
                        "minimal sets by size": {str(s): int(c) for s, c in enumerate(uniques.by_size)},
                        "minimal sets by columns": uniques.by_set(10),
                    }
                ),
                "missing": OfPlan(missing),
            },
            record_risk=alone[households].astype(np.float64),
            by_record={"score": uniques.score[households]},
        )


class _Uniques:
    """Minimal unique sets of households."""

    def __init__(self, released: Records, names: tuple[str, ...], households: Longs, complete_only: bool) -> None:
        self.names, self.households = names, households
        self.count = int(households.max()) + 1
        self.codes = {name: released.classes([name]).ids for name in names}
        self.lacking = {
            name: np.bincount(households, weights=released[name].missing, minlength=self.count) > 0 for name in names
        }
        self.complete_only = complete_only
        self.smallest: Ints = np.full(self.count, -1, dtype=np.int32)
        self.score = np.zeros(self.count)
        self.by_size: list[int] = []
        self._alone: dict[tuple[str, ...], Bools] = {}
        self._minimal: dict[tuple[str, ...], int] = {}
        self._weight = [float(factorial(len(names) - size)) for size in range(len(names) + 1)]

    def search(self, most: int) -> None:
        """All sets of no column, of one, of two, ..."""
        for size in range(most + 1):
            total = 0
            for chosen in combinations(self.names, size):
                minimal = self._alone_on(chosen) & ~self._alone_on_part(chosen)
                self._alone[chosen] = self._alone_on_part(chosen) | minimal
                number = int(minimal.sum())
                total += number
                self._minimal[chosen] = number
                self.score[minimal] += self._weight[size]
                self.smallest[minimal & (self.smallest < 0)] = size
            self.by_size.append(total)

    def by_set(self, most: int) -> dict[str, int]:
        """The sets that are minimal for the most households."""
        ordered = sorted(self._minimal.items(), key=lambda entry: (-entry[1], len(entry[0]), entry[0]))
        return {" + ".join(names) or "size": number for names, number in ordered[:most] if number}

    def _alone_on_part(self, chosen: tuple[str, ...]) -> Bools:
        """Shape (households,); whether a household is alone on a part of a set, or on a part of that."""
        out = np.zeros(self.count, dtype=bool)
        for name in chosen:
            out |= self._alone[tuple(other for other in chosen if other != name)]
        return out

    def _alone_on(self, chosen: tuple[str, ...]) -> Bools:
        """Shape (households,); whether no other household has the same members, as far as a set of columns tells."""
        members, _ = classes([self.codes[name] for name in chosen], len(self.households))
        left = np.ones(self.count, dtype=bool)
        if self.complete_only:
            for name in chosen:
                left &= ~self.lacking[name]
        kinds = _kinds(self.households, members, self.count)
        times = np.bincount(kinds[left], minlength=self.count)
        return np.asarray(left & (times[kinds] == 1))


def _kinds(households: Longs, members: Longs, count: int) -> Longs:
    """Shape (count,); equal numbers where households have the same kinds of members, equally often."""
    order = np.lexsort((members, households))
    sizes = np.bincount(households, minlength=count)
    first = np.cumsum(sizes) - sizes
    kinds = np.asarray(classes([sizes], count)[0])
    ordered = members[order]
    for place in range(int(sizes.max(initial=0))):  # member by member, each time numbering what is alike so far
        here = np.where(sizes > place, ordered[np.minimum(first + place, len(ordered) - 1)], -1)
        kinds = np.asarray(classes([kinds, here], count)[0])
    return kinds
