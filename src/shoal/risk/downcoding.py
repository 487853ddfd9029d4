"""Downcoding: labels undone by someone who knows how they were chosen (Cohen 2022)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np

from shoal.judges.compositions import (
    MOST_SIZE,
    LikeliestComposition,
    chance_of_few,
    guess_at_random,
    guess_of_few,
    guess_of_named,
    guess_of_several,
)
from shoal.judges.label_parts import LabelParts, one_level, parts_of
from shoal.judges.prelude import Bools, Finding, Floats, Generator, Longs, TablePair
from shoal.risk.base import RiskMeasure
from shoal.table.records import Classes
from shoal.vocabulary.prelude import Columns, Gt, Le, NoFigure, OfPlan, OfRelease, Setting, method, of_original

Recoding = Literal["local", "full-domain"]

Guesser = Callable[[LabelParts, Floats, int], LikeliestComposition | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoarserColumn:
    """A released column beside what its cells were."""

    parts: list[LabelParts | None]  # For each released category what it divides into
    # For each released category, shape (m,), how common each part is among the original records that have one
    shares: list[Floats]
    label: Longs  # Shape (C,); released category of each class
    truth: Longs  # Shape (n',); row of the hierarchy of each released record's original cell


@method("downcoding", title="Records whose labels can be undone", source="Cohen (2022)")
class Downcoding(RiskMeasure):
    """Share of records for whom an attacker rightly puts narrower labels in the place of released ones.

    Labels that are as narrow as the requirement allows tell why they are not narrower. With local recoding a
    label is the nearest common ancestor of its class, so at least two of the nodes under it occur; a tight label names
    values that do. With one level for all, some class would have had a part of fewer than k records one level further
    down. The attacker knows that, the hierarchies and how common each value is, and of each class and column says how
    many records lie under each narrower node. The attacker guesses only where surer than `sure`. Which record of the
    class is which stays open; where all columns are quasi-identifiers, nothing else was there to hide.

    The figure counts the records of classes in which some column was undone rightly. Beside it stands what someone
    finds who knows all but how the labels were chosen.

    Parameters
    ----------
    recoding
        How labels were chosen. By default `full-domain` where every column keeps to one level, else `local`.
    sure
        Probability of a guess from which it is made.
    columns
        By default the categorical quasi-identifiers.

    Notes
    -----
    Columns of a class are taken to be independent. Classes of more than 100 records are not guessed at.
    """

    scales = "memory"
    question = "inference"
    roles = ("quasi-identifier",)
    continuous = False
    needs = ("columns", "pairing", "records")

    recoding: Recoding | None = None
    sure: Annotated[float, Gt(0.5), Le(1), Setting()] = 0.95
    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = [name for name in self.compared(pair) if pair.before[name].hierarchy is not None]
        if not names:
            raise NoFigure("There is no categorical column with a hierarchy.")
        classes = pair.released.classes(pair.released.quasi_identifiers)
        recoding, levels = self._read_off(pair, names)
        k = int(classes.sizes.min())
        undone, plain = np.zeros(len(classes.sizes), dtype=bool), np.zeros(len(classes.sizes), dtype=bool)
        guesses = right = 0
        for name in names:
            column = _column(pair, name, classes, levels.get(name))
            sure, true = self._attacked(column, classes, _guessers(column, classes, k, recoding))
            guesses, right, undone = guesses + int(sure.sum()), right + int(true.sum()), undone | true
            plain |= self._attacked(column, classes, _at_random)[1]
        downcoded = undone[classes.ids]
        share, control = float(downcoded.mean()), float(plain[classes.ids].mean())
        return self.finding(
            share,
            f"Someone who knows how the labels were chosen rightly puts narrower ones for {100 * share:.1f} % of the "
            f"records; someone who does not, for {100 * control:.1f} %.",
            facts={
                **of_original({"guesses": guesses, "right guesses": right, "without knowing the choice": control}),
                "recoding": OfRelease(recoding),
                "sure from": OfPlan(self.sure),
            },
            record_risk=downcoded.astype(np.float64),
        )

    def _read_off(self, pair: TablePair, names: list[str]) -> tuple[Recoding, dict[str, int | None]]:
        """The way labels were chosen and, if it was one level for all, the level of each column."""
        levels: dict[str, int | None] = {}
        for name in names:
            tree, released = pair.before[name].hierarchy, pair.released[name]
            used = [str(released.categories[code]) for code in np.unique(released.values) if code >= 0]
            levels[name] = None if tree is None else one_level(used, tree)
        whole = all(level is not None for level in levels.values())
        recoding: Recoding = self.recoding or ("full-domain" if whole else "local")
        return recoding, levels if recoding == "full-domain" else {}

    def _attacked(self, column: CoarserColumn, classes: Classes, guesser: Guesser) -> tuple[Bools, Bools]:
        """Shape (C,) each; classes of which the attacker is sure, and of these the ones named rightly."""
        sure, right = np.zeros(len(classes.sizes), dtype=bool), np.zeros(len(classes.sizes), dtype=bool)
        made: dict[tuple[int, int], LikeliestComposition | None] = {}
        order = np.split(np.argsort(classes.ids, kind="stable"), np.cumsum(classes.sizes)[:-1])
        for c, (label, size) in enumerate(zip(column.label.tolist(), classes.sizes.tolist())):
            parts = column.parts[label]
            if parts is None or size > MOST_SIZE:
                continue
            if (label, size) not in made:
                made[label, size] = guesser(parts, column.shares[label], size)
            guess = made[label, size]
            if guess is None or guess.chance < self.sure:
                continue
            sure[c] = True
            truth = [parts.of_leaf.get(leaf, -1) for leaf in column.truth[order[c]].tolist()]
            right[c] = min(truth) >= 0 and np.array_equal(np.bincount(truth, minlength=len(parts)), guess.counts)
        return sure, right


def _column(pair: TablePair, name: str, classes: Classes, level: int | None) -> CoarserColumn:
    before, after = pair.before[name], pair.released[name]
    if (tree := before.hierarchy) is None:
        raise NoFigure(f"Column '{name}' has no hierarchy.")
    row_of = {path[0]: row for row, path in enumerate(tree.paths)}
    rows = np.array([*(row_of.get(str(category), -1) for category in before.categories), -1])
    of_leaves = np.bincount(rows[before.values] + 1, minlength=len(tree.paths) + 1)[1:].astype(np.float64)
    parts = [parts_of(str(category), tree, level) for category in after.categories]
    shares = []
    for part_of in parts:
        counts = np.zeros(0 if part_of is None else len(part_of))
        for leaf, part in {} if part_of is None else part_of.of_leaf.items():
            counts[part] += of_leaves[leaf]
        shares.append(counts / max(counts.sum(), 1.0))
    label = np.empty(len(classes.sizes), dtype=np.int64)
    label[classes.ids] = after.values
    return CoarserColumn(
        parts=[*parts, None], shares=[*shares, np.zeros(0)], label=label, truth=rows[before.values[pair.pairing]]
    )


def _at_random(parts: LabelParts, shares: Floats, size: int) -> LikeliestComposition | None:
    return guess_at_random(shares, size)


def _of_local(parts: LabelParts, shares: Floats, size: int) -> LikeliestComposition | None:
    return guess_of_named(shares, size, parts.named) if parts.named.any() else guess_of_several(shares, size)


def _of_one_level(
    few: dict[tuple[bytes, int], float], none: float, k: int, parts: LabelParts, shares: Floats, size: int
) -> LikeliestComposition | None:
    chance = few[shares.tobytes(), size]
    others = 1.0 - none / (1.0 - chance) if chance < 1 else 1.0
    return guess_of_few(shares, size, k, chance, others)


def _guessers(column: CoarserColumn, classes: Classes, k: int, recoding: Recoding) -> Guesser:
    """The attacker's guess of a class; with one level for all it depends on all other classes."""
    if recoding == "local":
        return _of_local
    few: dict[tuple[bytes, int], float] = {}
    none = 1.0
    for label, size in zip(column.label.tolist(), classes.sizes.tolist()):
        key = column.shares[label].tobytes(), size
        if column.parts[label] is not None and key not in few:
            few[key] = chance_of_few(column.shares[label], size, k)
        none *= 1.0 - few.get(key, 0.0)
    return partial(_of_one_level, few, none, k)
