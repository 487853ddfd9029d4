"""A law of whole records that comes nearest to noisy marginals, on a junction tree (McKenna, Sheldon & Miklau 2019).

The law is p(x) proportional to the product of a factor for each measured set of columns, exp(theta). Its marginals come
of messages along a junction tree (Lauritzen & Spiegelhalter 1988; Jensen, Lauritzen & Olesen 1990): a pass from the
leaves to the root and one back. theta comes of entropic mirror descent on the squared differences to the measured
counts, each over the variance of its noise. No step looks at the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shoal.kernels.elementary import exp, log
from shoal.mask._marginals.clique_tables import spread, summed, within
from shoal.mask._marginals.junction_tree import Columns, Fixed, JunctionTree, fixed_by, lengths
from shoal.table.prelude import Bools, Floats, Longs
from shoal.vocabulary.errors import ParameterError

DEEPEST = 40.0
"""Theta falls below its largest by this at most: e^-40 = 4e-18 of a record is none."""

SMALLEST_POWER = 600.0
"""exp(-600) is a double of full precision, and so are sums of what is sent on of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMarginal:
    """A marginal with noise."""

    columns: Columns
    counts: Longs | Floats  # Of the shape of the columns' categories
    variance: int


@dataclass(frozen=True, kw_only=True, eq=False)
class JointLaw:
    """Probabilities of the categories of all columns."""

    shape: tuple[int, ...]
    tree: JunctionTree
    tables: tuple[Floats, ...]  # By clique, the probabilities of its combinations

    @classmethod
    def of(cls, shape: tuple[int, ...], tree: JunctionTree, factors: dict[Columns, Floats]) -> "JointLaw":
        """The law proportional to the product of factors, each of columns inside a clique."""
        fixed = tree.fixed
        tables = [np.ones(lengths(shape, clique, fixed)) for clique in tree.cliques]
        for columns, factor in factors.items():
            place = tree.holding(columns, shape)
            tables[place] *= within(factor, columns, tree.cliques[place], fixed)
        sent = _to_the_root(tree, tables)
        for place, table in enumerate(tables):
            if place:
                parent = tree.parents[place]
                now = summed(tables[parent], tree.cliques[parent], tree.separators[place], fixed)
                ratio = np.divide(now, sent[place], out=np.zeros_like(now), where=sent[place] > 0)
                table *= within(ratio, tree.separators[place], tree.cliques[place], fixed)
        return cls(shape=shape, tree=tree, tables=tuple(tables))

    def among(self, possible: Mapping[Columns, Bools | Floats], first: Columns = ()) -> "JointLaw":
        """The law given that combinations of some columns are possible: it is 0 where a table of them is false.

        Numbers in such a table multiply the odds of their combinations. `first`: columns of a table, or of a clique,
        that are to be in the first clique.
        """
        tree = JunctionTree.of(self.shape, [*self.tree.cliques, *possible], first, self.tree.fixed)
        factors = {
            clique: self._given(place, between)
            for place, (clique, between) in enumerate(zip(self.tree.cliques, self.tree.separators))
        }
        for columns, free in possible.items():
            factors[columns] = factors.get(columns, np.ones(free.shape)) * free
        return JointLaw.of(self.shape, tree, factors)

    def marginal(self, columns: Columns) -> Floats:
        """Probabilities of the combinations of some columns inside a clique, of the shape of their categories."""
        place = self.tree.holding(columns, self.shape)
        table = summed(self.tables[place], self.tree.cliques[place], columns, self.tree.fixed)
        return spread(table, columns, self.shape, self.tree.fixed)

    def with_every_cell(self) -> "JointLaw":
        """The same law, with tables that also have the combinations that fixed columns cannot have."""
        whole = (spread(*at, self.shape, self.tree.fixed) for at in zip(self.tables, self.tree.cliques))
        return replace(self, tree=replace(self.tree, fixed={}), tables=tuple(whole))

    def pairs_with(self, column: int) -> Iterator[tuple[int, Floats]]:
        """Every other column, and the probabilities of their combinations: shape (own categories, those of the other).

        The joint law with the column is carried along the tree from a clique that holds it.
        """
        tree, fixed = self.tree, self.tree.fixed
        seen = {column}
        joint: dict[int, Floats] = {}
        waiting = [(tree.holding((column,), self.shape), -1)]
        while waiting:
            place, source = waiting.pop()
            clique = tree.cliques[place]
            if source < 0:
                own = np.eye(self.shape[column])
                joint[place] = self.tables[place][None] * within(own, (-1, column), (-1, *clique), fixed)
            else:
                between = tree.separators[max(place, source)]
                carried = summed(joint[source], (-1, *tree.cliques[source]), (-1, *between), fixed)
                joint[place] = self._given(place, between)[None] * within(carried, (-1, *between), (-1, *clique), fixed)
            for other in clique:
                if other not in seen:
                    seen.add(other)
                    yield other, summed(joint[place], (-1, *clique), (-1, other), fixed)
            waiting += [(near, place) for near in self._near[place] if near != source]

    def _given(self, place: int, columns: Columns) -> Floats:
        """The probabilities of a clique's combinations given some of its columns; 0 where these never occur."""
        clique = self.tree.cliques[place]
        fixed = self.tree.fixed
        base = within(summed(self.tables[place], clique, columns, fixed), columns, clique, fixed)
        return np.divide(self.tables[place], base, out=np.zeros_like(self.tables[place]), where=base > 0)

    @cached_property
    def _near(self) -> list[list[int]]:
        near: list[list[int]] = [[] for _ in self.tree.cliques]
        for place, parent in enumerate(self.tree.parents):
            if parent >= 0:
                near[place].append(parent)
                near[parent].append(place)
        return near


