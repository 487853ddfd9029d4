"""Dependencies between columns, by which a table itself gives missing cells away.

A column A *determines* a column B if no two records with the same cell of A have different cells of B, as a postcode
determines its region. Then a missing cell of B can be filled in wherever its cell of A occurs beside a known cell of B.

The absence of exceptions proves little if few were to be expected: in a table of four records nearly every column
determines nearly every other. So the cells of B are imagined drawn at random, with the shares p_b of its values. The m
records with one value of A would then agree with probability sum p_b^m, and the product over the values of A is the
chance that a table without any law shows no exception. A law is believed only if that chance is below `CHANCE`. Columns
that say which records belong to one household or person need no such evidence, since their records are known to share
much: for them it suffices that at least one unit has two known cells of B, and that all units with two agree.

A single exception does not stop an intruder. A law *with exceptions* fills in a missing cell with the most frequent of
the known cells of B beside the same cell of A, if that is unique. It is right in a visible pair (a record with both
cells known) if the record has that value; only pairs whose cell of A occurs in two pairs or more can tell. It is
believed if it is right

- in all but a share of `EXCEPTIONS` of these pairs;
- with at most half the errors of always guessing the most frequent value of B (a lambda of 1/2 or more, Goodman &
  Kruskal 1954), for if 96 % of the cells are equal every column is right in 96 %;
- more often than by chance. Of the m records with one value of A, W = m - max_b n_b are exceptions, and for 0 < s < 1
  the mean of s^W is at most sum_b (p_b + s (1 - p_b))^m. The least product of these over the values of A, divided by
  s^w, bounds the chance of w exceptions or fewer (Chernoff 1952); for w = 0 and s -> 0 it is the one above.

Columns of a table that was made from another may follow laws of that one though few cells are left to show it. Such a
law needs no evidence (`shoal.table.laws`); it suffices that the records do not contradict it (`bears`).

Two kinds of law are left out on purpose: determination by two columns together but by neither alone (except for
arithmetic: `shoal.table.arithmetic`), and laws that hold in a part of the table only.
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
"""Chance of no exception below which a law is believed.

It is small beside 1 over the number of pairs of columns of a table (a thousand for 32 columns), so that a false law is
hardly ever believed in any of them.
"""

CHANCE_IN_UNITS = 1e-3
"""As `CHANCE`, for laws of units with exceptions: small beside 1 over the number of columns.

Without exceptions such a law needs no evidence.
"""

LOG_CHANCE = float(log(CHANCE))

EXCEPTIONS = {True: Fraction(1, 10), False: Fraction(1, 20)}
"""Largest share of visible pairs in which a law may be wrong, for units (True) and other columns (False)."""

UNITS = ("person", "household", "identifier")
"""Roles of columns that say which records belong together."""

HEAD = 4096
"""Number of records compared first: most pairs of columns contradict each other within them."""

HALVINGS = np.arange(1, 21)
"""Exponents of the powers of 1/2 tried as s in the bound.

A millionth is small enough: for smaller s one exception outweighs all evidence.
"""


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
    # Shape (n,) for each dependency that filled cells: the mask of the cells of its column `on` that it filled
    cells: dict[Dependency, Bools]


class Dependencies:
    """The laws by which columns of a table determine others, computed on request.

    Parameters
    ----------
    exceptions
        True if laws with exceptions count, too.
    also
        Laws of the table that this one was made from, which need no evidence here, with their number of exceptions
        there. A law without exceptions there counts as exact only if it has none here.

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
        """Codes of each column: equal numbers for equal cells, -1 for missing ones."""
        return {v.name: v.codes() for v in self.records.variables}

    def of(self, name: str) -> list[Dependency]:
        """The dependencies of a column: exact ones first, and of these those of households and persons first."""
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
        """The table with every missing cell filled in that another column determines, in one pass."""
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
    """A law as a clause."""
    return f"{quoted(sources)} {'give' if len(sources) > 1 else 'gives'} '{name}' back"


