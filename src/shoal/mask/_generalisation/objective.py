"""Objectives of full-domain search: the loss of a cell, how columns are combined, and the price of dropping.

A cell that is released loses w times what its label loses; one that is dropped loses what its label would have lost
and s of the rest of the cell. A generalisation-suppression factor f sets both, as in ARX: w = min(1, 2 - 2 f) and
s = min(1, 2 f). By `ncp` a label of u of the v leaves then loses w (u - 1) / (v - w).

`chained-entropy` charges a dropped cell for its label, and for hiding the label among the dropped records: log(D / d)
where d of these D have it, over log n (non-uniform entropy as ARX reckons it). Half of the mean is reported, 1 at most.

Two objectives look at classes alone. `discernibility` (Bayardo & Agrawal 2005, over the square of the n records): a
record in a class of c loses w c / n, and where it is dropped c / n and s of the rest. `average-class-size` (LeFevre et
al. 2006, over n): 1 over the number of classes, all dropped records being one.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels.elementary import expm1, log
from shoal.kernels.generalisation import Ladder
from shoal.mask._generalisation.task import GeneralisationTask, KeyColumn, Loss, Recoding
from shoal.table.prelude import Floats
from shoal.vocabulary.prelude import Facts, OfOriginal

OfColumns = Literal["mean", "geometric-mean", "rank"]
OfTable = Literal["chained-entropy", "discernibility", "average-class-size"]
AGGREGATES = ("mean", "geometric-mean", "rank", "chained-entropy", "discernibility", "average-class-size")
"""In the kernel's numbers."""

BALANCED = 0.5
"""Generalisation-suppression factor at which a dropped cell loses all and a released one what its label does."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The loss that a search minimises; one of class sizes counts no cells."""

    cells: Loss = "ncp"
    aggregate: OfColumns | OfTable = "mean"
    gs_factor: float = BALANCED

    @property
    def plain(self) -> bool:
        """True for the mean loss of a cell, the only objective by which single records compare."""
        return self.aggregate == "mean" and self.gs_factor == BALANCED

    @property
    def of_classes(self) -> bool:
        return self.aggregate in ("discernibility", "average-class-size")

    @property
    def of_cells(self) -> bool:
        """True if it is known from the mean loss of every column."""
        return self.aggregate in ("mean", "geometric-mean", "rank")

    @property
    def number(self) -> int:
        """The aggregate in the kernel."""
        return AGGREGATES.index(self.aggregate)

    @property
    def weights(self) -> tuple[float, float]:
        """Weights of what a released cell loses, and of what more a dropped one does."""
        return min(1.0, 2 - 2 * self.gs_factor), min(1.0, 2 * self.gs_factor)

    def __str__(self) -> str:
        parts = [
            *([] if self.of_classes or self.aggregate == "chained-entropy" else [self.cells]),
            *([] if self.aggregate == "mean" else [self.aggregate]),
            *([] if self.gs_factor == BALANCED else [f"gs_factor {self.gs_factor:g}"]),
        ]
        return ", ".join(parts)

    def ladders(self, task: GeneralisationTask) -> list[Ladder]:
        """The columns on the levels allowed."""
        own = zip(task.table.ladders, task.columns)
        return [Ladder(labels=ladder.labels, loss=self._cells(task, column)[0]) for ladder, column in own]

    def dropped(self, task: GeneralisationTask) -> list[Floats]:
        """For each column of the search, shape (levels, leaves); what a dropped cell loses."""
        strata = task.table.ladders[len(task.columns) :]
        return [*(self._cells(task, column)[1] for column in task.columns), *(own.loss for own in strata)]

    def _cells(self, task: GeneralisationTask, column: KeyColumn) -> tuple[Floats, Floats]:
        """Shape (levels, leaves), each; what a cell loses, times the weight of its column: released, and dropped."""
        released, more = self.weights
        least, greatest = column.levels
        loss = column.cell_loss(self.cells)[least : greatest + 1]
        lost = loss + more * (1 - loss) if more < 1 else np.ones_like(loss)
        v = len(column.paths)
        scale = released * (v - 1) / (v - released) if self.cells == "ncp" and released < 1 else released
        weight = column.weight
        if self.aggregate == "chained-entropy":
            lost = np.full_like(loss, 1 / log(max(task.records, 2)))
        if self.aggregate == "rank":
            weight /= max(column.weight for column in task.columns)
        return loss * scale * weight, lost * weight

    def facts(self, task: GeneralisationTask, recoding: Recoding) -> Facts:
        """Mean loss of a cell of each column, times its weight, where the objective is made of these."""
        if self.plain or not self.of_cells:
            return {}
        means = {}
        for column, levels in zip(task.columns, recoding.levels.T):
            released, lost = (loss[levels - column.levels[0], column.leaves] for loss in self._cells(task, column))
            means[column.variable.name] = task.mean(np.where(recoding.labels >= 0, released, lost))
        return {"losses of the columns": OfOriginal(means)}

    def of_total(self, task: GeneralisationTask, total: float) -> float:
        """Loss in [0, 1], by rank that of the column that loses most, from the first number of the kernel's."""
        if self.aggregate == "geometric-mean":
            return float(expm1(total / len(task.columns)))
        if self.aggregate in ("mean", "chained-entropy"):
            return total / (task.records * task.whole) / (1 if self.aggregate == "mean" else 2)
        return total
