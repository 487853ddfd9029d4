"""The draw of a synthesiser: group by group, on the scale of the model, moved into the support.

Records that lack cells are drawn with those of their group that lack the same ones; see `_residuals.gaps` for those
that too few share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.replace._residuals.expectation import MultivariateNormal, known_moments, likeliest
from shoal.replace._residuals.gaps import GapDivision, Union
from shoal.replace._residuals.rotation import Split, restored, split, stacks
from shoal.replace.marginals import Margin, Marginals
from shoal.replace.support import Support, SupportLimits
from shoal.table.partition import shuffled
from shoal.table.prelude import Bools, Floats, Generator, Longs, Partition, Progress

Draw = Callable[[Split, Longs, Generator], Floats]
"""New residuals of a stack of groups, in the units of the split, for the groups' rows (B, s)."""

ROUNDS = 2000
"""Most alternations between the support and the moments."""

PATIENCE = 100
"""After so many rounds a group must be a tenth nearer to both than before, or it is left as it is."""

SETTLED = 1e-12
"""Relative error of the moments below which the alternation ends."""

NOISE = (1.0, 0.5, 0.25, 0.0)
"""Shares of their noise with which joined records are drawn, until what they leave to their base is a covariance.

Without noise they are what the group's likeliest distribution lets expect of their Y, which always leaves one: all
records, filled in, have this regression on Y, and the base gets their residuals.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """New values to be drawn for some columns, given others."""

    # x, y: shape (n, L), NaN where cells are missing, and (n, M); the columns to replace and the kept ones
    x: Floats
    y: Floats
    # marginals, margins: the scale of each column's draw
    marginals: Marginals
    margins: Sequence[Margin]
    support: Support
    draw: Draw  # How a group is drawn
    exact: bool  # Whether the moments are the groups' or only their expectations are

    @property
    def settles(self) -> bool:
        """True if the draw must be moved to the support, or to the moments on the columns' own scale."""
        return bool(self.support.rules) or self.marginals != "raw"

    def values(
        self,
        gaps: GapDivision,
        expected: Mapping[int, MultivariateNormal],
        rng: Generator,
        progress: Progress,
        *,
        shuffle: bool,
    ) -> tuple[Floats, Floats]:
        """Shape (n, L) each; the new values, and what was drawn before these were moved into the support.

        `expected`: the distributions of groups that lack cells; with `shuffle` missing cells are dealt out anew, too.
        """
        new, drawn, target = self.x.copy(), self.x.copy(), self.x.copy()
        more_zeros = np.zeros((gaps.partition.n_groups, self.x.shape[1]), dtype=np.int64)
        for group, base, rows, columns in gaps.unions():
            more_zeros[group] = self._join(base, rows, columns, expected[group], (new, drawn, target), rng)
        done = 0
        for columns, rows, groups in gaps.blocks():
            for here in stacks(groups, len(columns) + self.y.shape[1]):
                at = np.ix_(rows[here].ravel(), columns)
                zeros = more_zeros[gaps.partition.labels[rows[here[:, 0]]]][:, columns]
                drawn[at], new[at] = self._block(rows[here], columns, target, zeros, rng)
                done += here.size
                if progress is not None:
                    progress(done / len(self.x))
        if shuffle and np.isnan(self.x).any():
            order = shuffled(gaps.partition, rng)
            new, drawn = new[order], drawn[order]
        return new, drawn

    def _block(
        self, rows: Longs, columns: Longs, target: Floats, more_zeros: Longs, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Shape (B s, J) each; what is drawn for a stack of groups, and what it is released as."""
        at, y = (rows[:, :, None], columns), self.y[rows]
        x, goal = self.x[at], target[at]
        margins = [self.margins[j] for j in columns]
        start = goal if self.marginals == "raw" else x
        scaled = np.stack([m.there(start[:, :, j]) for j, m in enumerate(margins)], axis=2)
        parts = split(scaled, y)
        values = parts.join(self.draw(parts, rows, rng))
        values = drawn = np.stack([m.back(values[:, :, j]) for j, m in enumerate(margins)], axis=2)
        if self.settles:
            support = self.support.take(columns)
            limits = support.limits(x)
            limits = replace(limits, zeros=limits.zeros + more_zeros)
            values = settle(values, goal, y, support, limits, restore=self.exact)
        return drawn.reshape(-1, len(columns)), values.reshape(-1, len(columns))

    def _join(
        self,
        base: Longs,
        rows: Longs,
        columns: Longs,
        expected: MultivariateNormal,
        tables: tuple[Floats, Floats, Floats],
        rng: Generator,
    ) -> Longs:
        """Draw the joined rows of a group, and give its base what remains; the zeros (L,) that the base has in
        addition."""
        new, drawn, target = tables
        x, other = self.x[np.ix_(base, columns)], self.x[np.ix_(rows, columns)]
        present = ~np.isnan(other)
        scaled, scaled_other, margins = np.empty_like(x), other.copy(), [self.margins[j] for j in columns]
        for j, m in enumerate(margins):
            scaled[:, j], scaled_other[present[:, j], j] = m.there(x[:, j]), m.there(other[present[:, j], j])
        predicted, noise = Union(x=scaled, y=self.y[base], other=scaled_other, other_y=self.y[rows]).drawn(rng)
        union = Union(x=x, y=self.y[base], other=other, other_y=self.y[rows])
        zeros = _dealt((x == 0), (other == 0), present, rng)
        goal, old = None, self._filled(rows, columns, other, expected)
        for share in NOISE:
            values = np.column_stack([m.back((predicted + share * noise)[:, j]) for j, m in enumerate(margins)])
            if not share:
                values = self._filled(rows, columns, np.full(other.shape, np.nan), expected)
            inside = self._inside(values, x, present, zeros, columns)
            if not self.exact:
                break
            now = self._filled(rows, columns, np.where(present, inside, np.nan), expected)
            goal = union.remaining(expected.mean[columns], old, now, rng, last=share == NOISE[-1])
            if goal is not None:
                target[np.ix_(base, columns)] = goal
                break
        new[np.ix_(rows, columns)] = np.where(present, inside, np.nan)
        drawn[np.ix_(rows, columns)] = np.where(present, values, np.nan)
        more = np.zeros(self.x.shape[1], dtype=np.int64)
        more[columns] = (other == 0).sum(axis=0) - zeros
        return more

    def _filled(self, rows: Longs, columns: Longs, values: Floats, expected: MultivariateNormal) -> Floats:
        """Shape (r, J); values of some columns, filled in."""
        whole = np.full((len(rows), self.x.shape[1]), np.nan)
        whole[:, columns] = values
        return expected.filled(np.hstack([whole, self.y[rows]]))[:, columns]

    def _inside(self, values: Floats, x: Floats, present: Bools, zeros: Longs, columns: Longs) -> Floats:
        """Values (r, J) of joined records inside the support, with so many zeros (J,) among the known ones."""
        if not self.settles:
            return values
        inside = values.copy()
        for j, column in enumerate(columns):
            support, at = self.support.take(np.array([column])), present[:, j]
            limits = replace(support.limits(x[None, :, j : j + 1]), zeros=zeros[None, j : j + 1])
            inside[at, j] = support.project(values[None, at, j : j + 1], limits, last=True)[0, :, 0]
        return inside


def distributions(
    x: Floats, y: Floats, groups: Partition, incomplete: Bools, joined: Bools
) -> dict[int, MultivariateNormal]:
    """The likeliest normal distribution of X (n, L) and Y (n, M) in each group with `incomplete` records.

    Where no record is `joined` to others any distribution has the moments kept, and the columns count as independent.
    """
    if not incomplete.any():
        return {}
    both = np.hstack([x, y])
    elsewhere = known_moments(both, np.zeros(both.shape[1])).mean
    return {
        g: (likeliest if joined[rows].any() else known_moments)(both[rows], elsewhere)
        for g, rows in enumerate(groups.members())
        if incomplete[rows].any()
    }


def _dealt(base: Bools, other: Bools, present: Bools, rng: Generator) -> Longs:
    """Shape (J,); how many zeros of a group fall on its joined records (r, J) if they are dealt out by chance."""
    fallen = []
    for j in range(base.shape[1]):
        flags = rng.permutation(np.concatenate([base[:, j], other[present[:, j], j]]))
        fallen.append(int(flags[len(base) :].sum()))
    return np.array(fallen, dtype=np.int64)


def settle(values: Floats, x: Floats, y: Floats, support: Support, limits: SupportLimits, *, restore: bool) -> Floats:
    """Values (B, s, L) inside the support and, as far as that allows, with the moments of X.

    Alternates between the nearest table with the moments and the nearest one in the support; the support has the
    last word.
    """
    if not restore:
        return support.project(values, limits, last=True)
    parts = split(x, y)
    root = parts.root
    inside = values.copy()
    apart = np.arange(len(x))  # groups that have not settled
    gap, least = np.full(len(x), np.inf), np.full(len(x), np.inf)
    for number in range(1, ROUNDS + 1):
        some = parts.take(apart)
        exact = restored(inside[apart], some, root[apart])
        inside[apart] = support.project(exact, limits.take(apart), last=False)
        gap[apart] = np.abs((inside[apart] - exact) / some.unit).max(axis=(1, 2))
        apart = apart[gap[apart] > SETTLED]
        if number % PATIENCE == 0:
            apart = apart[gap[apart] < 0.9 * least[apart]]
            least = gap.copy()
        if not len(apart):
            break
    return support.project(inside, limits, last=True)
