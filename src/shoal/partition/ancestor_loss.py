"""Groups whose cells become the nearest common ancestors of their group, and lose as little by it as can be.

A cell whose label stands for u of the v leaves of its column's hierarchy loses (u - 1) / (v - 1), times the weight of
the column. Where all columns have hierarchies this, and not the sum of squares, is what the refined partitions lose
least of: they anneal it from the best of their starts and the classes of a walk up the lattice of levels (see
`generalise`). Beside every partition of such columns stands what it loses, and what no groups of its k go below: each
record's loss at the cheapest node of the lattice at which k records share its labels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shoal.kernels.classes import classes, first_rows
from shoal.kernels.generalisation import Ladder, RecodingTable, ancestor_levels, anneal, cheapest_nodes, walk
from shoal.kernels.requirement import RequirementCheck
from shoal.table.prelude import Floats, Generator, Ints, Progress, Records, ints, seed_of
from shoal.vocabulary.facts import Count, Facts, Share

PROPOSALS_PER_RECORD, MOST_PROPOSALS = 1_000, 10_000_000
"""Default budget: half a minute for 30 000 records of eight columns, of which the last half gains under 1 %."""

LARGE = 20
"""Mean size of the groups above which the default budget falls in proportion, since a proposal costs what its groups
hold."""

BOUND_STEPS = 200_000_000
"""Rows that the lower bound looks at, a second's worth."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AncestorLoss:
    """The columns by which groups are formed, all of them with hierarchies."""

    codes: Ints  # Shape (n, q); leaf of each cell
    table: RecodingTable  # Their distinct combinations, with what each label loses

    @classmethod
    def of(cls, records: Records, columns: Sequence[str]) -> Self | None:
        """None where not every cell is a leaf of a hierarchy, so that there is another loss."""
        codes, ladders = [], []
        for variable in (records[name] for name in columns):
            tree, labels = variable.hierarchy, [str(category) for category in variable.categories]
            if tree is None or None in variable.categories or not variable.complete or tree.missing(labels):
                return None
            codes.append(tree.codes(labels)[variable.values])
            rows = ints([tree.level_codes(level)[0] for level in range(tree.height + 1)])
            ladders.append(Ladder(labels=rows, loss=tree.losses() * variable.weight))
        if not codes or not len(records):
            return None
        ids, sizes = classes(codes, len(records))
        cells = ints(np.column_stack(codes))
        leaves = ints(cells[first_rows(ids, len(sizes))])
        return cls(codes=cells, table=RecodingTable(ladders=ladders, leaves=leaves, rows=ints(ids)))

    @property
    def most(self) -> float:
        """Loss of a record whose cells all become the roots."""
        return float(sum(ladder.loss[-1].max() for ladder in self.table.ladders))

    @property
    def _suppressed(self) -> Floats:
        return np.full(len(self.table.leaves), self.most)

    def mean(self, labels: Ints) -> float:
        """Mean loss of a cell when each becomes the nearest common ancestor of its group, in [0, 1]."""
        total = 0.0
        for losses in self._losses(labels):
            total += float(losses.mean())
        return total / self.most if self.most else 0.0

    def _losses(self, labels: Ints) -> Iterator[Floats]:
        """Shape (n,) for each column; losses of its cells as the nearest common ancestors of their groups."""
        for ladder, leaves in zip(self.table.ladders, self.codes.T):
            yield ladder.loss[ancestor_levels(ladder.labels, leaves, labels), leaves]

    def bound(self, k: int, labels: Ints) -> float:
        """Mean loss of a cell that no groups of `k` or more go below; `labels` are such groups."""
        reached = np.sum(list(self._losses(labels)), axis=0)
        least = cheapest_nodes(self.table, k, reached, most_steps=BOUND_STEPS)
        return float(least.mean()) / self.most if self.most else 0.0

    def walked(self, k: int, check: RequirementCheck | None = None) -> list[Ints]:
        """The groups of a walk up the lattice, as the one item of a list; none where some record finds no group."""
        labels = walk(self.table, k, self._checked(check), suppressed=self._suppressed, most=0).labels
        return [labels] if (labels >= 0).all() else []

    def _checked(self, check: RequirementCheck | None) -> RequirementCheck:
        return check or RequirementCheck(np.empty((0, len(self.codes)), dtype=np.int32), [])

    def refined(
        self,
        starts: Sequence[Ints],
        k: int,
        check: RequirementCheck | None,
        rng: Generator,
        moves: int | None,
        progress: Progress,
    ) -> tuple[Ints, Facts]:
        """Groups that lose no more than any of the starts, and facts.

        `starts`: groups of `k` or more without excess; the first of them is what the outcome is compared with; `check`:
        what every group must satisfy beside k; `moves`: budget; the default one if not given.
        """
        check = self._checked(check)
        losses = [self.mean(start) for start in starts]
        labels = starts[int(np.argmin(losses))]
        n, seed = len(labels), seed_of(rng)
        if moves is None:
            moves = int(min(PROPOSALS_PER_RECORD * n, MOST_PROPOSALS) * min(1.0, LARGE * len(np.unique(labels)) / n))
        if moves:
            limits: dict[str, Any] = {"suppressed": self._suppressed, "most": 0, "proposals": moves}
            labels = anneal(self.table, k, check, labels, **limits, seed=seed, progress=progress)
        return labels, {
            "loss of the start": Share(value=losses[0]),
            "refined loss": Share(value=self.mean(labels)),
            "moves": Count(n=moves, unit="moves"),
        }
