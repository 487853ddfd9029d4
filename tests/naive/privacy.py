"""Slow, obvious twins of the privacy models: which records fail, class by class, in exact fractions.

A table is a list of records, each a mapping from column to cell, None where it is missing. Quasi-identifiers are "q"
and "r", the confidential column is "c". Each twin gives one truth value a record: whether it is among those that fail.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from naive import emd

Record = dict[str, Any]
QUASI = ("q", "r")


def alike(own: Any, other: Any, missing: str) -> bool:
    """Whether a cell may be that of another record, as a missing cell is read."""
    if missing == "wildcard":
        return own is None or other is None or own == other
    if missing == "nothing":
        return other is not None and (own is None or own == other)
    return bool(own == other)


def candidates(record: Record, table: Sequence[Record], missing: str, names: Sequence[str] = QUASI) -> list[Record]:
    """The records that one may stand for, itself included."""
    return [one for one in table if one is record or all(alike(record[n], one[n], missing) for n in names)]


def by_class(table: Sequence[Record], fails: Callable[[list[Record]], bool]) -> list[bool]:
    """Whether the class of each record fails; classes hold equal quasi-identifiers, missing ones being equal."""
    return [fails(candidates(record, table, "equal")) for record in table]


def k_anonymity(table: Sequence[Record], k: int, missing: str, names: Sequence[str] = QUASI) -> list[bool]:
    return [len(candidates(record, table, missing, names)) < k for record in table]


def k_anonymity_of_households(table: Sequence[Record], k: int) -> list[bool]:
    """A household that is missing may be one that is there already."""
    return by_class(table, lambda members: max(len({m["home"] for m in members} - {None}), 1) < k)


def no_attack(table: Sequence[Record], gain: Fraction, cost: Fraction) -> list[bool]:
    return by_class(table, lambda members: gain / len(members) - cost > 0)


def l_diversity(table: Sequence[Record], l: float, kind: str, c: float) -> list[bool]:  # noqa: E741 - as in the model
    """A class fails if any way to fill its missing cells in leaves it less than diverse."""
    values = {record["c"] for record in table} - {None} or {"one and the same"}
    test = {"distinct": _distinct, "entropy": _entropy, "recursive": _recursive}[kind]
    return by_class(
        table, lambda members: not all(test(counts, l, Fraction(c)) for counts in _fillings(members, values))
    )


def _fillings(members: list[Record], values: set[Any]) -> Iterator[list[int]]:
    """How often each value occurs in a class, for each way to fill its missing cells in with values of the table."""
    known = Counter(m["c"] for m in members if m["c"] is not None)
    for filling in combinations_with_replacement(sorted(values), len(members) - known.total()):
        yield sorted((known + Counter(filling)).values(), reverse=True)


def _distinct(counts: list[int], l: float, c: Fraction) -> bool:  # noqa: E741
    return len(counts) >= l


def _entropy(counts: list[int], l: float, c: Fraction) -> bool:  # noqa: E741
    """exp(-sum p ln p) >= l, raised to the n-th power: n^n >= l^n prod c^c."""
    n = sum(counts)
    return n**n >= Fraction(l) ** n * math.prod(count**count for count in counts)


def _recursive(counts: list[int], l: float, c: Fraction) -> bool:  # noqa: E741
    """r_1 < c (r_l + ... + r_m), l a whole number."""
    return counts[0] < c * sum(counts[math.ceil(l) - 1 :])


def p_sensitivity(table: Sequence[Record], p: int, k: int) -> list[bool]:
    few = l_diversity(table, p, "distinct", 1)
    return [one or other for one, other in zip(few, k_anonymity(table, k, "equal"))]


def t_closeness(table: Sequence[Record], t: float, distance: Callable[[list[Any], list[Any]], Fraction]) -> list[bool]:
    everybody = [record["c"] for record in table]
    return by_class(table, lambda members: float(distance([m["c"] for m in members], everybody)) > t)


def ordered(group: list[Any], table: list[Any]) -> Fraction:
    return emd.with_missing(group, table, emd.ordered)


def ranked(group: list[Any], table: list[Any]) -> Fraction:
    return emd.with_missing(group, table, emd.spread)


def equal_distances(group: list[Any], table: list[Any]) -> Fraction:
    return sum((abs(_share(group, v) - _share(table, v)) for v in set(table)), Fraction(0)) / 2


def in_tree(paths: dict[Any, tuple[str, ...]]) -> Callable[[list[Any], list[Any]], Fraction]:
    """The distance along a hierarchy: what crosses each edge, all edges being equally long and a way 1 at most.

    Parameters
    ----------
    paths
        The nodes above each value and below the root, the value itself first; a missing value has no other beside it.
    """
    height = len(next(iter(paths.values())))

    def distance(group: list[Any], table: list[Any]) -> Fraction:
        crossing = Fraction(0)
        for level in range(height):
            own, of = ([v if v is None else paths[v][level] for v in side] for side in (group, table))
            crossing += sum((abs(_share(own, node) - _share(of, node)) for node in set(of)), Fraction(0))
        return crossing / (2 * height)

    return distance


def _share(values: list[Any], value: Any) -> Fraction:
    return Fraction(values.count(value), len(values))


def nt_closeness(
    table: Sequence[Record], n: int, t: float, distance: Callable[[list[Any], list[Any]], Fraction]
) -> list[bool]:
    """A class fails if it is far from every box that holds it; boxes are cut at medians of the quasi-identifiers."""
    if len(table) < n:
        return [True] * len(table)
    scaled = {name: _scaled([record[name] for record in table]) for name in QUASI}
    points = [tuple(scaled[name][record[name]] for name in QUASI) for record in table]
    near = [False] * len(table)
    for box in _boxes(list(range(len(table))), points, n):
        everybody = [table[i]["c"] for i in box]
        for i in box:
            members = [table[j]["c"] for j in box if points[j] == points[i]]
            near[i] |= float(distance(members, everybody)) <= t
    return [not one for one in near]


def _scaled(cells: list[Any]) -> dict[Any, Fraction]:
    """Where each value lies in the range of its column, from 0 to 1; a missing one below all others."""
    known = sorted(set(cells) - {None})
    place = {v: Fraction(i) if isinstance(v, str) else Fraction(v) for i, v in enumerate(known)}
    low, high = min(place.values(), default=Fraction(0)), max(place.values(), default=Fraction(0))
    return {None: Fraction(-1)} | {v: (x - low) / (high - low) if high > low else Fraction(0) for v, x in place.items()}


def _boxes(rows: list[int], points: list[tuple[Fraction, ...]], n: int) -> Iterator[list[int]]:
    """A box, and those that it is cut into, down to the last."""
    yield rows
    spans = [max(points[i][j] for i in rows) - min(points[i][j] for i in rows) for j in range(len(points[0]))]
    for j in sorted(range(len(spans)), key=lambda j: -spans[j]):
        cuts = sorted({points[i][j] for i in rows})[:-1]
        halves = [([i for i in rows if points[i][j] <= at], [i for i in rows if points[i][j] > at]) for at in cuts]
        if large := [half for half in halves if min(map(len, half)) >= n]:
            for part in min(large, key=lambda half: abs(len(half[0]) - len(half[1]))):
                yield from _boxes(part, points, n)
            return


def beta_likeness(table: Sequence[Record], beta: float, enhanced: bool) -> list[bool]:
    everybody = [record["c"] for record in table]

    def fails(members: list[Record]) -> bool:
        values = [m["c"] for m in members]
        shares = [(_share(values, value), _share(everybody, value)) for value in set(values)]
        limits = [min(beta, -math.log(p)) if enhanced else beta for _, p in shares]
        return any(float((q - p) / p) > limit for (q, p), limit in zip(shares, limits))

    return by_class(table, fails)


def delta_disclosure(table: Sequence[Record], delta: float) -> list[bool]:
    everybody = [record["c"] for record in table]

    def fails(members: list[Record]) -> bool:
        values = [m["c"] for m in members]
        ratios = [_share(values, value) / _share(everybody, value) for value in set(everybody)]
        return any(ratio == 0 or abs(math.log(ratio)) >= delta for ratio in ratios)

    return by_class(table, fails)


def average_risk(
    table: Sequence[Record], average: Fraction, highest: Fraction, above: Fraction, missing: str
) -> list[bool]:
    """Those of the highest risks, without which the average is kept; those above the threshold if they are too many."""
    risks = [Fraction(1, len(candidates(record, table, missing))) for record in table]
    alone = [risk > highest for risk in risks]
    too_many = sum(alone) > above * len(table)
    kept = max(top for top in (Fraction(0), *risks) if _mean([r for r in risks if r <= top]) <= average)
    return [risk > kept or (too_many and lone) for risk, lone in zip(risks, alone)]


def _mean(risks: list[Fraction]) -> Fraction:
    return sum(risks, Fraction(0)) / len(risks) if risks else Fraction(0)


def k_map_by_weights(table: Sequence[Record], k: int, missing: str) -> list[bool]:
    return [sum(one["weight"] for one in candidates(record, table, missing)) < k for record in table]


def may_be(record: Record, person: Record, missing: str) -> bool:
    """Whether a released record may be of a person; a missing cell is of all, of those who lack it, or of nobody."""

    def of(own: Any, theirs: Any) -> bool:
        if own is None:
            return missing == "wildcard" or (missing == "equal" and theirs is None)
        return bool(own == theirs)

    return all(of(record[name], person[name]) for name in QUASI)


def k_map(table: Sequence[Record], population: Sequence[Record], k: int, missing: str) -> list[bool]:
    return [sum(may_be(record, person, missing) for person in population) < k for record in table]


def delta_presence(
    table: Sequence[Record], population: Sequence[Record], least: float, largest: float, missing: str
) -> bool:
    """Whether everybody is in the table with a probability in the range; False where that cannot be."""
    people = [[person for person in population if may_be(record, person, missing)] for record in table]
    if any(len(people[i]) < len(candidates(record, table, "equal")) for i, record in enumerate(table)):
        return False
    presence = [
        sum((Fraction(1, len(of)) for of in people if any(one is person for one in of)), Fraction(0))
        for person in population
    ]
    return all(Fraction(least) <= round(p, 12) <= Fraction(largest) for p in presence)
