"""Columns drawn one after the other, each from donors that a tree finds by the columns before."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Floats, Longs, ints
from shoal.kernels.trees.grow import Features
from shoal.replace._trees.columns import Part
from shoal.replace._trees.donors import Donors, Growing
from shoal.replace._trees.smoothing import between
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
class Model:
    """Source of the new values of a part."""

    part: Part
    values: Floats  # Shape (n,); those of the original records that have one
    donors: Donors  # The trees; none where nothing predicts, or no record has a value
    smooth: bool

    @classmethod
    def of(cls, part: Part, at: Longs, features: Features | None, rules: Rules, rng: Generator) -> "Model":
        own = part.values[at]
        present = np.flatnonzero(~np.isnan(own))
        if features is not None and len(present) < len(own):
            features = features.take(present) if len(present) else None
        values = own[present]
        y = ints(values) if part.levels else values
        donors = Donors.of(y, part.levels, features, rules.growing, rng)
        return cls(part=part, values=values, donors=donors, smooth=rules.smooth and part.continuous)

    def draw(self, x: Floats, rng: Generator) -> Floats:
        """Shape (m,); values for new records whose earlier parts are (d, m)."""
        if not x.shape[1]:
            return np.empty(0)
        drawn = self.values[self.donors.draw(x, rng)]
        return between(self.values, drawn, rng) if self.smooth else drawn


def synthesised(
    parts: list[Part], given: list[Part], at: Longs, rules: Rules, rng: Generator
) -> tuple[list[Floats], int]:
    """New values of the records `at` for each part in turn, and how many draws had to break a rule.

    `parts`, `given`: what is drawn, in this order, and what is kept and predicts.
    """
    before, broken = list(given), 0
    new = [part.values[at] for part in given]
    for part in parts:
        features = Features.of([p.values[at] for p in before], [p.levels for p in before]) if before else None
        model = Model.of(part, at, features, rules, rng)
        x = np.vstack(new) if new else np.empty((0, len(at)))
        rows = np.flatnonzero(new[-1] == 0) if part.after_kind else np.arange(len(at))
        drawn = np.full(len(at), np.nan)
        drawn[rows] = model.draw(x[:, rows], rng)
        if rules.exclude:
            here = Part(values=part.values[at], levels=part.levels)
            earlier = [Part(values=p.values[at], levels=p.levels) for p in before]
            broken += _mend(drawn, rows, x, model, Exclusions.of(here, earlier), rng)
        before.append(part)
        new.append(drawn)
    return new[len(given) :], broken


def _mend(drawn: Floats, rows: Longs, x: Floats, model: Model, exclusions: Exclusions, rng: Generator) -> int:
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
    drawn: Floats, rows: Longs, x: list[Floats], model: Model, exclusions: Exclusions, rng: Generator
) -> int:
    """Categories by their frequency among all that break no rule."""
    counts = np.bincount(model.values.astype(np.int64), minlength=model.part.levels)
    reach = np.cumsum(counts * exclusions.allowed(x, rows), axis=1)
    can = reach[:, -1] > 0
    pick = rng.random(int(can.sum())) * reach[can, -1]
    drawn[rows[can]] = (pick[:, None] >= reach[can]).sum(axis=1)
    return int((~can).sum())


def _number_of_the_whole(
    drawn: Floats, rows: Longs, x: list[Floats], model: Model, exclusions: Exclusions, rng: Generator
) -> int:
    """Numbers of the column, at random among all that break no rule."""
    low, high = exclusions.bounds(x, rows)
    ordered = np.sort(model.values)
    first, end = np.searchsorted(ordered, low, "left"), np.searchsorted(ordered, high, "right")
    can = end > first
    place = first[can] + (rng.random(int(can.sum())) * (end - first)[can]).astype(np.int64)
    drawn[rows[can]] = ordered[place]
    return int((~can).sum())
