"""What values a synthetic column may take: the observed support, and how far a table leaves it.

Synthesis from a normal model leaves the range of the data, makes fractions of counts, and turns the many exact
zeros of an income column into small numbers. The remedies here are applied to stacks of groups (B, s, L):

- `range`: values beyond the smallest or largest observed one are reflected at it (and cut off if that is not
  enough), so that an extreme is hardly ever released as it is, as cutting off alone would do;
- `non-negative`: columns without a negative value are reflected at 0;
- `zeros`: every group has as many exact zeros in a column as the original group, at its smallest values;
- `integers`: columns of whole numbers are rounded.

The bounds are those of the whole table, not of the group.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs

Rule = Literal["range", "non-negative", "zeros", "integers"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """The observed support of columns, and which of its rules bind.

    Parameters
    ----------
    low, high
        Shape (L,); smallest and largest observed values.
    whole, signless
        Shape (L,); columns of whole numbers, and columns without a negative value.
    rules
        The rules asked for.
    """

    low: Floats
    high: Floats
    whole: Bools
    signless: Bools
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, x: Floats, rules: tuple[Rule, ...]) -> "Support":
        """The support of a table (n, L) with at least one record."""
        return cls(low=x.min(axis=0), high=x.max(axis=0), whole=np.asarray((x == np.rint(x)).all(axis=0)),
                   signless=np.asarray((x >= 0).all(axis=0)), rules=rules)

    def zeros(self, x: Floats) -> Longs:
        """Shape (B, L); number of exact zeros of each group's columns."""
        return np.asarray((x == 0).sum(axis=1))

    def project(self, x: Floats, zeros: Longs, *, last: bool) -> Floats:
        """Columns (B, s, L) moved into the support; whole numbers only the last time, as rounding is no projection."""
        if "range" in self.rules:
            x = np.where(x < self.low, 2 * self.low - x, x)
            x = np.clip(np.where(x > self.high, 2 * self.high - x, x), self.low, self.high)
        elif "non-negative" in self.rules:
            x = np.where(self.signless, np.abs(x), x)
        if last and "integers" in self.rules:
            x = np.where(self.whole, np.rint(x), x)
        if "zeros" in self.rules:
            x = self._with_zeros(x, zeros, last=last)
        return x

    def _with_zeros(self, x: Floats, zeros: Longs, *, last: bool) -> Floats:
        place = np.argsort(np.argsort(np.abs(x), axis=1, kind="stable"), axis=1, kind="stable")
        zero = place < zeros[:, None, :]
        if last and "integers" in self.rules:  # rounding must not add zeros either
            one = np.where((self.high >= 1), 1.0, -1.0)
            x = np.where(self.whole & (x == 0) & ~zero & (self.low <= one) & (one <= self.high), one, x)
        return np.where(zero, 0.0, x)

    def violations(self, x: Floats) -> dict[str, Any]:
        """Share of the values of a table (n, L) that lie outside each part of the support."""
        below = x < 0
        return {
            "outside the observed range": float(((x < self.low) | (x > self.high)).mean()),
            "negative in a column without negative values":
                float(below[:, self.signless].mean()) if self.signless.any() else 0.0,
            "fractions in a column of whole numbers":
                float((x != np.rint(x))[:, self.whole].mean()) if self.whole.any() else 0.0,
        }
