"""Columns drawn one after the other, each from donors that a tree finds by the columns before."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Floats, Longs, ints
from shoal.kernels.trees.grow import Features
from shoal.replace._trees.columns import ColumnPart
from shoal.replace._trees.donors import Donors, Growing
from shoal.replace._trees.smoothing import Smoother
from shoal.replace.structural_zeros import Exclusions

AGAIN = 20
"""Times that a draw which breaks a rule is drawn again from its leaf, before one from the whole column is taken."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules for drawing values from trees."""

    growing: Growing
    smooth: bool  # Whether numbers are moved between the values of the original, where few records share one
    exclude: bool  # Whether what never occurs together in the original is kept from it


@dataclass(frozen=True, kw_only=True, eq=False)
class PartModel:
    """Source of the new values of a part."""

    part: ColumnPart
    values: Floats  # Shape (n,); those of the original records that have one
    donors: Donors  # The trees; none where nothing predicts, or no record has a value
    smoother: Smoother | None  # What moves numbers; None where values are released as they are
    exclusions: Exclusions | None  # What may not stand beside earlier parts; None where that is not looked at

    @classmethod
    def of(
        cls,
        part: ColumnPart,
        before: list[ColumnPart],
        features: Features | None,
        at: Longs,
        rules: Rules,
        rng: Generator,
        units: Longs | None = None,
    ) -> "PartModel":
        """The model of a part given those before it, fitted to the records `at`.

        `features`: `features_of` those before it; `units`: shape (n,) of all records, whose each is; a leaf then holds
        as many units as it must hold records.
        """
        own = part.values[at]
        present = np.flatnonzero(~np.isnan(own))
        if features is not None and len(present) < len(own):
            features = features.take(present) if len(present) else None
        values = own[present]
        y = ints(values) if part.levels else values
        whose = None if units is None else units[at[present]]
        donors = Donors.of(y, part.levels, features, rules.growing, rng, whose)
        smooth = rules.smooth and part.continuous and len(values)
        exclusions = None
        if rules.exclude:
            here = ColumnPart(values=own, levels=part.levels)
            exclusions = Exclusions.of(here, [ColumnPart(values=p.values[at], levels=p.levels) for p in before])
        return cls(
            part=part,
            values=values,
            donors=donors,
            smoother=Smoother.of(values, whose) if smooth else None,
            exclusions=exclusions,
        )

    def draw(self, x: Floats, rng: Generator) -> Floats:
        """Shape (m,); values for new records whose earlier parts are (d, m)."""
        if not x.shape[1]:
            return np.empty(0)
        drawn = self.values[self.donors.draw(x, rng)]
        return drawn if self.smoother is None else self.smoother.between(drawn, rng)

    def drawn(self, x: Floats, rng: Generator) -> tuple[Floats, int]:
        """Shape (m,); values for new records by the rules, NaN where there is none; and how many break a rule."""
        rows = np.flatnonzero(x[-1] == 0) if self.part.after_kind else np.arange(x.shape[1])
        drawn = np.full(x.shape[1], np.nan)
        drawn[rows] = self.draw(x[:, rows], rng)
        return drawn, 0 if self.exclusions is None else _mend(drawn, rows, x, self, self.exclusions, rng)


def features_of(parts: list[ColumnPart], at: Longs) -> Features | None:
    """What trees are grown on: some parts of the records `at`; None without any."""
    return Features.of([part.values[at] for part in parts], [part.levels for part in parts]) if parts else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """The models of a group of records, one for each part that is drawn."""

    at: Longs  # Shape (n,); the records
    given: tuple[ColumnPart, ...]  # What is kept and predicts
    models: tuple[PartModel, ...]

    def draw_into(self, values: list[Floats], rows: Longs, first: int, rng: Generator) -> int:
        """New values for some of the records, in place, of each part from `first` on; how many of them break a rule."""
        new, broken = [*(part.values[rows] for part in self.given), *(part[rows] for part in values[:first])], 0
        for model, whole in zip(self.models[first:], values[first:]):
            drawn, count = model.drawn(np.vstack(new) if new else np.empty((0, len(rows))), rng)
            whole[rows] = drawn
            new.append(drawn)
            broken += count
        return broken


def synthesised(
    parts: list[ColumnPart],
    given: list[ColumnPart],
    at: Longs,
    rules: Rules,
    rng: Generator,
    units: Longs | None = None,
    *,
    again: bool = False,
) -> tuple[list[Floats], int, Chain | None]:
    """New values of the records `at` for each part in turn, how many draws had to break a rule, and the models.

    `parts`, `given`: what is drawn, in this order, and what is kept and predicts; `units`: as for `PartModel.of`;
    `again`: whether the models are kept to draw again, which takes memory.
    """
    before, models, broken, features = list(given), [], 0, features_of(given, at)
    new = [part.values[at] for part in given]
    for part in parts:
        x = np.vstack(new) if new else np.empty((0, len(at)))
        model = PartModel.of(part, before, features, at, rules, rng, units)
        drawn, count = model.drawn(x, rng)
        if again:
            models.append(model)
        broken += count
        before.append(part)
        features = features_of([part], at) if features is None else features.beside(part.values[at], part.levels)
        new.append(drawn)
    chain = Chain(at=at, given=tuple(given), models=tuple(models)) if again else None
    return new[len(given) :], broken, chain


def _mend(drawn: Floats, rows: Longs, x: Floats, model: PartModel, exclusions: Exclusions, rng: Generator) -> int:
    """Draw again what breaks a rule, in place; the number of values that break one all the same."""
    if not exclusions:
        return 0
    for _ in range(AGAIN):
        rows = rows[exclusions.broken([part[rows] for part in x], drawn[rows])]
        if not len(rows):
            return 0
        drawn[rows] = model.draw(x[:, rows], rng)
    rows = rows[exclusions.broken([part[rows] for part in x], drawn[rows])]
    if model.part.levels:
        return _category_of_the_whole(drawn, rows, list(x), model, exclusions, rng)
    return _number_of_the_whole(drawn, rows, list(x), model, exclusions, rng)


def _category_of_the_whole(
    drawn: Floats, rows: Longs, x: list[Floats], model: PartModel, exclusions: Exclusions, rng: Generator
) -> int:
    """Categories by their frequency among all that break no rule."""
    counts = np.bincount(model.values.astype(np.int64), minlength=model.part.levels)
    reach = np.cumsum(counts * exclusions.allowed(x, rows), axis=1)
    can = reach[:, -1] > 0
    pick = rng.random(int(can.sum())) * reach[can, -1]
    drawn[rows[can]] = (pick[:, None] >= reach[can]).sum(axis=1)
    return int((~can).sum())


def _number_of_the_whole(
    drawn: Floats, rows: Longs, x: list[Floats], model: PartModel, exclusions: Exclusions, rng: Generator
) -> int:
    """Numbers of the column, at random among all that break no rule."""
    low, high = exclusions.bounds(x, rows)
    ordered = np.sort(model.values)
    first, end = np.searchsorted(ordered, low, "left"), np.searchsorted(ordered, high, "right")
    can = end > first
    place = first[can] + (rng.random(int(can.sum())) * (end - first)[can]).astype(np.int64)
    drawn[rows[can]] = ordered[place]
    return int((~can).sum())
