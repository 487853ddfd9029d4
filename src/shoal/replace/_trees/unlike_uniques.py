"""Records drawn again until none equals an original record that nobody else is like.

A record that does keeps the first half of its columns and gets a new second half; if it equals one again, all columns
are drawn anew until it does not. Say P is the law of the trees, U the unique originals, u = P(U), and q(h) the chance
that a record whose first half is h is one of U. Then the law of what is released is, outside of U,

    P'(r) = P(r) (1 + q(h(r)) + s / (1 - u)),   s = the mean of q(h)^2 over first halves h.

That a combination x is absent tells something. Were x not one of U, with the same P, the other records would be as
likely but for these factors: all come at most 1 + 2 P(x) / (1 - u)^2 times as often because of x, and those that share
the first half of x at most 1 + P(x | h(x)) + 2 P(x) / (1 - u)^2 times. With m of n released records sharing it, odds
that somebody is alone with x rise by a factor of at most exp(m P(x | h(x)) + 2 n P(x) / (1 - u)^2), about exp(3 e)
where x would have come e times. How often the likeliest of U came before anything was drawn again says how large e is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from shoal.judges.joint_codes import joint_codes
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import classes
from shoal.replace._trees.columns import TreeColumn
from shoal.replace._trees.sequence import Chain
from shoal.table.prelude import Records
from shoal.table.schema import UNITS
from shoal.vocabulary.prelude import Count, Facts, OfOriginal, Refused, plural

ROUNDS = 200
"""Times that a record is drawn again, before the step is refused."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnColumns:
    """Columns that were drawn."""

    records: Records  # As they were
    columns: list[TreeColumn]
    chains: list[Chain]  # Of each group
    new: list[Floats]  # Shape (n,) each; values of the columns' parts, one column after the other

    def records_at(self, rows: Longs) -> Records:
        """Some records as they are now."""
        remaining = iter(self.new)
        written = [column.written([next(remaining)[rows] for _ in column.parts]) for column in self.columns]
        return self.records.take(rows).with_variables(*written)

    def draw_again(self, rows: Longs, first: int, rng: Generator) -> None:
        """New values for some records, from a part on, in place."""
        for chain in self.chains:
            mine = np.intersect1d(rows, chain.at)
            if len(mine):
                chain.draw_into(self.new, mine, first, rng)


def facts_of(counts: Sequence[tuple[int, int]]) -> Facts:
    """What there is to tell of one draw of all records or more, of each as `redrawn` gives it."""
    return {
        "draws rejected, for they equalled a unique original": Count(n=sum(n for n, _ in counts), unit="draws"),
        "first draws that equalled the same unique original, at most": OfOriginal(max(most for _, most in counts)),
    }


def redrawn(drawing: DrawnColumns, rng: Generator) -> tuple[int, int]:
    """Draw again what equals a unique original, in place.

    Returns how many draws were rejected, and how many of the first ones equalled the same original, at most. Raises
    Refused if records are left that equal one.
    """
    uniques = [_Uniques.of(drawing.records, names) for names in _sets(drawing.records)]
    rows, rejected, most = np.arange(len(drawing.records)), 0, 0
    for number in range(ROUNDS + 1):
        places = [unique.place(drawing.records_at(rows)) for unique in uniques]
        if not number:
            most = max(int(np.bincount(place + 1)[1:].max(initial=0)) for place in places)
        rows = rows[np.any([place >= 0 for place in places], axis=0)]
        if not len(rows):
            return rejected, most
        rejected += len(rows)
        drawing.draw_again(rows, 0 if number else len(drawing.new) // 2, rng)
    raise Refused(
        f"no_exact_matches: {plural(len(rows), 'record')} of {len(drawing.records):,} came out as a unique original "
        f"record {ROUNDS} times. Draw more columns, raise min_leaf, or set smooth: true."
    )


def _sets(records: Records) -> list[tuple[str, ...]]:
    """The columns that are compared: all that may be released, and those that are known or sought."""
    taken = {*records.names("identifier", *UNITS)}
    every = tuple(name for name in records.names() if name not in taken)
    return list(dict.fromkeys(names for names in (every, records.names("quasi-identifier", "confidential")) if names))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Uniques:
    """Original records that are the only ones with their cells in some columns."""

    records: Records
    names: tuple[str, ...]

    @classmethod
    def of(cls, records: Records, names: tuple[str, ...]) -> "_Uniques":
        return cls(records=records.take(np.flatnonzero(records.matching(names) == 1)), names=names)

    def place(self, drawn: Records) -> Longs:
        """Shape (m,); which of them each of some records equals, -1 for none."""
        coded = [joint_codes(self.records[name], drawn[name]) for name in self.names]
        count = len(self.records)
        ids, sizes = classes([np.concatenate(codes) for codes in coded], count + len(drawn))
        of_class = np.full(len(sizes), -1, dtype=np.int64)
        of_class[ids[:count]] = np.arange(count)
        return of_class[ids[count:]]
