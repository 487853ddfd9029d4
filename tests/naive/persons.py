"""Slow, obvious twins of the promises to persons: what an intruder finds who knows records of a person.

A table is a list of records with the person "p", the class "q", the confidential value "c". Each twin names what is
known of a person, the candidates who fit it, and what is learnt of them, in exact fractions.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

Record = dict[str, Any]
Knowing = str | int


def persons_of(table: Sequence[Record]) -> dict[Any, list[Record]]:
    persons = defaultdict(list)
    for record in table:
        persons[record["p"]].append(record)
    return dict(persons)


def knowledge(records: list[Record], knowing: Knowing) -> Iterator[Counter[Any]]:
    """Everything that may be known of a person: cells of one record, of all, or of any m (all, if there are fewer)."""
    cells = [record["q"] for record in records]
    size = {"one record": 1, "all records": len(cells)}.get(str(knowing), knowing)
    assert isinstance(size, int)
    for chosen in combinations(cells, min(size, len(cells))):
        yield Counter(chosen)


def candidates(known: Counter[Any], persons: dict[Any, list[Record]], knowing: Knowing) -> list[Any]:
    """The persons of whom this may have been known."""
    solutions = []
    for person, records in persons.items():
        cells = Counter(record["q"] for record in records)
        if cells == known if knowing == "all records" else known <= cells:
            solutions.append(person)
    return solutions


def fewest(table: Sequence[Record], knowing: Knowing) -> dict[Any, int]:
    """For each person, the fewest candidates that an intruder is left with."""
    persons = persons_of(table)
    return {
        person: min(len(candidates(known, persons, knowing)) for known in knowledge(records, knowing))
        for person, records in persons.items()
    }


def groups(table: Sequence[Record], knowing: Knowing) -> list[dict[Any, list[Any]]]:
    """For each thing that may be known of anybody: its candidates, each with the confidential values looked at.

    Who knows one record looks at the candidates' records like it, who knows more at all of theirs. Knowing m includes
    knowing fewer.
    """
    persons = persons_of(table)
    sizes = range(1, knowing + 1) if isinstance(knowing, int) else [knowing]
    seen, solutions = set(), []
    for size in sizes:
        for known in (one for records in persons.values() for one in knowledge(records, size)):
            if (key := tuple(sorted(known.items()))) in seen:
                continue
            seen.add(key)
            group = {}
            for person in candidates(known, persons, knowing if knowing == "all records" else size):
                only = known if knowing in ("one record", 1) else None
                group[person] = [r["c"] for r in persons[person] if only is None or r["q"] in only]
            solutions.append(group)
    return solutions


def masses(group: dict[Any, list[Any]]) -> dict[Any, Fraction]:
    """Share of each value, each person having a mass of one."""
    shares: dict[Any, Fraction] = defaultdict(Fraction)
    for values in group.values():
        for value in values:
            shares[value] += Fraction(1, len(values) * len(group))
    return shares


def represented(group: dict[Any, list[Any]]) -> int:
    """The most different values that different persons can stand for, one each: all ways are tried."""
    values = sorted({value for values in group.values() for value in values})
    for count in range(min(len(values), len(group)), 0, -1):
        for some in combinations(values, count):
            for order in permutations(group, count):
                if all(value in group[person] for value, person in zip(some, order)):
                    return count
    return 0


def distance(group: dict[Any, list[Any]], table: Sequence[Record]) -> Fraction:
    """Distance of a group from the table over ordered values, 1/(m - 1) sum |F - Q|."""
    whole = masses({person: [r["c"] for r in records] for person, records in persons_of(table).items()})
    own, apart, total = masses(group), Fraction(0), Fraction(0)
    for value in sorted(whole):
        apart += own.get(value, Fraction(0)) - whole[value]
        total += abs(apart)
    return total / max(len(whole) - 1, 1)


def average_risk(table: Sequence[Record], knowing: Knowing) -> Fraction:
    """Mean over the persons of the mean, over what may be known, of 1 over the candidates."""
    persons, risks = persons_of(table), []
    for records in persons.values():
        if knowing in ("one record", 1):
            known = [Counter([record["q"]]) for record in records]
        else:
            sizes = range(1, knowing + 1) if isinstance(knowing, int) else [knowing]
            every = {
                tuple(sorted(k.items())): k
                for size in sizes
                if not isinstance(size, int) or size <= len(records)
                for k in knowledge(records, size)
            }
            known = list(every.values())
        risks.append(sum(Fraction(1, len(candidates(k, persons, knowing))) for k in known) / Fraction(len(known)))
    return sum(risks, Fraction(0)) / len(risks)


def entropy(group: dict[Any, list[Any]]) -> float:
    return math.exp(-sum(p * math.log(p) for p in masses(group).values()))


def apart(group: dict[Any, list[Any]], table: Sequence[Record]) -> Fraction:
    """Distance of a group from the table over values between which all distances are equal, 1/2 sum |p - q|."""
    whole = masses({person: [r["c"] for r in records] for person, records in persons_of(table).items()})
    own = masses(group)
    return sum((abs(own.get(value, Fraction(0)) - share) for value, share in whole.items()), Fraction(0)) / 2
