"""Which marginals are measured, and how: select, measure, fit, and again (McKenna, Mullins, Sheldon & Miklau 2022).

The table is looked at here alone, and only through discrete Gaussian noise and exponential choices: every column by
itself is measured; then pair after pair is chosen by how far the model's counts are from the table's, less what noise
will be, is measured, drawn towards what the model expected, and the model fitted again.

Scores are whole numbers: the sum over cells of the absolute difference between the table's count and the model's, which
is rounded to parts of a record. A record more or less moves one count by 1, and so each score by `UNIT` times its
weight at most. Whatever is computed of noisy counts costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isqrt, sqrt
from statistics import median
from typing import Protocol

import numpy as np

from shoal.kernels.elementary import power
from shoal.mask._marginals.account import rate_for, variance_for
from shoal.mask._marginals.exact_draws import discrete_gaussian, exponential_choice
from shoal.mask._marginals.junction_tree import Columns, Fixed, cells, cells_of_model, fixed_by
from shoal.mask._marginals.model import Fitting, JointLaw, NoisyMarginal
from shoal.mask._marginals.shrinking import shrunken
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Floats, Longs, Progress
from shoal.vocabulary.errors import ParameterError

UNIT = 16
"""Counts of the model are rounded to these parts of a record before they are compared."""

OF_SINGLES, OF_CHOICES = Fraction(1, 10), Fraction(1, 20)
"""Shares of rho that single columns and choices get; pairs get the rest, and choices equal parts."""

BY_SIZE = 2 / 3
"""Marginals get rho in proportion to their cells to this power, with which the noise of all together is least."""

FINE = 2**60
"""Shares of rho for pairs are whole multiples of a part of one in this many."""

NOISE = Fraction(2, 5)
"""Noise of a cell that a score is lowered by, in standard deviations: half the mean absolute value of a normal draw,
for that counts are not negative and agree with others takes about as much away."""

STEPS = 40
"""Of mirror descent after each choice."""

NOISE_OF_PAIRS = 0.096
"""Noise of a pair's counts, as a share of the records, at which as many pairs as columns are measured."""


