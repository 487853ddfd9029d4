"""Arithmetic laws between the columns of a table, by which missing cells can be computed.

Blanking an age is no protection if the year of birth stays, nor is blanking the size of a household beside its income
and its income per head. An intruder finds such laws in the records without missing cells. This module looks for them
between columns of numbers, dates and years (`shoal.table.numeric_cells`):

- *affine pairs*: C = slope A + offset, as of age and year of birth, years and days, euros and cents;
- *sums, differences, products and ratios*: C = A + B, A - B, A B, A / B.

A law is right in a record with all its columns known if C is the computed number, rounded as C is (halves always in the
same way). It is believed on the terms of `shoal.table.dependencies`: wrong in at most a share of `EXCEPTIONS`, with at
most half the errors of always guessing the most frequent value of C, and right more often than by chance. For the last,
C is imagined independent of the other columns: a record is right with a probability equal to the share of records that
have the computed number, and of n records with mean chance p at least r are right with probability exp(-n KL(r/n, p))
at most (Hoeffding 1963, for trials of unequal chances), times the number of laws that were tried. A law fills in C. It
fills in A or B if the equation can be solved for it so precisely that the rounding of C moves it by no more than its
own rounding, or by no more than a hundredth of its standard deviation (the narrowest interval that counts as disclosure
in Templ & Meindl 2008).

The work is bounded. Each pair and triple with a column that lacks cells is first tried on up to `SAMPLE` records, a
third of which do not have the most frequent value of C; candidates that survive are tried on all records. Triples
beyond `MOST_TRIPLES` are not tried; a hundred columns of numbers, ten of which lack cells, stay below.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.elementary import log
from shoal.table.dependencies import EXCEPTIONS, LOG_CHANCE, LawSupport, bears
from shoal.table.fitted_line import FEWEST, HALVES, fitted_line
from shoal.table.numeric_cells import ROUNDING, NumericCells
from shoal.table.records import Records
from shoal.table.variable import Variable

SAMPLE, MANY, FEW = 96, 64, 24
"""Records on which a law is tried first, those of them with any value, and those that rule most laws out."""

FITTED = 4096
"""Records, at most, to which a slope is fitted."""

MOST_TRIPLES = 1_000_000
"""Most combinations of a column and a pair of others that are tried."""

SURVIVES = 0.8
"""Least share of the sampled records in which a law must be right.

