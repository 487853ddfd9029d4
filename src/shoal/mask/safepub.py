"""Differential privacy by sampling and generalisation: SafePub (Bild, Kuhn & Prasser 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from annotated_types import Lt

from shoal.kernels.classes import classes
from shoal.kernels.generalisation import node_scores
from shoal.mask._generalisation.task import GeneralisationTask, KeyColumn, Range
from shoal.mask.base import Mask
from shoal.mask.private_noise import bernoulli_exp, exact_fraction
from shoal.mask.sampled_classes import DIGITS, PARTS, Expected, PrivateSample
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Generator, Ints, Longs, Progress, Records, StepResult, Variable, ints
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.facts import PrivacyLoss
from shoal.vocabulary.prelude import Columns, Count, Fact, Ge, Gt, Le, OfOriginal, OfPlan, Setting, Share, method

OF_LARGEST = Fraction(4, 5)
"""Share of the largest probability of being drawn that is taken by default: at epsilon 1 and delta 10^-6 classes of 36
drawn records stay, some 71 of the table, where the largest asks for 58, of 92, and half of it for 18, of 57."""

QUALITY = 2**12
"""Score of a record without loss."""

LARGEST_EPSILON = 20.0


@method(
    "safepub",
    title="SafePub (differential privacy by sampling and generalisation)",
    source="Bild, Kuhn & Prasser (2018)",
    example={"epsilon": 2.0, "delta": 0.01},
    example_columns=("illness",),
)
class SafePub(Mask):
    """Releases a random sample at one level a column, without small classes: private for whole records.

    The levels are given, or chosen by a mechanism that is differentially private itself. Every record is drawn by
    itself; what was drawn is generalised; classes of fewer than k drawn records are left out, with k from epsilon,
    delta and the probability of being drawn. Whether a person is in the table at all then changes the odds of any
    release by a factor of at most exp(epsilon), but for a probability of delta. No value is made up: what is released
    is true.

    Parameters
    ----------
    epsilon
        Privacy loss of a person, of the choice of levels and of the release together.
    delta
        Probability that the odds change by more. It must be far below 1 over the number of records.
    choice
        Share of epsilon that is spent on choosing the levels; nothing is where `levels` leave one for every column.
    fraction
        Probability with which each record is drawn, at most 1 - exp(-epsilon); by default four fifths of that. With
        less, smaller classes may stay, of a smaller sample.
    levels
        Least and greatest level of some columns, as in `{age: [1, 3]}`, or `[2, 2]` for exactly that one; level 0
        is the value itself.
    loss
        What levels are to lose least of: `ncp` or `precision`, as for `generalise`.
    records_per_person
        Records that one person may have in the table.
    most_nodes
        Largest number of combinations of levels to choose from.

    Notes
    -----
    All columns of the release must be among the step's, each with a hierarchy that does not come from the table: a
    tree, a file, or, with `loss: precision`, `intervals`, `rounding`, `dates` or `priority`. Delta is exact and not the
    upper bound of the source, so that k is smaller. Levels are chosen by permute-and-flip (McKenna & Sheldon 2020), in
    whole numbers, by the share of the table that is expected to be left of it; one record changes that share little,
    since a class becomes worth more gradually. Records come in the order of their labels, for theirs in the table would
    tell of those left out. Random numbers are cryptographic: keep the seed as secret as the data.
    """

    scales = "memory"
    default_roles = ("quasi-identifier", "confidential", "other")
    own_cells = True
    whole_records = True

    epsilon: Annotated[float, Gt(0), Le(LARGEST_EPSILON), Setting()]
    delta: Annotated[float, Gt(0), Le(0.5), Setting()]
    choice: Annotated[float, Gt(0), Lt(1), Setting()] = 0.05
    fraction: Annotated[Annotated[float, Gt(0), Lt(1)] | None, Setting()] = None
    levels: Annotated[Mapping[str, Range] | None, Columns()] = None
    loss: Literal["ncp", "precision"] = "ncp"
    records_per_person: Annotated[int, Ge(1)] = 1
    most_nodes: Annotated[int, Ge(1)] = 100_000

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        if not columns:
            raise ParameterError("safepub needs at least one column.")
        variables = self.categorical(records, columns)
        records.complete(columns, self.method_name)
        if not len(records):
            return StepResult(records=records)
        task = GeneralisationTask.of(records, variables, self.levels or {}, self.loss)
        chooses = task.table.nodes > 1
        if task.table.nodes > self.most_nodes:
            raise ParameterError(
                f"safepub: {task.table.nodes:,} combinations of levels are more than most_nodes, {self.most_nodes:,}. "
                f"Narrow the levels of some columns."
            )
        per_record = Fraction(self.epsilon) / self.records_per_person
        spent = exact_fraction(per_record * Fraction(self.choice)) if chooses else Fraction(0)
        drawing = self._drawing(per_record - spent)
        k = drawing.least_k(_for_each_record(self.delta, per_record, self.records_per_person))
        stream = SecretStream(rng)
        levels = self._levels(task, Expected(chance=drawing.chance, k=k), spent, stream, progress)
        drawn = stream.integers(PARTS, len(records)) < drawing.chance
        out = _released(task, records, levels, drawn, k)
        facts: dict[str, Fact] = {
            "privacy loss": PrivacyLoss(epsilon=self.epsilon, delta=self.delta, columns=tuple(columns)),
            "records per person": OfPlan(self.records_per_person),
            "epsilon of the choice of levels": OfPlan(float(spent * self.records_per_person)),
            "records are drawn with probability": OfPlan(drawing.probability),
            "k": OfPlan(k),
            "levels": OfOriginal({c.variable.name: level for c, level in zip(task.columns, levels)}),
            "records dropped": Count(n=len(records) - len(out), of=len(records), influence=None),
            "loss": Share(value=float(task.losses(np.array([levels] * len(records))).mean())),
        }
        return StepResult(records=out, facts=facts)

    def _drawing(self, epsilon: Fraction) -> PrivateSample:
        largest = PrivateSample.largest(epsilon)
        wanted = OF_LARGEST * largest.chance if self.fraction is None else Fraction(self.fraction) * PARTS
        if wanted > largest.chance:
            raise ParameterError(
                f"safepub: fraction must be at most {largest.probability:.4g} for this epsilon; got {self.fraction}. "
                f"Lower it, or raise epsilon."
            )
        return replace(largest, chance=max(int(wanted), 1))

    def _levels(
        self, task: GeneralisationTask, expected: Expected, epsilon: Fraction, stream: SecretStream, progress: Progress
    ) -> list[int]:
        """A level for each column."""
        least = [column.levels[0] for column in task.columns]
        if not epsilon:
            return least
        scores = node_scores(
            task.table, expected.table, expected.slope, suppressed=task.whole, unit=QUALITY, progress=progress
        )
        node = permute_and_flip(scores, expected.sensitivity * QUALITY, epsilon, stream)
        heights = [ladder.height + 1 for ladder in task.table.ladders]
        return [low + int(level) for low, level in zip(least, np.unravel_index(node, heights))]


def permute_and_flip(scores: Longs, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> int:
    """One of some places, of a high score: epsilon-differentially private (McKenna & Sheldon 2020).

    In random order, each place is taken with probability exp(-epsilon gap / sensitivity), gap being that of its score
    to the highest, until one is.

    `scores`, shape (m,), m >= 1; `sensitivity`: one record more changes scores by at most this, none of them downwards;
    that they change in one direction only spares the factor 2 that the source has.
    """
    best = int(scores.max())
    denominator = epsilon.denominator * sensitivity
    parts = [divmod((best - score) * epsilon.numerator, denominator) for score in scores.tolist()]
    heads = bernoulli_exp(np.array([part for _, part in parts], dtype=np.int64), denominator, stream)
    wholes = np.array([min(whole, np.iinfo(np.int64).max) for whole, _ in parts], dtype=np.int64)
    flips = 0
    while len(waiting := np.flatnonzero(heads & (wholes > flips))):
        heads[waiting] = bernoulli_exp(np.ones(len(waiting), dtype=np.int64), 1, stream)
        flips += 1
    order = stream.integers(2**62, len(scores))
    while len(np.unique(order)) < len(order):
        order = stream.integers(2**62, len(scores))
    taken = np.flatnonzero(heads)
    return int(taken[np.argmin(order[taken])])


def _for_each_record(delta: float, epsilon: Fraction, records: int) -> Decimal:
    """The delta of each of a person's records: these add up to that of all, each grown by one more exp(epsilon)."""
    with localcontext(prec=DIGITS):
        grow = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        return Decimal(delta) / sum((grow**i for i in range(records)), Decimal(0))


def _released(task: GeneralisationTask, records: Records, levels: list[int], drawn: Bools, k: int) -> Records:
    """The records drawn, of classes of k or more, in the order of their labels."""
    rows = np.flatnonzero(drawn)
    codes, labelled = zip(*(_labelled(column, level) for column, level in zip(task.columns, levels)))
    ids, sizes = classes([code[rows] for code in codes], len(rows))
    kept = sizes[ids] >= k
    order = np.argsort(ids[kept], kind="stable")
    return records.with_variables(*labelled).take(rows[kept][order])


def _labelled(column: KeyColumn, level: int) -> tuple[Ints, Variable]:
    """The column at a level, with numbers for its labels in an order that does not hang on which of them occur."""
    names = [str(path[level]) for path in column.paths]
    labels = tuple(sorted(set(names)))
    number = {label: place for place, label in enumerate(labels)}
    codes = ints([number[name] for name in names])[column.leaves]
    if level == 0:
        return codes, replace(column.variable, hierarchy=None)
    return codes, replace(column.variable, values=codes, level="nominal", categories=labels, hierarchy=None)
