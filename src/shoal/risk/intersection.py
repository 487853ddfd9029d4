"""Several releases of the same people (Ganta, Kasiviswanathan & Smith 2008)."""

from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import like
from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Bools, Finding, Generator, Longs, Records, TablePair, common
from shoal.judges.table_pair import counterparts
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import NoFigure, TablePath, method, of_original, quoted

BLOCK = 10_000_000
"""Candidate values in memory at a time (of several people, at least one)."""


@method(
    "intersection",
    title="Confidential values given away by several releases",
    source="Ganta, Kasiviswanathan & Smith (2008)",
)
class Intersection(RiskMeasure):
    """Share of people of whom only one confidential value is left when several releases are put side by side.

    In each release a person lies in a class of records that share their quasi-identifiers there; the person's
    confidential value is one of that class's. The sets of all releases are intersected. Where one value is left it is
    disclosed, though each release may be k-anonymous and l-diverse. The figure is the highest over the
    confidential columns; the details give the same for this release alone.

    The attacker is taken to know each person's class in every release. Continuous values are compared as written, so
    columns that the releases masked differently share no values: people for whom no value is left are counted too.

    Parameters
    ----------
    others
        The other released tables, each a path, a data frame, Microdata, Records or an array, of the same people in the
        same order (or with their row numbers). Columns have the roles they have here; others are left out.
    """

    question = "linkability"

    others: Annotated[tuple[Any, ...], TablePath()] = ()

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released = pair.closure.records
        if not self.others:
            raise NoFigure("There is no other release of these people to intersect with.")
        tables = [released, *(like(released, other) for other in self.others)]
        names = released.confidential
        for table in tables[1:]:
            names = tuple(n for n in common(released, table, None, "confidential") if n in names)
        if not names:
            raise NoFigure("The releases have no confidential column in common.")
        aligned = _same_people(tables)
        if aligned is None:
            raise NoFigure("The releases do not hold the same people, or their rows do not say who is who.")
        if not len(released):
            raise NoFigure("The released table has no records.")
        left = {name: _values_left(aligned, name) for name in names}
        alone = {name: _values_left(aligned[:1], name) for name in names}
        worst = max(names, key=lambda name: float((left[name] == 1).mean()))
        hits = int((left[worst] == 1).sum())
        n = len(released)
        return self.finding(
            hits / n,
            f"Side by side the {len(tables)} releases leave one single value of '{worst}' for {100 * hits / n:.1f} % "
            f"of the people; this release alone does so for {100 * float((alone[worst] == 1).mean()):.1f} %.",
            interval=cautious_interval(hits, n),
            facts=of_original(
                {
                    "releases": len(tables),
                    "disclosed": {name: float((left[name] == 1).mean()) for name in names},
                    "disclosed by this release alone": {name: float((alone[name] == 1).mean()) for name in names},
                    "no value left": {name: float((left[name] == 0).mean()) for name in names},
                    "columns": quoted(names),
                }
            ),
            record_risk=1 / np.maximum(left[worst], 1),
            by_record={"values left": left[worst]},
        )


def _same_people(tables: list[Records]) -> list[Records] | None:
    """All tables in the order of the first; None if one lacks a person."""
    first = tables[0]
    out = [first]
    for table in tables[1:]:
        place = counterparts(table, first)
        if place is None or len(table) != len(first):
            return None
        out.append(table.take(place))
    return out


def _values_left(tables: list[Records], name: str) -> Longs:
    """Shape (n,); number of values of a confidential column that a person's classes in all tables share."""
    n = len(tables[0])
    values = _shared_codes([table[name] for table in tables])
    width = int(max(v.max() for v in values)) + 1
    classes = [table.classes(table.quasi_identifiers).ids for table in tables]
    pairs = [np.unique(c * width + v) for c, v in zip(classes, values)]  # (class, value) pairs of each table
    # People with the same class everywhere share their answer.
    combos, of_person = np.unique(np.column_stack(classes), axis=0, return_inverse=True)
    starts = np.searchsorted(pairs[0] // width, combos[:, 0])
    lengths = np.searchsorted(pairs[0] // width, combos[:, 0], "right") - starts
    count = np.empty(len(combos), dtype=np.int64)
    parts = np.searchsorted(np.cumsum(lengths), np.arange(BLOCK, int(lengths.sum()) + BLOCK, BLOCK))
    for begin, end in pairwise(np.unique([0, *(parts + 1).clip(max=len(combos)), len(combos)])):
        chosen = slice(begin, end)
        count[chosen] = _in_all(pairs, combos[chosen], starts[chosen], lengths[chosen], width)
    return np.asarray(count[of_person.reshape(n)])


def _in_all(pairs: list[Longs], combos: Longs, starts: Longs, lengths: Longs, width: int) -> Longs:
    """For combinations of classes, the number of values of the first class that all others hold too."""
    owner = np.repeat(np.arange(len(combos)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    candidate = pairs[0][np.repeat(starts, lengths) + within] % width
    alive: Bools = np.ones(len(candidate), dtype=bool)
    for j in range(1, len(pairs)):
        keys = combos[owner, j] * width + candidate
        alive &= pairs[j][np.minimum(np.searchsorted(pairs[j], keys), len(pairs[j]) - 1)] == keys
    return np.bincount(owner[alive], minlength=len(combos))


def _shared_codes(variables: list[Any]) -> list[Longs]:
    """One column of several tables in the same integer codes."""
    if variables[0].continuous:
        stacked = np.concatenate([v.identity() for v in variables])
    else:
        shared: dict[Any, int] = {}
        for variable in variables:
            for category in variable.categories:
                shared.setdefault(category, len(shared))
        places = [np.array([*(shared[c] for c in v.categories), -1]) for v in variables]
        stacked = np.concatenate([place[v.values] for place, v in zip(places, variables)])
    _, codes = np.unique(stacked, return_inverse=True)
    return np.split(codes.astype(np.int64), len(variables))
