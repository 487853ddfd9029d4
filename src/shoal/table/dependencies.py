"""Cells that a table gives away itself: columns that determine the cells of other columns.

A column A *determines* a column B if no two records with the same cell of A have different cells of B, as a postcode
does its region. Then a missing cell of B can be filled in wherever its cell of A stands beside a known cell of B.

That no exception is seen proves little where few were to be expected: in a table of four records nearly every column
determines nearly every other. So the cells of B are imagined drawn at random, with the shares p_b that its values have.
The m records with one value of A would then agree with probability sum p_b^m, and the product over the values of A is
the chance that a table without any law would show no exception. Only where that is below `CHANCE` is one believed in.
Columns that say which records belong to one household or one person need no such evidence, for everybody knows that
their records share a good deal: for them it is enough that some unit has two known cells of B, and that all units that
have two agree.

Nobody is stopped by one exception. A law *with exceptions* fills a missing cell in with the value that is most frequent
among the known cells of B beside the same cell of A, where one value alone is. It is right in a visible pair, a record
with both cells known, if the record has that value; only pairs whose cell of A stands in two pairs or more can tell.
It is believed if it is right

- in all but a share of `EXCEPTIONS` of these pairs;
- with at most half the errors of whoever names the most frequent value of B for every record (a lambda of 1/2 or more,
  Goodman & Kruskal 1954), for where 96 % are equal every column is right in 96 %;
- more often than chance would have it. Of the m records with one value of A, W = m - max_b n_b are exceptions, and for
  0 < s < 1 the mean of s^W is at most sum_b (p_b + s (1 - p_b))^m. The least product of these over the values of A,
  divided by s^w, bounds the chance of w exceptions or fewer (Chernoff 1952); for w = 0 and s -> 0 it is the one above.

Columns of a table that was made from another may follow laws of that one though few cells are left to show it. Such a
law needs no evidence (`shoal.table.laws`), only that the records do not contradict it (`bears`).

What this leaves out, on purpose: determination by two columns together where neither does alone (but for arithmetic:
`shoal.table.arithmetic`), and laws that hold in a part of the table only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.kernels.elementary import exp, log
from shoal.table.records import Records
from shoal.vocabulary.errors import quoted

CHANCE = 1e-6
"""Below this the chance that no exception is seen counts as none: small beside one over the pairs of columns of a table
(a thousand for 32 columns), so that a law that is none is hardly ever seen in any of them."""

CHANCE_IN_UNITS = 1e-3
"""The same for exceptions in units, which need no evidence where there is none: small beside one over the columns."""

LOG_CHANCE = float(log(CHANCE))

EXCEPTIONS = {True: Fraction(1, 10), False: Fraction(1, 20)}
"""Largest share of visible pairs in which a law may be wrong: of units, and of other columns."""

UNITS = ("household", "identifier")
"""Roles of columns that say which records belong together."""

HEAD = 4096
"""Records looked at first: most columns contradict each other there already."""

HALVINGS = np.arange(1, 21)
"""The s of the bound are these powers of 1/2: a millionth is enough, for beyond it one exception costs all evidence."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """The cells of the column `by` determine those of `on`."""

    by: str
    on: str


NO_LOOK_UPS: Mapping[Dependency, int] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, eq=False)
class Completion:
    """A table with cells filled in."""

    records: Records
    # For each dependency that filled something in: shape (n,), the cells of its column `on` that it filled
    cells: dict[Dependency, Bools]


class Dependencies:
    """The laws by which columns of a table determine others, found when asked for.

    Parameters
    ----------
    exceptions
        Whether laws with exceptions count, too.
    also
        Laws that need no evidence here, as they held in the table that this one was made from, with the number of
        exceptions there; without exceptions they count only if there is none here, either.

    Examples
    --------
    Two households; one member's town is blanked, and the other member gives it away.

    >>> import shoal
    >>> frame = {"home": [1, 1, 2, 2], "town": ["A", None, "B", "B"], "age": [40, 12, 71, 69]}
    >>> import polars as pl
    >>> town = {"role": "quasi-identifier", "missing": "keep"}
    >>> roles = {"home": "household", "town": town, "age": "quasi-identifier"}
    >>> found = Dependencies(shoal.Microdata.of(pl.DataFrame(frame), roles).records)
    >>> found.of("town")
    [Dependency(by='home', on='town')]
    >>> found.completed().records["town"].missing.any()
    np.False_
    """

    def __init__(
        self, records: Records, *, exceptions: bool = False, also: Mapping[Dependency, int] = NO_LOOK_UPS
    ) -> None:
        self.records = records
        self.exceptions = exceptions
        self.also = also

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        """Equal numbers for equal cells of each column, -1 for missing ones."""
        return {v.name: v.codes() for v in self.records.variables}

    def of(self, name: str) -> list[Dependency]:
        """The dependencies of a column: those without exceptions first, of these those of households and persons."""
        others = sorted((v for v in self.records.variables if v.name != name), key=lambda v: v.role not in UNITS)
        units = {v.name: v.role in UNITS for v in others}
        codes, on = self._codes, self._codes[name]
        laws = {by: Dependency(by, name) for by in units}
        seen = {by: exceptions_seen(codes[by], on) for by in units if laws[by] in self.also}
        still = {by for by, (wrong, _) in seen.items() if not wrong and not self.also[laws[by]]}
        exact = [by for by, unit in units.items() if by in still or determines(codes[by], on, unit=unit)]
        nearly = [by for by in units if self.exceptions and by not in exact]
        still = {by for by, pairs in seen.items() if bears(self.also[laws[by]], *pairs, unit=units[by])}
        nearly = [by for by in nearly if by in still or nearly_determines(codes[by], on, unit=units[by])]
        return [laws[by] for by in (*exact, *nearly)]

    def completed(self) -> Completion:
        """The table with every missing cell filled in that another column determines, once."""
        changed, cells = [], {}
        for name in self.records.names():
            variable = self.records[name]
            if variable.complete:
                continue
            values, left = variable.values.copy(), variable.missing.copy()
            for dependency in self.of(name):
                donors = _donors(self._codes[dependency.by], self._codes[name])
                filled = left & (donors >= 0)
                if filled.any():
                    values[filled] = variable.values[donors[filled]]
                    left &= ~filled
                    cells[dependency] = filled
            changed.append(variable.filled_in(values, variable.missing & ~left))
        return Completion(records=self.records.with_variables(*changed) if cells else self.records, cells=cells)


def gives_back(sources: Sequence[str], name: str) -> str:
    """A law in words."""
    return f"{quoted(sources)} {'give' if len(sources) > 1 else 'gives'} '{name}' back"


def shares_of_household(records: Records, name: str) -> Floats | None:
    """Shape (n,); what each record counts where a household counts as one, for a column that households share.

    Members with a known cell share the household's one equally; a record without a household is one by itself.

    Returns None where the column is not the same throughout households, or the table has none.
    """
    homes = records.names("household")
    if not homes or name in homes:
        return None
    by, on = records[homes[0]].codes(), records[name].codes()
    if not determines(by, on, unit=True):
        return None
    alone = (by < 0) | (on < 0)
    members = np.bincount(by[~alone], minlength=int(by.max()) + 1)
    return np.where(alone, 1.0, 1.0 / np.maximum(members[by], 1))


def determines(by: Ints, on: Ints, *, unit: bool) -> bool:
    """True if the cells of one column determine those of another, without exception.

    `by`, `on`, shape (n,): equal numbers from 0 for equal cells, -1 for missing ones, which say nothing; `unit`:
    whether `by` says which records belong to one household or person, so that no evidence is needed but one unit with
    two known cells.
    """
    visible = (by >= 0) & (on >= 0)
    causes, effects = by[visible], on[visible]
    if not len(causes) or not (_agree(causes[:HEAD], effects[:HEAD]) and _agree(causes, effects)):
        return False
    if unit:
        return bool((np.bincount(causes) > 1).any())
    return log_chance(causes, effects) < LOG_CHANCE


def nearly_determines(by: Ints, on: Ints, *, unit: bool) -> bool:
    """True if the cells of one column determine those of another with exceptions; parameters as of `determines`."""
    visible = (by >= 0) & (on >= 0)
    causes, effects = by[visible], on[visible]
    head = len(causes) // 4  # exceptions among some records are exceptions among all
    for part in (slice(head), slice(None)):
        wrong = _exceptions(causes[part], effects[part])
        if not len(causes) or wrong > EXCEPTIONS[unit] * len(causes):
            return False
    sizes, times = np.unique(np.bincount(causes), return_counts=True)
    return believed(sizes, times, np.bincount(effects), wrong, unit=unit)


def exceptions_to(by: Ints, on: Ints, *, unit: bool) -> int | None:
    """Exceptions to the law that the cells of one column determine those of another; None where it is not believed.

    Parameters as of `determines`.
    """
    if determines(by, on, unit=unit):
        return 0
    return exceptions_seen(by, on)[0] if nearly_determines(by, on, unit=unit) else None


def exceptions_seen(by: Ints, on: Ints) -> tuple[int, int]:
    """Exceptions to a law, and the visible pairs that can tell; parameters as of `determines`."""
    visible = (by >= 0) & (on >= 0)
    sizes = np.bincount(by[visible])
    return _exceptions(by[visible], on[visible]), int(sizes[sizes > 1].sum())


def bears(there: int, wrong: int, telling: int, *, unit: bool) -> bool:
    """True if records do not contradict a law of the table that they were made from.

    Where cells were only blanked and records left out there are never more exceptions than there; but a law that is
    wrong in most of what can be seen is used by nobody.

    `there`: exceptions in that table; `wrong`, `telling`: exceptions here, and the visible pairs that can tell; `unit`
    as of `determines`.
    """
    return wrong <= EXCEPTIONS[unit] * telling or (wrong <= there and 2 * wrong <= telling)


def believed(sizes: Longs, times: Longs, counts: Longs, wrong: int, *, unit: bool) -> bool:
    """True if so few exceptions make a law.

    `sizes`, `times`: how many visible pairs values of `by` have, and how many values have so many; `counts`: how often
    each value of `on` occurs in these pairs; `wrong`: exceptions.
    """
    telling = int((sizes * times)[sizes > 1].sum())
    total, others = int(counts.sum()), int(counts.sum() - counts.max())
    if not telling or wrong > EXCEPTIONS[unit] * telling or 2 * wrong * total > others * telling:
        return False
    return log_chance_of(sizes, times, counts, wrong) < chance_of(unit=unit)


def chance_of(*, unit: bool) -> float:
    """Logarithm of the chance below which a law with exceptions is believed."""
    return float(log(CHANCE_IN_UNITS if unit else CHANCE))


def log_chance(by: Ints, on: Ints) -> float:
    """Logarithm of the chance that records equal on one column are equal on the other, were its cells drawn at random.

    `by`, `on`, shape (n,): equal numbers from 0 for equal cells.
    """
    sizes, times = np.unique(np.bincount(by), return_counts=True)
    return log_chance_of(sizes, times, np.bincount(on))


def log_chance_of(sizes: Longs, times: Longs, counts: Longs, wrong: int = 0) -> float:
    """The same from how many values of `by` so many records have, and how often each value of `on` occurs; of as many
    exceptions or fewer, a bound.
    """
    shares = counts[counts > 0] / counts.sum()
    return least_bound(sizes, times, shares, wrong)


def least_bound(sizes: Longs, times: Longs, shares: Floats, wrong: int) -> float:
    """Logarithm of a bound on the chance that at most so many records lack what is most frequent in their group.

    `sizes`, `times`: records of a group, and how many groups have so many. `shares`: of the records that have each of
    the things that a group may have in common; they need not add up to 1.
    """
    groups = [(int(size), int(time)) for size, time in zip(sizes, times) if size > 1]
    if not wrong:
        logs = log(shares)
        return float(sum(time * min(_log_of_total(size * logs), 0.0) for size, time in groups))
    bounds = []
    for power in HALVINGS:
        logs = log(shares + (1 - shares) * 0.5 ** int(power))
        evidence = sum(time * min(_log_of_total(size * logs), 0.0) for size, time in groups)
        bounds.append(evidence + wrong * int(power) * float(log(2.0)))
    return min(bounds)


def _log_of_total(logs: Floats) -> float:
    """log of the sum of the exponentials."""
    top = float(logs.max())
    return top + float(log(exp(logs - top).sum()))


def _agree(by: Ints, on: Ints) -> bool:
    """True if no two records have the same cell of one column and different cells of the other."""
    effect = np.empty(int(by.max()) + 1, dtype=on.dtype)
    effect[by] = on
    return bool((effect[by] == on).all())


def _exceptions(by: Ints, on: Ints) -> int:
    """Records without the cell of `on` that is most frequent beside their cell of `by`; none is missing."""
    if not len(by):
        return 0
    pairs, sizes = classes([by, on], len(by))
    most = np.zeros(int(by.max()) + 1, dtype=np.int64)
    np.maximum.at(most, by[first_rows(pairs, len(sizes))], sizes)
    return int(len(by) - most.sum())


def most_frequent(by: Ints, on: Ints) -> dict[int, int]:
    """For each cell of one column the most frequent cell of another beside it, where one alone is."""
    donors = _donors(by, on)
    rows = np.flatnonzero(donors >= 0)
    return dict(zip(by[rows].tolist(), on[donors[rows]].tolist()))


def _donors(by: Ints, on: Ints) -> Longs:
    """Shape (n,); a record with the same cell of `by`, whose cell of `on` is the most frequent one beside it; -1 where
    there is none, or several are as frequent.
    """
    visible = np.flatnonzero((by >= 0) & (on >= 0))
    donor = np.full(int(by.max(initial=-1)) + 2, -1, dtype=np.int64)  # the last entry is that of missing cells
    if not len(visible):
        return np.asarray(donor[by])
    pairs, sizes = classes([by[visible], on[visible]], len(visible))
    first = visible[first_rows(pairs, len(sizes))]
    most = np.zeros(len(donor), dtype=np.int64)
    np.maximum.at(most, by[first], sizes)
    best = first[sizes == most[by[first]]]
    alone = np.bincount(by[best], minlength=len(donor)) == 1
    donor[by[best]] = np.where(alone[by[best]], best, -1)
    return np.asarray(donor[by])