A law that is right in 95 % of all records falls below it in a sample of 64 once in a million times.
"""

NARROW = 0.01
"""Width, in standard deviations, of the interval within which a value counts as disclosed."""

Operation = Literal["affine", "+", "-", "*", "/"]

FORWARD: dict[Operation, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArithmeticLaw:
    """A column that is computed from one or two others."""

    on: str
    by: tuple[str, ...]  # The columns A, or A and B
    operation: Operation
    # slope, offset: of an affine pair
    slope: float = 1.0
    offset: float = 0.0
    exceptions: int = 0  # Records that contradict it
    records: int = field(default=0, compare=False)  # Of these, and of those that do not
    # Rounding step of each column in the table that the law comes from; None if that is the table at hand
    steps: tuple[float, ...] | None = None

    @property
    def exact(self) -> bool:
        return not self.exceptions

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.on, *self.by)

    def others(self, name: str) -> list[str]:
        """The columns from which one of the law's columns can be computed."""
        return [other for other in self.columns if other != name]

    def computed(self, numbers: Mapping[str, Floats]) -> Floats:
        """Shape (n,); C computed from the other columns, not rounded; not finite where it is undefined."""
        if self.operation == "affine":
            return np.asarray(self.slope * numbers[self.by[0]] + self.offset)
        with np.errstate(all="ignore"):
            return FORWARD[self.operation](numbers[self.by[0]], numbers[self.by[1]])

    def solved(self, name: str, numbers: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Shapes (n,) and (n,); one column computed from the others, and its change if C changes by 1."""
        c, ones = numbers[self.on], np.ones(len(numbers[self.on]))
        if name == self.on:
            return self.computed(numbers), np.zeros(len(c))
        if self.operation == "affine":
            return (c - self.offset) / self.slope, ones / abs(self.slope)
        first = name == self.by[0]
        other = numbers[self.by[1 if first else 0]]
        with np.errstate(all="ignore"):
            match self.operation:
                case "+":
                    return c - other, ones
                case "-":
                    return (c + other if first else other - c), ones
                case "*":
                    return c / other, 1 / np.abs(other)
                case _:
                    return (c * other, np.abs(other)) if first else (other / c, np.abs(other) / c**2)


Read = dict[tuple[str, float | None], tuple[Variable, NumericCells | None]]
"""Columns read as numbers, by name and rounding step (None: the column's own)."""


class Arithmetic:
    """The arithmetic laws of a table.

    Parameters
    ----------
    lacking
        Columns with cells that are missing or will be; a law without any of them fills in nothing. By default the
        incomplete columns.
    by
        Laws that compute a column from two others are looked for only where both are among these; by default anywhere.
    """

    def __init__(
        self, records: Records, lacking: Collection[str] | None = None, by: Collection[str] | None = None
    ) -> None:
        if lacking is None:
            lacking = [v.name for v in records.variables if not v.complete]
        read = [NumericCells.of(v) for v in records.variables] if lacking else []
        self.cells = {cells.name: cells for cells in read if cells is not None}
        self.lacking = [name for name in self.cells if name in lacking]
        self.by = self.cells if by is None else by

    @cached_property
    def laws(self) -> list[ArithmeticLaw]:
        """All laws, affine pairs first."""
        lacking = set(self.lacking)
        pairs = [(on, by) for on in self.cells for by in self.cells if on != by and lacking & {on, by}]
        affine = [law for on, by in pairs if (law := self._affine(on, by)) is not None]
        tied = {frozenset(law.columns) for law in affine if law.exact}
        return affine + [law for on in self._outputs for law in self._of_two(on, tied)]

    @property
    def _outputs(self) -> list[str]:
        """Columns that may be computed from two others, incomplete ones first, within the budget of triples."""
        outputs, left = [], MOST_TRIPLES
        others, complete = len(self.cells) - 1, len(self.cells) - len(self.lacking)
        for on in sorted(self.cells, key=lambda name: name not in self.lacking):
            left -= comb(others, 2) - (0 if on in self.lacking else comb(complete - 1, 2))  # as many as `_sources`
            if left < 0:
                break
            outputs.append(on)
        return outputs

    def _sources(self, on: str) -> list[tuple[str, str]]:
        """Pairs of other columns; at least one is incomplete unless the column itself is."""
        lacking = set(self.lacking)
        pairs = combinations([name for name in self.cells if name != on and name in self.by], 2)
        return [pair for pair in pairs if on in lacking or lacking & set(pair)] if lacking else []

    def _affine(self, on: str, by: str) -> ArithmeticLaw | None:
        c, a = self.cells[on], self.cells[by]
        complete = np.flatnonzero(~np.isnan(c.values) & ~np.isnan(a.values))
        for most in (SAMPLE, FITTED):
            rows = _spread(complete, most)
            line = fitted_line(a.values[rows], c.values[rows], c.half)
            if line is None:
                return None
            law = ArithmeticLaw(on=on, by=(by,), operation="affine", slope=line[0], offset=line[1])
            if self._wrong(law, rows) > (1 - SURVIVES) * len(rows):
                return None
        return self._believed(law, complete, len(complete) ** 2)

    def _of_two(self, on: str, tied: Collection[frozenset[str]]) -> Iterator[ArithmeticLaw]:
        """Laws that compute a column from two others to which no exact affine law ties it."""
        c = self.cells[on]
        pairs = [pair for pair in self._sources(on) if not any(frozenset((on, name)) in tied for name in pair)]
        names = list(self.cells)
        if not pairs:
            return
        place = np.array([[names.index(name) for name in pair] for pair in pairs])
        rows = self._sample(on)
        values = np.column_stack([self.cells[name].values[rows] for name in names])
        both = [values[:, column] for column in place.T]
        rare = c.values[rows] != c.most
        trials = len(names) ** 3
        for operation, (first, second) in ((o, order) for o in FORWARD for order in ((0, 1), (1, 0))):
            if operation in "+*" and first:
                continue
            for number in _surviving(operation, both[first], both[second], c.values[rows], c.half, rare):
                by = (pairs[number][first], pairs[number][second])
                law = ArithmeticLaw(on=on, by=by, operation=operation)
                complete = np.flatnonzero(np.all([~np.isnan(self.cells[name].values) for name in law.columns], axis=0))
                if (believed := self._believed(law, complete, trials)) is not None:
                    yield believed

    def _sample(self, on: str) -> Longs:
        """Records on which a column is tried: the most complete, a third without its most frequent value."""
        values = self.cells[on].values
        rare = (values != self.cells[on].most) & ~np.isnan(values)
        ways = ((~np.isnan(values), MANY), (rare, SAMPLE - MANY))
        return np.concatenate([_fullest(np.flatnonzero(rows), self._lacks, most) for rows, most in ways])

    @cached_property
    def _lacks(self) -> Longs:
        """Shape (n,); number of columns whose cell each record lacks."""
        return np.asarray(np.sum([np.isnan(cells.values) for cells in self.cells.values()], axis=0))

    def _wrong(self, law: ArithmeticLaw, rows: Longs) -> int:
        """Number of records, of some with all the law's columns known, in which the law is wrong."""
        return int(wrong(law, {name: self.cells[name].values[rows] for name in law.columns}, self.cells[law.on]).min())

    def _believed(self, law: ArithmeticLaw, complete: Longs, trials: int) -> ArithmeticLaw | None:
        """The law with its number of exceptions; None if the evidence does not suffice."""
        if len(complete) < FEWEST:
            return None
        c = self.cells[law.on]
        numbers = law.computed({name: self.cells[name].values[complete] for name in law.by})
        values = np.sort(c.values[complete])
        with np.errstate(invalid="ignore"):
            near = np.searchsorted(values, numbers + c.half, "right") - np.searchsorted(values, numbers - c.half)
        chance = float(np.where(np.isfinite(numbers), near, 0).sum()) / len(complete) ** 2
        exceptions = self._wrong(law, complete)
        common = int((c.values[complete] == c.most).sum())
        if not law_holds(len(complete), exceptions, common, chance, trials):
            return None
        return replace(law, exceptions=exceptions, records=len(complete))


def law_holds(records: int, exceptions: int, common: int, chance: float, trials: int) -> bool:
    """True if a law is believed.

    `records`: number of records with all its columns known; `exceptions`, `common`: of these, the records in which it
    is wrong, and those with the most frequent value; `chance`: mean probability that a record is right by chance;
    `trials`: number of laws tried.
    """
    if not records or exceptions > EXCEPTIONS[False] * records or 2 * exceptions > records - common:
        return False
    return -records * _divergence(1 - exceptions / records, chance) + float(log(max(trials, 1))) < LOG_CHANCE


def wrong(law: ArithmeticLaw, numbers: Mapping[str, Floats], cells: NumericCells) -> Longs:
    """Shape (3,); number of records that contradict a law if halves are rounded up, to even, or down.

    `numbers`, shape (n,) each: the law's columns in records with all of them known; `cells`: the computed column in the
    whole table.
    """
    c, half = numbers[law.on], cells.half
    residual = c - law.computed(numbers)
    with np.errstate(invalid="ignore"):
        inside = np.abs(residual) <= half
        tie = inside & (np.abs(residual) >= half * (1 - HALVES)) & bool(cells.step)
    even = np.round(c / cells.step) % 2 == 0 if cells.step else np.zeros(len(c), dtype=bool)
    ways = (residual > 0, even, residual < 0)
    return np.array([len(c) - int((inside & (~tie | way)).sum()) for way in ways], dtype=np.int64)


def filled_by(
    records: Records, laws: Sequence[ArithmeticLaw]
) -> tuple[Records, list[tuple[ArithmeticLaw, str, Bools]]]:
    """Fill in, in one pass, the missing cells that laws compute.

    Returns the records (the same object if nothing can be filled in), and for each law and column the mask of cells
    that it filled.
    """
    filled: list[tuple[ArithmeticLaw, str, Bools]] = []
    read: Read = {}
    for law in laws:
        for name in law.columns:
            if records[name].complete or not (cells := cells_of(law, records, read)):
                continue
            numbers, usable = fillable(law, name, {other: numeric.values for other, numeric in cells.items()}, cells)
            rows = usable & records[name].missing
            if rows.any():
                records = records.with_variables(cells[name].filled_in(rows, numbers[rows]))
                filled.append((law, name, rows))
    return records, filled


def cells_of(law: ArithmeticLaw, records: Records, read: Read) -> dict[str, NumericCells]:
    """The law's columns as numbers with the law's rounding; empty if one of them cannot be read as numbers.

    `read`: columns read before; this call adds to it.
    """
    cells = {}
    for name, step in zip(law.columns, law.steps or (None,) * len(law.columns)):
        seen = read.get((name, step))
        if seen is None or seen[0] is not records[name]:
            seen = read[name, step] = (records[name], NumericCells.of(records[name], step))
        if seen[1] is None:
            return {}
        cells[name] = seen[1]
    return cells


def uncontradicted(records: Records, laws: Sequence[ArithmeticLaw]) -> list[ArithmeticLaw]:
    """The laws of an original table that records made from it do not contradict, under the rounding of either table."""
    read: Read = {}
    ways = ((_uncontradicted(rounded, records, read) for rounded in ways_to_round(law)) for law in laws)
    first = (next(filter(None, tried), None) for tried in ways)
    return [law for law in first if law is not None]


def ways_to_round(law: ArithmeticLaw) -> tuple[ArithmeticLaw, ...]:
    """The law with its own rounding steps, and with those of the table at hand."""
    return (law,) if law.steps is None else (law, replace(law, steps=None))


def _uncontradicted(law: ArithmeticLaw, records: Records, read: Read) -> ArithmeticLaw | None:
    """The law with its number of exceptions here or in the original, whichever is greater.

    None if the records contradict it.
    """
    cells = cells_of(law, records, read)
    if not cells:
        return None
    known = np.all([~np.isnan(numeric.values) for numeric in cells.values()], axis=0)
    complete = {name: numeric.values[known] for name, numeric in cells.items()}
    exceptions = int(wrong(law, complete, cells[law.on]).min())
    if not bears(law.exceptions, LawSupport(exceptions, int(known.sum())), unit=False):
        return None
    return replace(law, exceptions=max(law.exceptions, exceptions))


def fillable(
    law: ArithmeticLaw, name: str, numbers: Mapping[str, Floats], cells: Mapping[str, NumericCells]
) -> tuple[Floats, Bools]:
    """Shapes (n,) and (n,); values that a law computes for a column, and the mask where they are precise enough.

    `numbers`, shape (n,) each: the law's columns in some records; `cells`: the columns of the table, for their rounding
    and spread.
    """
    computed, moves = law.solved(name, numbers)
    allowed = max(cells[name].half, NARROW * cells[name].deviation)
    with np.errstate(invalid="ignore"):
        narrow = moves * cells[law.on].half <= allowed * (1 + ROUNDING)
    return computed, np.isfinite(computed) & narrow


def _divergence(share: float, chance: float) -> float:
    """Kullback-Leibler divergence of two shares; 0 where the first is not above the second."""
    if share <= chance:
        return 0.0
    if chance <= 0:
        return math.inf
    rest = (1 - share) * float(log((1 - share) / (1 - chance))) if share < 1 else 0.0
    return share * float(log(share / chance)) + rest


def _spread(rows: Longs, most: int) -> Longs:
    """At most `most` of some records, evenly spaced."""
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]


def _fullest(rows: Longs, lacks: Longs, most: int) -> Longs:
    """At most `most` of some records, the most complete ones."""
    counts = np.sort(lacks[rows])
    return _spread(rows[lacks[rows] <= counts[most - 1]], most) if len(rows) > most else rows


def _surviving(operation: Operation, first: Floats, second: Floats, values: Floats, half: float, rare: Bools) -> Longs:
    """Positions of the pairs that are right in most of the m records, and in a third of those with a rarer value.

    Shape (m, pairs) each; a pair that is wrong in more of a few records than it may be in all is not tried on all.
    """

    def tried(rows: slice, pairs: slice | Longs) -> tuple[Bools, Bools]:
        with np.errstate(all="ignore"):
            numbers = FORWARD[operation](first[rows, pairs], second[rows, pairs])
            return np.isfinite(numbers), np.abs(numbers - values[rows, None]) <= half

    finite, alike = tried(slice(FEW), slice(None))
    left = np.flatnonzero((finite & ~alike).sum(axis=0) <= (1 - SURVIVES) * MANY)
    finite, alike = tried(slice(None), left)
    mostly = alike[:MANY].sum(axis=0) >= SURVIVES * finite[:MANY].sum(axis=0)
    enough = finite[:MANY].sum(axis=0) >= FEWEST
    also_rare = 3 * alike[rare].sum(axis=0) >= finite[rare].sum(axis=0)
    return np.asarray(left[enough & mostly & also_rare])