def shares_of_household(records: Records, name: str) -> Floats | None:
    """Shape (n,); weight of each record if every household counts as one, for a column it shares.

    Members with a known cell have equal shares of the household's weight of 1; a record without a household is a
    household of its own. Returns None if the column varies within households, or the table has none.
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

    `by`, `on`, shape (n,): equal numbers from 0 for equal cells, -1 for missing ones, which are ignored; `unit`: True
    if `by` says which records belong to one household or person: then one unit with two known cells is evidence enough.
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
    """Number of exceptions to the law that one column determines another; None if it is not believed.

    Parameters as of `determines`.
    """
    if determines(by, on, unit=unit):
        return 0
    return exceptions_seen(by, on)[0] if nearly_determines(by, on, unit=unit) else None


def exceptions_seen(by: Ints, on: Ints) -> tuple[int, int]:
    """Number of exceptions to a law, and of visible pairs that can tell; parameters as of `determines`."""
    visible = (by >= 0) & (on >= 0)
    sizes = np.bincount(by[visible])
    return _exceptions(by[visible], on[visible]), int(sizes[sizes > 1].sum())


def bears(there: int, wrong: int, telling: int, *, unit: bool) -> bool:
    """True if records do not contradict a law of the table that they were made from.

    Blanking cells and leaving out records never adds exceptions; but a law that is wrong in most of the visible pairs
    is of no use to anybody. `there`: exceptions in that table; `wrong`, `telling`: exceptions here, and the visible
    pairs that can tell; `unit` as of `determines`.
    """
    return wrong <= EXCEPTIONS[unit] * telling or (wrong <= there and 2 * wrong <= telling)


def believed(sizes: Longs, times: Longs, counts: Longs, wrong: int, *, unit: bool) -> bool:
    """True if the exceptions are few enough for a law.

    `sizes`, `times`: numbers of visible pairs that a value of `by` has, and how many values have each number; `counts`:
    number of these pairs with each value of `on`; `wrong`: exceptions.
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
    """Logarithm of the chance that records equal on one column would agree on another with random cells.

    `by`, `on`, shape (n,): equal numbers from 0 for equal cells.
    """
    sizes, times = np.unique(np.bincount(by), return_counts=True)
    return log_chance_of(sizes, times, np.bincount(on))


def log_chance_of(sizes: Longs, times: Longs, counts: Longs, wrong: int = 0) -> float:
    """As `log_chance`, from group sizes, their numbers and the counts of `on`; an upper bound if `wrong` > 0."""
    shares = counts[counts > 0] / counts.sum()
    return least_bound(sizes, times, shares, wrong)


def least_bound(sizes: Longs, times: Longs, shares: Floats, wrong: int) -> float:
    """Logarithm of a bound on the chance of at most so many exceptions to the most frequent value of a group.

    `sizes`, `times`: records of a group, and the number of groups of that size. `shares`: share of the records with
    each feature that a group may have in common; the shares need not add up to 1.
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
    """Logarithm of the sum of the exponentials."""
    top = float(logs.max())
    return top + float(log(exp(logs - top).sum()))


def _agree(by: Ints, on: Ints) -> bool:
    """True if no two records have the same cell of one column and different cells of the other."""
    effect = np.empty(int(by.max()) + 1, dtype=on.dtype)
    effect[by] = on
    return bool((effect[by] == on).all())


def _exceptions(by: Ints, on: Ints) -> int:
    """Number of records that lack the most frequent cell of `on` beside their cell of `by`; no cell is missing."""
    if not len(by):
        return 0
    pairs, sizes = classes([by, on], len(by))
    most = np.zeros(int(by.max()) + 1, dtype=np.int64)
    np.maximum.at(most, by[first_rows(pairs, len(sizes))], sizes)
    return int(len(by) - most.sum())


def most_frequent(by: Ints, on: Ints) -> dict[int, int]:
    """The most frequent cell of one column beside each cell of another, where it is unique."""
    donors = _donors(by, on)
    rows = np.flatnonzero(donors >= 0)
    return dict(zip(by[rows].tolist(), on[donors[rows]].tolist()))


def _donors(by: Ints, on: Ints) -> Longs:
    """Shape (n,); a record with the same `by` and its most frequent `on`; -1 if there is none, or a tie."""
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