class Mechanism(Protocol):
    """All that is ever learnt of a table."""

    def measure(self, columns: Columns, rho: Fraction) -> NoisyMarginal:
        """The counts of some columns' combinations with noise."""

    def choose(self, pairs: Sequence[Columns], scoring: "Scoring", rho: Fraction) -> int:
        """The place of a pair whose counts differ much from those that are expected."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scoring:
    """What the scores of pairs are made of, beside the table."""

    expected: Mapping[Columns, Floats]  # Counts by the model
    less: Longs  # Shape (pairs,); what is taken off each difference
    weights: Longs  # Shape (pairs,); what the rest is multiplied by


@dataclass(frozen=True, kw_only=True, eq=False)
class OfTable:
    """The mechanism on a table.

    Parameters
    ----------
    codes
        Shape (n, d); categories by number.
    shape
        The number of categories of each column.
    sensitivity
        Records that a person may have.
    """

    codes: Longs
    shape: tuple[int, ...]
    sensitivity: int
    stream: SecretStream
    _counts: dict[Columns, Longs] = field(default_factory=dict, init=False)

    def measure(self, columns: Columns, rho: Fraction) -> NoisyMarginal:
        variance = variance_for(rho, self.sensitivity)
        counts = self._count(columns)
        noisy = counts + discrete_gaussian(counts.size, variance, self.stream).reshape(counts.shape)
        return NoisyMarginal(columns=columns, counts=noisy, variance=variance)

    def choose(self, pairs: Sequence[Columns], scoring: Scoring, rho: Fraction) -> int:
        apart = [
            np.abs(UNIT * self._count(pair) - np.rint(UNIT * scoring.expected[pair]).astype(np.int64)).sum()
            for pair in pairs
        ]
        scores = scoring.weights * (np.array(apart, dtype=np.int64) - scoring.less)
        rate = rate_for(rho, UNIT * int(scoring.weights.max()) * self.sensitivity)
        return exponential_choice(scores, rate, self.stream)

    def _count(self, columns: Columns) -> Longs:
        if columns not in self._counts:
            lengths = [self.shape[column] for column in columns]
            joint = np.ravel_multi_index(tuple(self.codes[:, column] for column in columns), lengths)
            self._counts[columns] = np.bincount(joint, minlength=cells(self.shape, columns)).reshape(lengths)
        return self._counts[columns]


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectionCourse:
    """The course of selection and measurement.

    Parameters
    ----------
    by
        The column whose pairs with others count more; None where all count alike.
    pairs
        Number of pairs to measure, at most; None for as many as noise is worth.
    most_cells
        Most cells of the model's cliques together.
    possible
        By columns, false for combinations that cannot be.
    sensitivity
        Records that a person may have.
    prior
        By columns, theta of a law that a public table gives.
    """

    shape: tuple[int, ...]
    rho: Fraction
    by: int | None
    pairs: int | None
    most_cells: int
    possible: dict[Columns, Bools]
    sensitivity: int
    prior: dict[Columns, Floats] = field(default_factory=dict)

    def fitted(self, mechanism: Mechanism, progress: Progress) -> tuple[JointLaw, int, list[Columns]]:
        """The law, the number of records as measured, and the pairs that were chosen."""
        self._check_size()
        measured = [mechanism.measure((column,), rho) for column, rho in enumerate(self._rho_of_singles)]
        total = _total(measured)
        fitting = Fitting(shape=self.shape, possible=self.possible, total=total, prior=self.prior)
        if self.prior:
            before, _ = fitting.fit([], {}, 0)
            public = {column for columns in self.prior for column in columns}
            measured = [
                shrunken(m, total * before.marginal(m.columns)) if set(m.columns) <= public else m for m in measured
            ]
        law, theta = fitting.fit(measured, {}, STEPS)
        chosen: list[Columns] = []
        left = self.rho * (1 - OF_SINGLES - OF_CHOICES)
        number = self.pairs or self._number(total, left)
        while len(chosen) < number and (open_pairs := self._open(chosen)):
            costs = self._rho_of_pairs(open_pairs, left, number - len(chosen))
            scoring = self._scoring(law, total, open_pairs, costs)
            place = mechanism.choose(open_pairs, scoring, self.rho * OF_CHOICES / number)
            chosen.append(open_pairs[place])
            left -= costs[place]
            noisy = mechanism.measure(chosen[-1], costs[place])
            measured.append(shrunken(noisy, scoring.expected[chosen[-1]]))
            law, theta = fitting.fit(measured, theta, STEPS)
            if progress is not None:
                progress(len(chosen) / (number + 1))
        law, _ = fitting.fit(measured, theta, 5 * STEPS)
        return law.with_every_cell(), total, chosen

    def _scoring(self, law: JointLaw, total: int, pairs: Sequence[Columns], costs: Sequence[Fraction]) -> Scoring:
        """What the scores of pairs are made of.

        Among tables of pairs beside the column `by`, a pair with it is part of as many as there are columns, any other
        of one; it counts half as often, for errors of the former are in part those of the latter.
        """
        weights = [max(len(self.shape) // 2, 1) if self.by in pair else 1 for pair in pairs]
        deviations = [isqrt(variance_for(rho, self.sensitivity)) for rho in costs]
        less = [int(NOISE * d * UNIT * cells(self.shape, pair)) for d, pair in zip(deviations, pairs)]
        return Scoring(
            expected=_expected(law, total, pairs),
            less=np.array(less, dtype=np.int64),
            weights=np.array(weights, dtype=np.int64),
        )

    def _check_size(self) -> None:
        if (least := self._cells([])) > self.most_cells:
            raise ParameterError(
                f"private-marginals: the columns and rules need {least:,} cells, more than most_cells, "
                f"{self.most_cells:,}. State coarser categories, fewer rules, or raise it."
            )

    @property
    def _rho_of_singles(self) -> list[Fraction]:
        """By column; by its categories."""
        parts = [_part(m) for m in self.shape]
        return [self.rho * OF_SINGLES * part / sum(parts) for part in parts]

    def _number(self, total: int, left: Fraction) -> int:
        """How many pairs are worth their noise among so many records.

        More pairs tell more, and each with more noise: the mean absolute noise of all cells of a pair, as a share of
        the records, rises with the root of their number. So there are as many pairs as columns where that is
        `NOISE_OF_PAIRS`, more by the root of the ratio where it is less, and fewer by its fourth root where it is more:
        few pairs leave columns alone that go together.
        """
        columns = len(self.shape)
        sizes = [power(float(cells(self.shape, pair)), BY_SIZE) for pair in combinations(range(columns), 2)]
        mean = sum(sizes) / len(sizes)
        noise = float(NOISE) * self.sensitivity * mean * sqrt(mean * columns / (2 * float(left))) / total
        root = sqrt(NOISE_OF_PAIRS / noise)
        return min(max(int(columns * max(root, sqrt(root))), 1), len(sizes))

    def _rho_of_pairs(self, pairs: Sequence[Columns], left: Fraction, number: int) -> list[Fraction]:
        """What each of some pairs would cost of what is left for so many: the others are taken to be of median size.

        In a table with a few columns of hundreds of codes, hardly a pair is as large as the mean of all.
        """
        parts = [_part(cells(self.shape, pair)) for pair in pairs]
        others = (number - 1) * Fraction(median(parts))
        return [Fraction(int(left * FINE * part / (part + others)), FINE) for part in parts]

    def _open(self, chosen: Sequence[Columns]) -> list[Columns]:
        """The pairs not yet chosen with which the model stays within its cells."""
        pairs = combinations(range(len(self.shape)), 2)
        return [pair for pair in pairs if pair not in chosen and self._cells([*chosen, pair]) <= self.most_cells]

    def _cells(self, pairs: Sequence[Columns]) -> int:
        """The cells of a model in which some pairs, and the columns of each rule, are together."""
        return cells_of_model(self.shape, [*self.possible, *self.prior, *pairs], self._fixed)

    @cached_property
    def _fixed(self) -> Fixed:
        return fixed_by(self.possible)


def _part(size: int) -> int:
    """The weight of a marginal of so many cells in the division of rho; at least 16."""
    return int(power(float(size), BY_SIZE) * 16)


def _total(measured: Sequence[NoisyMarginal]) -> int:
    """The number of records: sums of single columns, each weighted by one over its variance; at least 1."""
    weights = [1 / (m.counts.size * m.variance) for m in measured]
    sums = [int(m.counts.sum()) * weight for m, weight in zip(measured, weights)]
    return max(round(sum(sums) / sum(weights)), 1)


def _expected(law: JointLaw, total: int, pairs: Sequence[Columns]) -> dict[Columns, Floats]:
    """The model's counts of pairs of columns."""
    wanted = set(pairs)
    expected: dict[Columns, Floats] = {}
    for column in sorted({pair[0] for pair in pairs}):
        for other, joint in law.pairs_with(column):
            if (column, other) in wanted:
                expected[column, other] = total * joint
    return expected
