"""The observed support: values that a synthetic column may take, and how far a table leaves it.

Synthesis from a normal model leaves the range of the data, makes fractions of counts, and turns the many exact
zeros of an income column into small numbers. The remedies here are applied to stacks of groups (B, s, L):

- `range`: values beyond the smallest or largest observed one are reflected at it (and cut off if that is not
  enough), so that an extreme is hardly ever released as it is, as cutting off alone would do;
- `coarse-range`: the same with ends a little farther out (by a fifth of the way from the fifth value to the extreme,
  but not across 0), so that the largest value that can come is no one's, and the tails keep nearly all they have;
- `group-range`: the same with the smallest and largest values of the record's group. A group's normal draw then
  does not reach into other groups; the group's range becomes a thing that the release tells about;
- `non-negative`: columns without a negative value are reflected at 0;
- `zeros`: every group has as many exact zeros in a column as the original group, at its smallest values; what else
  comes out as 0 is moved off it, and rounding makes no zero;
- `integers`: columns of whole numbers are rounded;
- `decimals`: every column is written as finely as its observed values of that size are.

Unless the rule is `group-range`, the bounds are those of the whole table.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.replace.decimals import Decimals
from shoal.table.ranges import coarse_range
from shoal.vocabulary.facts import ByLabel

Rule = Literal["range", "coarse-range", "group-range", "non-negative", "zeros", "integers", "decimals"]


RANGES = {"range", "coarse-range", "group-range"}


@dataclass(frozen=True, kw_only=True, eq=False)
class SupportLimits:
    """Limits that the support sets a stack of groups."""

    # low, high: shape (L,) or (B, 1, L); bounds
    low: Floats
    high: Floats
    zeros: Longs  # Shape (B, L); number of exact zeros of each group's columns

    def take(self, which: Longs) -> "SupportLimits":
        """The limits of some of the groups."""
        low, high = (bound[which] if bound.ndim == 3 else bound for bound in (self.low, self.high))
        return SupportLimits(low=low, high=high, zeros=self.zeros[which])


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """The observed support of columns, and which of its rules bind."""

    # low, high: shape (L,); smallest and largest observed values
    low: Floats
    high: Floats
    coarse: tuple[Floats, Floats]  # Shape (L,) each; the same moved outwards
    zeros: Floats  # Shape (L,); shares of exact zeros
    least: Floats  # Shape (L,); smallest observed magnitude but 0 (1 where there is none)
    # whole, signless: shape (L,); columns of whole numbers, and columns without a negative value
    whole: Bools
    signless: Bools
    decimals: tuple[Decimals, ...]  # One a column if the rule is asked for, else none
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, x: Floats, rules: tuple[Rule, ...]) -> "Support":
        """The support of a table (n, L) with at least one known value in each column."""
        columns = [column[~np.isnan(column)] for column in x.T]
        decimals = tuple(Decimals.of(column) for column in columns) if "decimals" in rules else ()
        ends = [coarse_range(np.sort(column)[:, None]) for column in columns]
        least = np.array([np.where(column == 0, np.inf, np.abs(column)).min() for column in columns])
        return cls(
            low=np.array([column.min() for column in columns]),
            high=np.array([column.max() for column in columns]),
            coarse=(np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])),
            zeros=np.array([float((column == 0).mean()) for column in columns]),
            least=np.where(np.isfinite(least), least, 1.0),
            whole=np.array([bool((column == np.rint(column)).all()) for column in columns]),
            signless=np.array([bool((column >= 0).all()) for column in columns]),
            decimals=decimals,
            rules=rules,
        )

    def take(self, columns: Longs) -> "Support":
        """The support of some of the columns."""
        shared = ("low", "high", "zeros", "least", "whole", "signless")
        low, high = self.coarse
        return replace(
            self,
            coarse=(low[columns], high[columns]),
            decimals=tuple(self.decimals[j] for j in columns) if self.decimals else (),
            **{name: getattr(self, name)[columns] for name in shared},
        )

    def limits(self, x: Floats) -> SupportLimits:
        """The limits of a stack of original groups (B, s, L)."""
        low, high = self.low, self.high
        if "group-range" in self.rules:
            low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
        elif "coarse-range" in self.rules:
            low, high = self.coarse
        return SupportLimits(low=low, high=high, zeros=np.asarray((x == 0).sum(axis=1)))

    def project(self, x: Floats, limits: SupportLimits, *, last: bool) -> Floats:
        """Columns (B, s, L) moved into the support; rounded as observed only the last time."""
        ranged = bool(RANGES & set(self.rules))
        counted = "zeros" in self.rules
        if ranged:
            x = np.where(x < limits.low, 2 * limits.low - x, x)
            x = np.clip(np.where(x > limits.high, 2 * limits.high - x, x), limits.low, limits.high)
        elif "non-negative" in self.rules:
            x = np.where(self.signless, np.abs(x), x)
        if last and counted:
            x = np.where(x == 0, np.where(limits.high > 0, self.least, -self.least) / 2, x)
        if last and "integers" in self.rules:
            rounded = np.rint(x)
            x = np.where(self.whole, np.where(counted & (rounded == 0), np.sign(x), rounded), x)
        if last and self.decimals:
            x = self._written(x, limits if ranged else None)
        if counted:
            place = np.argsort(np.argsort(np.abs(x), axis=1, kind="stable"), axis=1, kind="stable")
            x = np.where(place < limits.zeros[:, None, :], 0.0, x)
        return x

    def _written(self, x: Floats, limits: SupportLimits | None) -> Floats:
        bounds = (limits.low, limits.high) if limits else (np.array(-np.inf), np.array(np.inf))
        low, high = (np.broadcast_to(bound, (len(x), 1, x.shape[2])) for bound in bounds)
        written = [
            decimals.write(x[:, :, j], low[:, :, j], high[:, :, j], keep_sign="zeros" in self.rules)
            for j, decimals in enumerate(self.decimals)
        ]
        return np.stack(written, axis=2)

    def violations(self, x: Floats) -> ByLabel:
        """Share of the known values (n, L) that lie outside each part of the support, and the zeros it lacks."""
        present = ~np.isnan(x)
        fractions = present & (x != np.rint(x))
        zeros = (x == 0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        return {
            "outside the observed range": _share((x < self.low) | (x > self.high), present),
            "negative in a column without negative values": _share(
                (x < 0)[:, self.signless], present[:, self.signless]
            ),
            "fractions in a column of whole numbers": _share(fractions[:, self.whole], present[:, self.whole]),
            "largest change of a column's share of exact zeros": float(np.abs(zeros - self.zeros).max()),
        }


def _share(some: Bools, present: Bools) -> float:
    return float(some.sum() / max(int(present.sum()), 1))
