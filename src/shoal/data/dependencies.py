"""Cells that a table gives away itself: columns that determine the cells of other columns.

A blanked cell is no secret where the rest of the table says what stood in it: the other members of the household
live in the same town, the postcode tells the region, the design weight tells the stratum. Whoever holds the table finds
that out by looking: a column A *determines* a column B if no two records with the same cell of A have different
cells of B. Then every missing cell of B whose cell of A stands beside a known cell of B elsewhere can be filled in.

That no exception is seen proves little where few were to be expected: in a table of four records nearly every column
determines nearly every other. So the cells of B are imagined drawn at random, with the shares p_b that its values have.
The m records with one value of A would then agree with probability sum p_b^m, and the product over the values of A is
the chance that a table without any law would show no exception. Only where that is below `CHANCE` is one believed in.
Columns that say which records belong to one household or one person need no such evidence, for everybody knows that
their records share a good deal: for them it is enough that some unit has two known cells of B, and that all units that
have two agree.

What this leaves out, on purpose: guesses that are right nearly always only (one exception among thousands ends a
dependency), and determination by two columns together where neither does alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.data.records import Records
from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.elementary import exp, log

CHANCE = 1e-6
"""Below this the chance that no exception is seen counts as none: small beside one over the pairs of columns of a table
(a thousand for 32 columns), so that a law that is none is hardly ever seen in any of them."""

LOG_CHANCE = float(log(CHANCE))

UNITS = ("household", "identifier")
"""Roles of columns that say which records belong together."""

HEAD = 4096
"""Records looked at first: most columns contradict each other there already."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """The cells of the column `by` determine those of `on`."""

    by: str
    on: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Completion:
    """A table with cells filled in.

    Parameters
    ----------
    cells
        For each dependency that filled something in: shape (n,), the cells of its column `on` that it filled.
    """

    records: Records
    cells: dict[Dependency, Bools]


class Dependencies:
    """What determines what in a table, found when asked for.

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

    def __init__(self, records: Records) -> None:
        self.records = records

    @cached_property
    def _codes(self) -> dict[str, Ints]:
        """Equal numbers for equal cells of each column, -1 for missing ones."""
        return {v.name: v.codes() for v in self.records.variables}

    def of(self, name: str) -> list[Dependency]:
        """What determines a column: households and persons first."""
        others = [v for v in self.records.variables if v.name != name]
        others.sort(key=lambda v: v.role not in UNITS)
        return [
            Dependency(v.name, name)
            for v in others
            if determines(self._codes[v.name], self._codes[name], unit=v.role in UNITS)
        ]

    def completed(self, names: Iterable[str] | None = None) -> Completion:
        """The table with every missing cell filled in that another column determines, once.

        Parameters
        ----------
        names
            Columns to fill in; all by default.
        """
        changed, cells = [], {}
        for name in self.records.names() if names is None else names:
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


def shares_of_household(records: Records, name: str) -> Floats | None:
    """Shape (n,); what each record counts where a household counts as one, for a column that households share.

    Members with a known cell share the household's one equally; a record without a household is one by itself.

    Returns
    -------
    None where the column is not the same throughout households, or the table has none.
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
    """Whether the cells of one column determine those of another.

    Parameters
    ----------
    by, on
        Shape (n,); equal numbers from 0 for equal cells, -1 for missing ones, which say nothing.
    unit
        Whether `by` says which records belong to one household or person, so that no evidence is needed but one unit
        with two known cells.
    """
    known = (by >= 0) & (on >= 0)
    causes, effects = by[known], on[known]
    if not len(causes) or not (_agree(causes[:HEAD], effects[:HEAD]) and _agree(causes, effects)):
        return False
    if unit:
        return bool((np.bincount(causes) > 1).any())
    return log_chance(causes, effects) < LOG_CHANCE


def log_chance(by: Ints, on: Ints) -> float:
    """Logarithm of the chance that records equal on one column are equal on the other, were its cells drawn at random.

    Parameters
    ----------
    by, on
        Shape (n,); equal numbers from 0 for equal cells.
    """
    sizes, times = np.unique(np.bincount(by), return_counts=True)
    return log_chance_of(sizes, times, np.bincount(on))


def log_chance_of(sizes: Longs, times: Longs, counts: Longs) -> float:
    """The same from how many values of `by` so many records have, and how often each value of `on` occurs."""
    shares = log(counts[counts > 0] / counts.sum())
    return float(sum(time * _log_of_total(size * shares) for size, time in zip(sizes, times) if size > 1))


def _log_of_total(logs: Floats) -> float:
    """log of the sum of the exponentials."""
    top = float(logs.max())
    return top + float(log(exp(logs - top).sum()))


def _agree(by: Ints, on: Ints) -> bool:
    """Whether no two records have the same cell of one column and different cells of the other."""
    one = np.empty(int(by.max()) + 1, dtype=on.dtype)
    one[by] = on
    return bool((one[by] == on).all())


def _donors(by: Ints, on: Ints) -> Longs:
    """Shape (n,); a record with the same cell of `by` whose cell of `on` is known, -1 where there is none."""
    known = np.flatnonzero((by >= 0) & (on >= 0))
    donor = np.full(int(by.max(initial=-1)) + 2, -1, dtype=np.int64)  # the last entry is that of missing cells
    donor[by[known]] = known
    return np.asarray(donor[by])
