"""Replicated uniques of all small sets of columns, beside what comes back of records that the release never saw."""

from collections.abc import Iterator
from itertools import combinations
from math import comb, sqrt
from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import like
from shoal.judges.intervals import proportion_interval
from shoal.judges.joint_codes import joint_codes
from shoal.judges.prelude import Finding, Generator, Longs, TablePair, common, comparable
from shoal.kernels.classes import classes
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import (
    Columns,
    Count,
    Ge,
    Interval,
    Le,
    NoFigure,
    OfOriginal,
    OfPlan,
    TablePath,
    in_digits,
    method,
    plural,
)

CONFIDENCE = 0.95

NAMED = 5
"""Sets of columns that the facts name."""


@method("replicated-sets", title="Replicated uniques of small sets of columns", source="Nowok, Raab & Dibben (2016)")
class ReplicatedSets(RiskMeasure):
    """Largest share of records that are alone in some columns and come back alone, beyond what comes back by chance.

    A synthesiser that copies people gives back combinations of a few columns that one person has, and not only of
    quasi-identifiers. For each set of up to `order` columns the figure counts original records that are the only ones
    with their cells and equal the only released record with these, as a share of the original. The same is counted of
    a holdout that the release never saw; what comes back of it comes back by chance. The figure is the largest
    difference over all sets, and its interval (Newcombe 1998) holds for all of them at once.

    Parameters
    ----------
    holdout
        Records of the same population that the release does not use. The larger of the two tables is cut at random to
        the size of the other. Without it the figure is the largest share itself, chance included.
    columns
        The columns of which sets are made; by default the quasi-identifiers, confidential and other columns.
    order
        Most columns of a set.
    sets
        Most sets that are looked at; of more, so many are drawn at random, small ones first. A set takes about 5 ms for
        30 000 records.
    """

    question = "singling out"
    of_made_up = True

    holdout: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    order: Annotated[int, Ge(1), Le(4)] = 4
    sets: Annotated[int, Ge(1)] = 2_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.closure.records
        names = pair.common(self.columns, "quasi-identifier", "confidential", "other")
        names = comparable(original, released, names)
        others = None if self.holdout is None else like(original, self.holdout)
        if others is not None:
            names = comparable(original, others, common(others, released, names))
        size = min(len(original), len(original) if others is None else len(others))
        if not names or not size or not len(released):
            raise NoFigure("There is no common column, or one of the tables has no records.")
        mine = original.take(np.sort(rng.permutation(len(original))[:size]))
        theirs = None if others is None else others.take(np.sort(rng.permutation(len(others))[:size]))
        tables = (released, mine) if theirs is None else (released, mine, theirs)
        coded = {name: joint_codes(*(table[name] for table in tables)) for name in names}
        chosen = list(_sets(names, self.order, self.sets, rng))
        counts = np.array([_come_back([coded[name] for name in names_of]) for names_of in chosen])
        return self._summary(chosen, counts, size, against_holdout=theirs is not None)

    def _summary(self, chosen: list[tuple[str, ...]], counts: Longs, size: int, *, against_holdout: bool) -> Finding:
        """`counts`, shape (sets, tables): records of the original, and of the holdout, that come back alone."""
        excess = counts[:, 0] - (counts[:, 1] if against_holdout else 0)
        order = np.argsort(-excess, kind="stable")
        worst = int(order[0])
        ours, theirs = int(counts[worst, 0]), int(counts[worst, 1]) if against_holdout else 0
        columns = plural(len(chosen[worst]), "column")
        by_chance = (
            f", and {theirs:,} of as many it never saw" if against_holdout else "; how many do by chance is not known"
        )
        return self.finding(
            max(int(excess[worst]), 0) / size,
            f"Of {plural(size, 'original record')} {ours:,} are alone in {columns} and come back alone{by_chance}: "
            f"{in_digits(100 * max(int(excess[worst]), 0) / size, 3)} % more, in the worst of "
            f"{plural(len(chosen), 'set')} of columns.",
            interval=_of_difference(ours, theirs, size, len(chosen)) if against_holdout else None,
            facts={
                "sets of columns": Count(n=len(chosen), unit="sets"),
                "worst sets": OfOriginal({" x ".join(chosen[i]): int(excess[i]) for i in order[:NAMED]}),
                "records compared": OfOriginal(size),
                "come back alone": OfOriginal(ours),
                "come back alone of the holdout": OfOriginal(theirs if against_holdout else None),
                "order": OfPlan(self.order),
            },
        )


def _sets(names: tuple[str, ...], order: int, most: int, rng: Generator) -> Iterator[tuple[str, ...]]:
    """Sets of columns, small ones first; of a size of which there are more than are left, some drawn at random."""
    for size in range(1, min(order, len(names)) + 1):
        if most <= 0:
            return
        if (number := comb(len(names), size)) <= most:
            yield from combinations(names, size)
        else:
            drawn: dict[tuple[int, ...], None] = {}
            while len(drawn) < most:
                drawn[tuple(np.sort(rng.choice(len(names), size, replace=False)).tolist())] = None
            yield from (tuple(names[i] for i in places) for places in drawn)
        most -= number


def _come_back(columns: list[tuple[Longs, ...]]) -> list[int]:
    """Of each further table than the first, the records alone in it that equal a record alone in the first."""
    lengths = [len(codes) for codes in columns[0]]
    joined = [np.concatenate(codes) for codes in columns]
    ids = classes(joined, sum(lengths))[0]
    count = int(ids.max()) + 1
    first, *further = (np.bincount(part, minlength=count) == 1 for part in np.split(ids, np.cumsum(lengths)[:-1]))
    return [int((first & other).sum()) for other in further]


def _of_difference(ours: int, theirs: int, size: int, sets: int) -> Interval:
    """An interval for the difference of two shares of so many records, for all sets at once (Newcombe 1998)."""
    each = 1 - (1 - CONFIDENCE) / sets
    first, second = (proportion_interval(hits, size, each) for hits in (ours, theirs))
    share, other = ours / size, theirs / size
    low = share - other - sqrt((share - first.low) ** 2 + (second.high - other) ** 2)
    high = share - other + sqrt((first.high - share) ** 2 + (other - second.low) ** 2)
    return Interval(low=max(low, 0.0), high=min(max(high, 0.0), 1.0), confidence=CONFIDENCE)