def _to_the_root(tree: JunctionTree, tables: list[Floats]) -> list[Floats]:
    """What every clique sends to its parent, which takes it up; the first table has the sum 1 then."""
    sent = [np.ones(())] * len(tables)
    fixed = tree.fixed
    for place in reversed(range(len(tables))):
        if place:
            message = summed(tables[place], tree.cliques[place], tree.separators[place], fixed)
            sent[place] = message / _positive(float(message.max()))
            tables[place] /= _positive(float(message.max()))
            parent = tree.parents[place]
            tables[parent] *= within(sent[place], tree.separators[place], tree.cliques[parent], fixed)
        else:
            tables[0] /= _positive(float(tables[0].sum()))
    return sent


def _positive(total: float) -> float:
    if total <= 0:
        raise ParameterError(
            "private-marginals: rules and margins leave no combination of categories. Take some of them out."
        )
    return total


def _no_deeper(theta: Floats, depth: float) -> Floats:
    return np.asarray(np.maximum(theta - theta.max(), -depth))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitting:
    """The search for the law nearest to marginals.

    Parameters
    ----------
    possible
        By columns, false for combinations that cannot be.
    total
        Number of records.
    prior
        By columns, theta of a law that the search begins with.
    """

    shape: tuple[int, ...]
    possible: dict[Columns, Bools]
    total: int
    prior: dict[Columns, Floats] = field(default_factory=dict)

    @cached_property
    def fixed(self) -> Fixed:
        """The columns that are fixed by others."""
        return fixed_by(self.possible)

    def fit(
        self, measured: Sequence[NoisyMarginal], start: dict[Columns, Floats], steps: int
    ) -> tuple[JointLaw, dict[Columns, Floats]]:
        """The law, and its theta, after so many steps of mirror descent from `start` (0 where it has none)."""
        theta = {m.columns: start.get(m.columns, np.zeros(m.counts.shape)) for m in measured}
        tree = JunctionTree.of(self.shape, [*theta, *self.possible, *self.prior], fixed=self.fixed)
        depth = self._depth(tree, [*theta, *self.prior])
        law = self._law(tree, theta, depth)
        loss, slopes = self._loss(law, measured)
        size = 1.0 / self.total
        for _ in range(steps):
            new = {columns: _no_deeper(theta[columns] - size * slope, depth) for columns, slope in slopes.items()}
            tried = self._law(tree, new, depth)
            after, further = self._loss(tried, measured)
            if after <= loss:
                law, theta, loss, slopes = tried, new, after, further
                size *= 1.5
            else:
                size /= 3
        return law, theta

    def raked(self, targets: dict[Columns, Floats], sweeps: int) -> dict[Columns, Floats]:
        """Theta of the law with these shares of combinations, all above 0, by iterative proportional fitting."""
        theta = {columns: np.zeros(shares.shape) for columns, shares in targets.items()}
        tree = JunctionTree.of(self.shape, [*theta, *self.possible], fixed=self.fixed)
        depth = self._depth(tree, list(theta))
        for columns in [*theta] * sweeps:
            now = self._law(tree, theta, depth).marginal(columns)
            ratio = np.divide(targets[columns], now, out=np.ones_like(now), where=now > 0)
            theta[columns] = _no_deeper(theta[columns] + log(ratio), depth)
        return theta

    def _depth(self, tree: JunctionTree, sets: Sequence[Columns]) -> float:
        """How far theta may fall below its largest: no product of a clique's factors is too small for a double."""
        places = [tree.holding(columns, self.shape) for columns in sets]
        return min(DEEPEST, SMALLEST_POWER / max(places.count(place) for place in places))

    def _law(self, tree: JunctionTree, theta: dict[Columns, Floats], depth: float) -> JointLaw:
        factors = {columns: exp(table) for columns, table in theta.items()}
        for columns, table in self.prior.items():
            beside = theta.get(columns)
            factors[columns] = exp(_no_deeper(table if beside is None else table + beside, depth))
        for columns, possible in self.possible.items():
            factors[columns] = np.where(possible, factors.get(columns, 1.0), 0.0)
        return JointLaw.of(self.shape, tree, factors)

    def _loss(self, law: JointLaw, measured: Sequence[NoisyMarginal]) -> tuple[float, dict[Columns, Floats]]:
        """Half the squared differences over variances, and its slopes in the counts of each set of columns."""
        loss = 0.0
        slopes: dict[Columns, Floats] = {}
        for m in measured:
            beyond = self.total * law.marginal(m.columns) - m.counts
            loss += float((beyond * beyond).sum()) / (2 * m.variance)
            slopes[m.columns] = beyond / m.variance
        return loss, slopes
