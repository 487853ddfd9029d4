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

Determination by two columns together but by neither alone has tests of its own (`shoal.table.joint_dependencies`). Laws
that hold in a part of the table only are left out on purpose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Ints, Longs, ints
from shoal.kernels.classes import classes, first_rows, law_support
from shoal.kernels.elementary import exp, log
from shoal.table.records import Records
from shoal.vocabulary.errors import plural, quoted

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
    """The cells of the columns `by`, one or two, determine those of `on`."""

    by: tuple[str, ...]
    on: str


@dataclass(frozen=True, slots=True)
class LawSupport:
    """Evidence for a law."""

    exceptions: int
    pairs: int  # Visible pairs that can tell
    groups: int = 0  # Cells of `by` that are in some of them


NO_LOOK_UPS: Mapping[Dependency, LawSupport] = MappingProxyType({})


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
        Laws that need no evidence here, with what supports them: of the table that this one was made from, and of two
        columns together. A law without exceptions there counts as exact only if it has none here.

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
    [Dependency(by=('home',), on='town')]
    >>> found.completed().records["town"].missing.any()
    np.False_
    """

    def __init__(
        self, records: Records, *, exceptions: bool = False, also: Mapping[Dependency, LawSupport] = NO_LOOK_UPS
    ) -> None:
        self.records = records
        self.exceptions = exceptions
        self.also = also

    @cached_property
    def _codes(self) -> dict[tuple[str, ...], Ints]:
        """Codes of single columns and of some pairs: equal numbers for equal cells, -1 for missing ones."""
        codes = {(v.name,): v.codes() for v in self.records.variables}
        pairs = dict.fromkeys(law.by for law in self.also if len(law.by) > 1)
        return codes | {pair: joint_codes(*(codes[name,] for name in pair)) for pair in pairs}

    def of(self, name: str) -> list[Dependency]:
        """The dependencies of a column: exact ones first, and of these those of households and persons first."""
        others = sorted((v for v in self.records.variables if v.name != name), key=lambda v: v.role not in UNITS)
        laws = [Dependency((v.name,), name) for v in others]
        laws += [law for law in self.also if law.on == name and len(law.by) > 1]
        exact = [law for law in laws if self._holds(law, exceptions=False)]
        left = [law for law in laws if law not in exact] if self.exceptions else []
        return [*exact, *(law for law in left if self._holds(law, exceptions=True))]

    def _holds(self, law: Dependency, *, exceptions: bool) -> bool:
        """True if a law is known and not contradicted, or shown by these records; with exceptions or without."""
        by, on = self._pair(law)
        unit = self._of_units(law)
        if (known := self.also.get(law)) is not None:
            here = support_of(by, on)
            if bears(known.exceptions, here, unit=unit) if exceptions else not here.exceptions + known.exceptions:
                return True
        test = nearly_determines if exceptions else determines
        return len(law.by) == 1 and test(by, on, unit=unit)

    def _of_units(self, law: Dependency) -> bool:
        return len(law.by) == 1 and self.records[law.by[0]].role in UNITS

    def support(self, law: Dependency) -> LawSupport:
        """Exceptions and visible pairs of a law, believed or not."""
        return support_of(*self._pair(law))

    def _pair(self, law: Dependency) -> tuple[Ints, Ints]:
        return self._codes[law.by], self._codes[law.on,]

    def completed(self) -> Completion:
        """The table with every missing cell filled in that another column determines, in one pass."""
        changed, cells = [], {}
        for name in self.records.names():
            variable = self.records[name]
            if variable.complete:
                continue
            values, left = variable.values.copy(), variable.missing.copy()
            for dependency in self.of(name):
                donors = _donors(*self._pair(dependency))
                filled = left & (donors >= 0)
                if filled.any():
                    values[filled] = variable.values[donors[filled]]
                    left &= ~filled
                    cells[dependency] = filled
            changed.append(variable.filled_in(values, variable.missing & ~left))
        return Completion(records=self.records.with_variables(*changed) if cells else self.records, cells=cells)


def gives_back(sources: Sequence[str], name: str, exceptions: int = 0) -> str:
    """A law as a clause, with its number of exceptions."""
    clause = f"{quoted(sources)} {'give' if len(sources) > 1 else 'gives'} '{name}' back"
    return f"{clause}, with {plural(exceptions, 'exception')}" if exceptions else clause


def joint_codes(first: Ints, second: Ints) -> Ints:
    """Shape (n,); codes of two columns together, -1 where either is missing."""
    both = ints(classes([first, second], len(first))[0])
    return np.where((first < 0) | (second < 0), np.int32(-1), both)


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
        wrong = support_of(causes[part], effects[part]).exceptions
        if not len(causes) or wrong > EXCEPTIONS[unit] * len(causes):
            return False
    sizes, times = np.unique(np.bincount(causes), return_counts=True)
    return believed(sizes, times, np.bincount(effects), wrong, unit=unit)


def support_if_believed(by: Ints, on: Ints, *, unit: bool) -> LawSupport | None:
    """Support of the law that one column determines another; None if it is not believed.

    Parameters as of `determines`.
    """
    law = determines(by, on, unit=unit) or nearly_determines(by, on, unit=unit)
    return support_of(by, on) if law else None


def support_of(by: Ints, on: Ints) -> LawSupport:
    """Exceptions to a law, and visible pairs that can tell; parameters as of `determines`."""
    return LawSupport(*law_support(by, on))


def bears(there: int, here: LawSupport, *, unit: bool) -> bool:
    """True if records do not contradict a law of the table that they were made from.

    Blanking cells and leaving out records never adds exceptions; but a law that is wrong in most of the visible pairs
    is of no use to anybody. `there`: exceptions in that table; `here`: what supports the law in these records; `unit`
    as of `determines`.
    """
    wrong, telling = here.exceptions, here.pairs
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
