"""Public margins that new records match exactly: raking of a law, and whole counts of the columns that they name.

The law is raked to the margins (iterative proportional fitting, Deming & Stephan 1940): of all laws with these margins
it is the nearest. Its counts of the columns that margins name are rounded at random, and moved to the nearest whole
counts that keep every margin, by an integer programme; the other columns are drawn given these. Nothing of it looks at
the private table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.judges.further_tables import like, numbers_of
from shoal.kernels.solver import milp
from shoal.mask._marginals.clique_tables import summed
from shoal.mask._marginals.conditions import outlines
from shoal.mask._marginals.domain import Domain
from shoal.mask._marginals.generation import shuffled, uniform
from shoal.mask._marginals.junction_tree import Columns
from shoal.mask._marginals.model import JointLaw
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Floats, Longs, Records
from shoal.vocabulary.errors import DataError, ParameterError, plural, quoted

COUNT = "count"
"""The column of a margin's table that says how many records there are to be."""

SWEEPS = 50
"""Of iterative proportional fitting over all margins; what it leaves, the integer programme mends."""

NODES = 2_000
"""Most nodes of an integer programme, before more cells are let in."""

MOST_JOINT = 20_000
"""Combinations of the categories of all columns that margins name, at most: programmes of so many take seconds."""

EVEN = 1e-6
"""What a solver's whole number may be off by."""

FIRST_TRIED = 4_000
"""Cells, drawn at random, that the first programme may change; a quarter of them the first one in whole numbers."""

MOST_RECORDS = 2**31


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchedMargin:
    """How many records there are to be with each combination of some columns' categories."""

    columns: Columns
    counts: Longs  # Of the shape of the columns' categories

    @classmethod
    def of(cls, table: Any, domains: Sequence[Domain]) -> "MatchedMargin":
        """A margin from a public table with a row for each combination; what has no row is 0, equal rows add up.

        Raises DataError if it is none of these columns, or has counts that are not whole.
        """
        columns = getattr(nw.from_native(table, eager_only=True, pass_through=True), "columns", ())
        places = tuple(place for place, domain in enumerate(domains) if domain.like.name in columns)
        names = [domains[place].like.name for place in places]
        if not names or COUNT in names or {*columns} != {*names, COUNT}:
            raise DataError(
                f"private-marginals: a margin must be a table of '{COUNT}' and columns of the step alone; it has "
                f"{quoted(columns) if columns else 'none'}. Take others out, or name them in the step."
            )
        numbers = numbers_of(table, COUNT)
        listed = like(outlines(domains), table)
        if (numbers != np.rint(numbers)).any() or not 1 <= numbers.sum() <= MOST_RECORDS:
            raise DataError(
                f"private-marginals: the margin of {quoted(names)} must have whole numbers in '{COUNT}', of 1 to "
                f"{MOST_RECORDS:,} records in all."
            )
        shape = [domains[place].size for place in places]
        joint = np.ravel_multi_index(tuple(_codes(domains[place], listed) for place in places), shape)
        counts = np.zeros(shape, dtype=np.int64)
        np.add.at(counts.reshape(-1), joint, numbers.astype(np.int64))
        return cls(columns=places, counts=counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Margins:
    """Margins that agree with one another as far as two of them have columns in common.

    Parameters
    ----------
    names
        Of all columns of the step.
    """

    each: tuple[MatchedMargin, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, tables: Sequence[Any], domains: Sequence[Domain]) -> "Margins":
        """Margins from public tables. Raises DataError if two of them contradict one another."""
        each = tuple(MatchedMargin.of(table, domains) for table in tables)
        made = cls(each=each, names=tuple(domain.like.name for domain in domains))
        if (joint := math.prod(domains[column].size for column in made.columns)) > MOST_JOINT:
            raise ParameterError(
                f"private-marginals: the columns of margins, {made._quoted(made.columns)}, have {joint:,} combinations "
                f"of categories, and {MOST_JOINT:,} may be matched. Give margins of fewer columns, or coarser ones."
            )
        for first, second in combinations(each, 2):
            shared = tuple(column for column in first.columns if column in second.columns)
            one, other = (summed(margin.counts, margin.columns, shared) for margin in (first, second))
            if (one != other).any():
                within = f"in categories of {made._quoted(shared)}" if shared else "in all"
                raise DataError(
                    f"private-marginals: the margins of {made._quoted(first.columns)} and of "
                    f"{made._quoted(second.columns)} have other numbers of records {within}. Correct one of them."
                )
        return made

    @property
    def digest(self) -> str:
        """SHA-256 of all columns and counts."""
        return sha256(
            b"".join(np.array(margin.columns).tobytes() + margin.counts.tobytes() for margin in self.each)
        ).hexdigest()

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.each[0].counts.sum())

    @property
    def columns(self) -> Columns:
        """All columns that margins name."""
        return tuple(sorted({column for margin in self.each for column in margin.columns}))

    def possible(self, shape: Sequence[int]) -> Bools:
        """Of the shape of `columns`; false for combinations that a margin has none of."""
        free = np.ones([shape[column] for column in self.columns], dtype=bool)
        for margin in self.each:
            free &= self._spread(margin, margin.counts > 0)
        return free

    def raked(self, law: JointLaw) -> JointLaw:
        """The law with these margins, as near as `SWEEPS` come, with all of `columns` in its first clique."""
        now = law.marginal(self.columns)
        table = now.copy()
        for margin in self.each * SWEEPS:
            have = summed(table, self.columns, margin.columns)
            ratio = np.divide(margin.counts / max(self.total, 1), have, out=np.zeros_like(have), where=have > 0)
            table *= self._spread(margin, ratio)
        ratio = np.divide(table, now, out=np.zeros_like(now), where=now > 0)
        return law.among({self.columns: ratio}, first=self.columns)

    def drawn(self, law: JointLaw, stream: SecretStream) -> dict[int, Longs]:
        """By column that a margin names, its categories in as many records as there are to be; all margins hold.

        Raises DataError if no whole counts keep all of them, which happens where they contradict one another or a rule.
        """
        table = law.marginal(self.columns)
        cells = np.flatnonzero(table > 0)
        places = np.unravel_index(cells, table.shape)
        groups = [
            np.ravel_multi_index(tuple(places[self.columns.index(c)] for c in margin.columns), margin.counts.shape)
            for margin in self.each
        ]
        for margin, group in zip(self.each, groups):
            if unmet := int((np.delete(margin.counts.ravel(), group) > 0).sum()):
                raise DataError(
                    f"private-marginals: the margin of {self._quoted(margin.columns)} has records in "
                    f"{plural(unmet, 'combination')} that a rule or another margin leaves empty. Correct one of them."
                )
        expected = self.total * table.ravel()[cells]
        counts = whole_counts(expected, groups, [margin.counts.ravel() for margin in self.each], stream)
        if counts is None:
            raise DataError(
                f"private-marginals: no whole counts of {self._quoted(self.columns)} were found that keep all margins. "
                f"They contradict one another or a rule; leave one out, or give margins of fewer columns."
            )
        return {column: np.repeat(place, counts) for column, place in zip(self.columns, places)}

    def _spread(self, margin: MatchedMargin, table: Any) -> Any:
        """A table of a margin's columns, with axes of length 1 for all others of `columns`."""
        lengths = dict(zip(margin.columns, table.shape))
        return table.reshape([lengths.get(column, 1) for column in self.columns])

    def _quoted(self, columns: Columns) -> str:
        return quoted([self.names[column] for column in columns])


