"""Information kept, by column: one scale of loss for all kinds of methods."""

from typing import ClassVar

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, Longs, TablePair
from shoal.judges.table_pair import codes_like
from shoal.kernels.arrays import longs
from shoal.kernels.classes import distinct
from shoal.kernels.elementary import log
from shoal.table.variable import Variable
from shoal.utility.base import OfColumns, without_rounding
from shoal.vocabulary.facts import Better
from shoal.vocabulary.prelude import ByColumn, DataError, NoFigure, in_digits, method, of_original, plural, quoted

CUTS = 20
"""Ranges of equal numbers of original records, in which the numbers of a column made anew are counted."""


@method(
    "information-kept",
    title="Information kept",
    source="Theil (1970), uncertainty coefficient; Fuller (1987), reliability ratio",
)
class InformationKept(OfColumns):
    """Share of the information in each column that the release keeps, from 0 to 1; the figure is the mean over columns.

    - Where a record's cell stands for the original one, the share of the original's spread that the released cells
      explain. For numbers, dates and ordered categories it is the squared correlation (0 where that is negative), for
      nominal categories Theil's uncertainty coefficient: the share of the entropy that is gone if the released category
      is known. A label that stands for several values explains as much as the means, or the frequencies, of the
      records that carry it.
    - A column made anew keeps 1 - the total variation distance between its distribution and the original one, in
      categories or in twentieths of the original records.
    - A cell that is blank, a record that is left out and a column that is not released explain nothing.

    A column of one single value keeps all if it is unchanged, else nothing.
    """

    prominence = 70
    unchanged = 1.0
    cheap = True
    better: ClassVar[Better] = "higher"
    limits = (0.0, 1.0)
    headline = ", mean over the columns"
    over_tables = "tables"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.columns or pair.before.names(*self.roles)
        if unknown := [name for name in names if name not in pair.before]:
            raise DataError(f"Columns must be in the original table; {quoted(unknown)} cannot be found there.")
        if not names or not len(pair.before):
            raise NoFigure("There is no record, or no quasi-identifier or confidential column.")
        kept = {name: 1.0 - without_rounding(1.0 - _kept(pair, name)) for name in names}
        mean = sum(kept.values()) / len(kept)
        least = min(kept, key=lambda name: kept[name])
        which = f"; least of '{least}', {in_digits(100 * kept[least], 3)} %" if kept[least] < 1 else ""
        of = plural(len(kept), "column")
        return self.finding(
            mean,
            f"The release keeps {in_digits(100 * mean, 3)} % of the information in {of}{which}.",
            by_column=ByColumn(of_original(dict(kept))),
        )


def _kept(pair: TablePair, name: str) -> float:
    if name not in pair.released:
        return 0.0
    before, after = pair.before[name], pair.released[name]
    if name in pair.made_anew:
        return 1.0 - _total_variation(before, after)
    place = pair.pairing
    there = ~(before.missing[place] | after.missing)
    was, now = before.values[place[there]], after.values[there]
    if before.level == "nominal":
        spread, unexplained = _of_categories(before, was, now)
    else:
        spread, unexplained = _of_line(before, was, now, same_scale=_same_scale(before, after))
    if spread:
        return max(1.0 - unexplained / spread, 0.0)
    same = was == now if after.continuous else was == codes_like(before, after)[there]
    return len(was) / known if (known := int((~before.missing).sum())) and same.all() else float(not known)


def _of_line(before: Variable, was: Floats, now: Floats, *, same_scale: bool) -> tuple[float, float]:
    """Sum of squares of a column around its mean, and what the released cells do not explain of it."""
    known = before.values[~before.missing].astype(np.float64)
    if not len(known):
        return 0.0, 0.0
    known, x = known - known.mean(), was - known.mean()
    spread, there = float((known**2).sum()), float((x**2).sum())
    explained = _by_regression(x, now.astype(np.float64)) if same_scale else _by_labels(x, longs(now))
    return spread, spread - there + max(there - explained, 0.0)


def _by_regression(x: Floats, y: Floats) -> float:
    """Sum of squares that a straight rising line through the released numbers and the mean explains."""
    if not len(x):
        return 0.0
    mean, x, y = float(x.mean()), x - x.mean(), y - y.mean()
    covered, own = float((x * y).sum()), float((y * y).sum())
    return mean * mean * len(x) + (covered * covered / own if own > 0 and covered > 0 else 0.0)


def _by_labels(x: Floats, label: Longs) -> float:
    """Sum of squares that the means of the records with each label explain."""
    sizes = np.bincount(label)
    sums = np.bincount(label, weights=x)
    return float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())


def _of_categories(before: Variable, was: Longs, now: Longs) -> tuple[float, float]:
    """Sum of -log p over the original cells, and what is left of it where the released category is known."""
    counts = np.bincount(before.values[~before.missing], minlength=1)
    surprise = -log(np.maximum(counts, 1) / max(int(counts.sum()), 1))
    pairs, _, times = distinct(now.astype(np.int64) * len(counts) + was)
    given = -log(times / np.bincount(now, minlength=1)[pairs // len(counts)])
    absent = counts - np.bincount(was, minlength=len(counts))
    return float((counts * surprise).sum()), float((times * given).sum() + (absent * surprise).sum())


def _same_scale(before: Variable, after: Variable) -> bool:
    return before.continuous == after.continuous and before.categories == after.categories


def _total_variation(before: Variable, after: Variable) -> float:
    """Half the sum of absolute differences between two distributions; missing cells count as a value of their own."""
    if before.continuous != after.continuous:
        return 1.0
    if before.continuous:
        known = before.values[~before.missing]
        cuts = np.unique(np.sort(known)[np.arange(1, CUTS) * len(known) // CUTS]) if len(known) else known
        return _difference(*(np.where(v.missing, -1, np.searchsorted(cuts, v.values)) for v in (before, after)))
    codes = codes_like(before, after)
    return _difference(before.values, np.where(after.missing | (codes >= 0), codes, len(before.categories)))


def _difference(before: Longs, after: Longs) -> float:
    count = int(max(before.max(initial=-1), after.max(initial=-1))) + 2
    shares = [np.bincount(c.astype(np.int64) + 1, minlength=count) / max(len(c), 1) for c in (before, after)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
