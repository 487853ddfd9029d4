"""Persons whom a few of their own records single out."""

from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np

from shoal.judges.intervals import proportion_interval
from shoal.judges.prelude import Finding, Generator, Longs, TablePair
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.errors import NoFigure, in_digits, plural
from shoal.vocabulary.facts import Interval
from shoal.vocabulary.prelude import Ge, OfOriginal, OfPlan, method

FEW_SETS = 20_000
"""Sets of records up to which all are tried."""


@method(
    "known-records",
    title="Persons singled out by some of their records",
    source="de Montjoye, Hidalgo, Verleysen & Blondel (2013)",
)
class KnownRecords(RiskMeasure):
    """Share of persons whom m of their records, drawn at random, tell apart from all other persons.

    An intruder saw a person m times and knows the quasi-identifiers of these records. The person is singled out if
    nobody else has as many released records of each of their classes. Of a person with fewer records all are known. The
    shares for 1 to `most` records are facts; the figure is that for `most`. That it is so for nobody, in groups of k
    persons, is k^m-anonymity: `k-anonymity` with persons and `knowing: m`.

    All sets of records are tried where these are at most 20 000; otherwise one set of each of some persons drawn at
    random, and the interval is Wilson's.

    Parameters
    ----------
    most
        Largest number of records that are known.
    tries
        Persons that are drawn for each number of records, where not all sets are tried.
    """

    question = "singling out"
    needs = ("quasi-identifiers",)
    over_tables = "persons"

    most: Annotated[int, Ge(1)] = 5
    tries: Annotated[int, Ge(10)] = 2_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        units = pair.units_by("person")
        if units is None:
            raise NoFigure("The table has no column with the role person, so records are not known to be anyone's.")
        tokens = pair.classes.ids[units >= 0]
        if not len(tokens):
            raise NoFigure("The released table has no records of persons, so there is no one to find.")
        holders = _Holders(tokens, np.unique(units[units >= 0], return_inverse=True)[1])
        figures = [self._share(holders, m, rng) for m in range(1, self.most + 1)]
        by_one, (share, interval, tried) = figures[0][0], figures[-1]
        by_number = {f"{m} known": round(one, 6) for m, (one, _, _) in enumerate(figures, 1)}
        return self.finding(
            share,
            f"{in_digits(100 * share, 3)} % of {plural(holders.count, 'person')} in {plural(len(tokens), 'record')} "
            f"are singled out by {plural(self.most, 'record')} of theirs, {in_digits(100 * by_one, 3)} % by one.",
            interval=interval,
            facts={
                "share singled out": OfOriginal(by_number),
                "sets of records tried": OfOriginal(tried),
                "records known": OfPlan(self.most),
            },
        )

    def _share(self, holders: "_Holders", m: int, rng: Generator) -> tuple[float, Interval | None, int]:
        """Share of persons singled out, its interval where it was sampled, and the number of sets tried."""
        sizes = holders.sizes
        sets = sum(comb(int(n), min(m, int(n))) for n in sizes.tolist())
        if sets <= FEW_SETS:
            shares = [np.mean([holders.alone(s, p) for s in holders.sets(p, m)]) for p in range(holders.count)]
            return float(np.mean(shares)), None, sets
        hits = 0
        for person in rng.integers(0, holders.count, self.tries).tolist():
            own = holders.tokens_of(person)
            chosen = own if len(own) <= m else own[rng.permutation(len(own))[:m]]
            hits += holders.alone(tuple(sorted(chosen.tolist())), person)
        return hits / self.tries, proportion_interval(hits, self.tries), self.tries


class _Holders:
    """The persons who have records of a class, and how many."""

    def __init__(self, tokens: Longs, persons: Longs) -> None:
        self.count = int(persons.max()) + 1
        self.sizes = np.bincount(persons, minlength=self.count)
        order = np.argsort(persons, kind="stable")
        self._own, self._ends = tokens[order], np.cumsum(self.sizes)
        pairs, times = np.unique(tokens * self.count + persons, return_counts=True)
        self._persons, self._times = pairs % self.count, times
        self._starts = np.searchsorted(pairs // self.count, np.arange(int(tokens.max()) + 2))

    def tokens_of(self, person: int) -> Longs:
        """The classes of a person's records."""
        end = int(self._ends[person])
        return self._own[end - int(self.sizes[person]) : end]

    def sets(self, person: int, m: int) -> list[tuple[int, ...]]:
        """All sets of m of a person's records, as their classes in ascending order."""
        own = sorted(self.tokens_of(person).tolist())
        return list(combinations(own, min(m, len(own))))

    def alone(self, chosen: tuple[int, ...], person: int) -> bool:
        """True if nobody else has as many records of each of some classes."""
        wanted = {token: chosen.count(token) for token in set(chosen)}
        left: Longs | None = None
        for token in sorted(wanted, key=lambda t: int(self._starts[t + 1] - self._starts[t])):
            some = slice(self._starts[token], self._starts[token + 1])
            having = self._persons[some][self._times[some] >= wanted[token]]
            left = having if left is None else np.intersect1d(left, having, assume_unique=True)
            if len(left) == 1:
                return True
        return left is not None and len(left) == 1