def whole_counts(
    expected: Floats, groups: Sequence[Longs], totals: Sequence[Longs], stream: SecretStream
) -> Longs | None:
    """Shape (cells,); whole numbers near to the expected ones that add up to totals; None if none were found.

    Parameters
    ----------
    expected
        Shape (cells,); it adds up to the totals, but for a little.
    groups
        For each margin, shape (cells,); the place of each cell's total.
    totals
        For each margin, whole numbers.
    """
    from scipy.sparse import csc_array, vstack

    ones, cells = np.ones(len(expected)), np.arange(len(expected))
    rows = csc_array(
        vstack([csc_array((ones, (group, cells)), shape=(len(t), len(cells))) for group, t in zip(groups, totals)])
    )
    return nearest_whole(expected, rows, np.concatenate(totals), stream)


def nearest_whole(expected: Floats, rows: Any, wanted: Longs, stream: SecretStream) -> Longs | None:
    """Shape (cells,); whole numbers near to the expected ones, `rows` times which are as wanted; None if none were.

    `rows`: shape (r, cells), sparse by columns, of whole numbers.
    """
    ends = np.floor(np.cumsum(expected) + uniform(1, stream))  # each cell up or down, as often as its fraction says
    counts = np.diff(ends, prepend=0.0).astype(np.int64)
    order, tried = shuffled(len(expected), stream), FIRST_TRIED
    loose = np.zeros(len(expected), dtype=bool)
    whole = False
    while (short := wanted - rows @ counts).any():
        some = np.sort(order[:tried])
        moves = _moves(rows[:, some], short, counts[some], expected[some], whole)
        if moves is None and tried >= len(expected):
            return None
        if moves is None:
            tried *= 4
            continue
        kept = np.rint(moves) if whole else np.trunc(moves + np.copysign(EVEN, moves))
        counts[some] += kept.astype(np.int64)
        loose[some] = np.abs(moves - kept) > EVEN
        order, tried, whole = order[np.argsort(~loose[order], kind="stable")], FIRST_TRIED // 4, True
    return counts


def _moves(rows: Any, short: Floats, counts: Longs, expected: Floats, whole: bool) -> Floats | None:
    """Shape (cells,); what is added to counts, none of which falls below 0, so that rows get what they are short of.

    The least that brings counts nearest to the expected ones; if it is to be whole, any that does. None if none does.
    """
    from scipy.sparse import hstack

    beyond = np.clip(expected - counts, -1.0, 1.0)
    cost = np.concatenate([1.0 - beyond, 1.0 + beyond])
    high = np.concatenate([np.full(len(counts), np.inf), counts])
    limits = {"mip_rel_gap": math.inf, "mip_max_nodes": NODES}
    solution = milp(cost, hstack([rows, -rows]), short, short, whole=int(whole), high=high, **limits)
    return None if solution.x is None else np.asarray(solution.x[: len(counts)] - solution.x[len(counts) :])


def _codes(domain: Domain, listed: Records) -> Longs:
    try:
        return domain.codes(listed[domain.like.name])
    except DataError as error:
        raise DataError(f"private-marginals: in a table that margins name, {error}") from None
