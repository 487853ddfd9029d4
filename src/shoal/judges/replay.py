"""An attack on cells redistributed in groups, by an intruder who can form the groups of any table again.

The intruder knows the method with its parameters, the release, and all original records but those of one *block*, say a
group. Of the block he knows the cells that were redistributed and the cells that stayed, but not which belonged
together. So he goes through the orders in which they may have: in each, the dealt cells of the block's members have
changed places among them. He forms the groups of the table that this gives. It can be the original only if every group
holds the dealt cells that the release shows in it, and then it has led to this release with the chance 1/(s1! s2! ...)
for groups of s1, s2, ... records, times the orders of equal cells. Before the release all orders are equally likely. So
each order is as likely as it has led to the release, and the link that most of this weight lies on is his best guess.

Where the groups do not depend on which cells belonged together, all orders remain, and the best guess is right once in
the size of the block (`shoal.judges.exchange`).

Of a block with too many orders some are tried: the true one and random ones, each with all its shifts, so that every
link is tried equally often. An intruder to whom these are shown knows more than one who must try all, so that the
figure errs on the high side.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import factorial, prod

import numpy as np
from numpy.random import Generator

from shoal.judges.joint_codes import joint_codes
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import classes
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """A release whose groups can be formed again, and the cells that were redistributed in them."""

    original: Records
    moved: tuple[str, ...]  # Columns whose cells may have been any other member's of a block
    groups: Partition  # As formed of the original
    form: Callable[[Records], Partition]
    codes: Mapping[str, tuple[Longs, ...]]  # By dealt column, shape (n,) each: joint codes before and after
    together: bool  # True if the cells of a record stayed together

    @classmethod
    def of(
        cls,
        original: Records,
        released: Records,
        dealt: Sequence[str],
        known: Collection[str],
        form: Callable[[Records], Partition],
    ) -> "Replay | None":
        """The replay of a release, records in the original's order.

        None if the groups that are formed of the original do not hold the same cells in the release: these were not
        redistributed in these groups.

        Parameters
        ----------
        dealt
            Columns that were redistributed.
        known
            Columns that the intruder knows of the members of a block: if some were redistributed, these are linked with
            all other cells; if none was, they are linked with the cells redistributed.
        """
        moved = tuple(name for name in dealt if name in known) or tuple(dealt)
        groups = form(original)
        codes = {name: joint_codes(original[name], released[name]) for name in dealt}
        for together in (True, False):
            replay = cls(original=original, moved=moved, groups=groups, form=form, codes=codes, together=together)
            if replay._true_chance:
                return replay
        return None

    def guesses(self, blocks: Partition, orders: int, replays: int, rng: Generator) -> Floats:
        """Shape (n,); the probability with which the best guess links each member of a block, NaN if not attacked.

        Parameters
        ----------
        blocks
            Records whose cells may have changed places with one another.
        orders
            Most orders that are tried of a block.
        replays
            Most times that groups are formed; blocks are attacked in random order.
        """
        out = np.full(len(blocks), np.nan)
        members = list(blocks.members())
        for number in rng.permutation(len(members)):
            rows = members[number]
            tried = _orders(len(rows), orders, rng)
            if replays < len(tried):
                break
            replays -= len(tried)
            out[rows] = self._links(rows, tried).max(axis=1)
        return out

    def _links(self, rows: Longs, orders: Longs) -> Floats:
        """Shape (s, s); the probability that the dealt cells of each record of a block are those of each other one."""
        chances = [self._of_order(rows, order) for order in orders]
        total, size = sum(chances), len(rows)
        links = np.zeros((size, size))
        for order, chance in zip(orders, chances):
            links[np.arange(size), order] += float(chance / total)
        return links

    def _of_order(self, rows: Longs, order: Longs) -> Fraction:
        """Likelihood of the release, relative to the true order, if the members of a block had these cells."""
        source = np.arange(len(self.original))
        source[rows] = rows[order]
        if (source[rows] == rows).all():
            return Fraction(1)
        changed = (self.original[name].with_values(self.original[name].values[source]) for name in self.moved)
        try:
            groups = self.form(self.original.with_variables(*changed))
        except Refused:  # so that nothing would have been released
            return Fraction(0)
        return self._chance(groups, source) / self._true_chance

    @cached_property
    def _true_chance(self) -> Fraction:
        return self._chance(self.groups, np.arange(len(self.original)))

    def _chance(self, groups: Partition, source: Longs) -> Fraction:
        """Likelihood of the release if these were the groups, and each record had the moved cells of its source."""
        chance, n = Fraction(1), len(source)
        labels, names = np.tile(groups.labels.astype(np.int64), 2), list(self.codes)
        ways = prod(map(factorial, groups.sizes.tolist()))
        for columns in [names] if self.together else [[name] for name in names]:
            cells = [self._cells(name, source) for name in columns]
            ids = classes([labels, *cells], 2 * n)[0]
            if not np.array_equal(np.sort(ids[:n]), np.sort(ids[n:])):
                return Fraction(0)
            chance *= Fraction(prod(map(factorial, np.bincount(ids[:n]).tolist())), ways)
        return chance

    def _cells(self, name: str, source: Longs) -> Longs:
        """Shape (2n,); cells of a dealt column, moved ones taken from their source, followed by the released ones."""
        before, after = self.codes[name]
        return np.concatenate([before[source] if name in self.moved else before, after])


def _orders(size: int, most: int, rng: Generator) -> Longs:
    """Shape (m, s); all orders of a block; or the true one and `most` / s - 1 random ones, each with all its shifts."""
    if factorial(min(size, 12)) <= most:
        return np.array(list(permutations(range(size))), dtype=np.int64)
    shifts = (np.arange(size) + np.arange(size)[:, None]) % size
    names = rng.permutation(size)
    own = names[shifts[:, np.argsort(names)]]
    others = [rng.permutation(size)[shifts] for _ in range(max(most // size - 1, 0))]
    return np.concatenate([own, *others]).astype(np.int64)
