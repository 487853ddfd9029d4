"""Loss of generalised labels: normalised certainty penalty, non-uniform entropy, precision."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.judges.labels import Labels, labels_of, suppressed
from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.kernels.elementary import log
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import ByColumn, Columns, NoFigure, in_digits, method, of_original, quoted


@method(
    "label-loss",
    title="Loss of generalised labels",
    source="Xu et al. (2006); Gionis & Tassa (2009); Kooiman, Willenborg & Gouweleeuw (1997)",
)
class LabelLoss(UtilityMeasure):
    """Information that the labels of a categorical release lost, the mean over all cells: 0 for none, 1 for all.

    - `ncp`: a label that stands for u of the column's v values loses (u - 1) / (v - 1).
    - `entropy`: of the n original records N have a value that the label stands for; it loses log(N / f) / log n, f the
      records with the cell's own value. Needs the original record of each released one.
    - `conditional entropy`: the same of labels that stand for nothing but themselves, as after PRAM, swapping or coding
      of tails: of N released records with the label, f had the cell's own value. The mean is the entropy of the
      original column given the released one (EBIL; Domingo-Ferrer & Torra 2001), as a share of log n.
    - `precision`: a label at level l of a hierarchy of height h loses l / h; columns without a hierarchy are left out.

    Leaving records out is no coarser label: the share left out stands beside the loss of the records that are there; or
    every cell of such a record loses 1, by which releases of different records compare, and by which `generalise`
    weighs dropping records against coarser labels.

    Parameters
    ----------
    loss
        Which of the four.
    columns
        By default the quasi-identifiers that are categorical.
    left_out
        What a record counts that the release does not have: nothing (`apart`), or as one that lost all (`lost`).
    """

    prominence = 40
    unchanged = 0.0
    limits = (0.0, 1.0)
    cheap = True
    roles = ("quasi-identifier",)
    continuous = False
    needs = ("columns", "versions")
    among_releases: ClassVar[Mapping[str, Any]] = {"left_out": "lost"}

    loss: Literal["ncp", "entropy", "conditional entropy", "precision"] = "ncp"
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    left_out: Literal["apart", "lost"] = "apart"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        if self.loss == "precision":
            names = tuple(name for name in names if pair.before[name].hierarchy is not None)
        if not names or not len(pair.before):
            raise NoFigure("There is no categorical column (for precision: with a hierarchy), or no record.")
        missing = suppressed(pair)
        dropped = missing if self.left_out == "lost" else 0
        total = len(pair.released) + dropped
        if not total:
            raise NoFigure("Every record was left out.")
        share = missing / (len(pair.released) + missing)
        beside = f"; {in_digits(100 * share, 3)} % of the records were left out" if missing else ""
        by_column = {
            name: (float(self._cells(labels, pair).sum()) + dropped) / total
            for name, labels in zip(names, labels_of(pair, names))
        }
        value = float(np.mean(list(by_column.values())))
        most = max(by_column, key=lambda name: by_column[name])
        worst = in_digits(100 * by_column[most], 3)
        lost = f"Labels lose {in_digits(100 * value, 3)} % of what the cells said; most, {worst} %, in '{most}'"
        return self.finding(
            value,
            f"{lost if value else f'No label of {quoted(names)} lost anything'}{beside}.",
            by_column=ByColumn(of_original(by_column)),
            facts=of_original({"share of records left out": share}),
        )

    def _cells(self, labels: Labels, pair: TablePair) -> Floats:
        """Shape (n',); what each released cell loses."""
        if self.loss == "precision":
            return np.asarray(labels.level[labels.after])
        if self.loss == "ncp":
            return np.asarray((labels.stands_for - 1) / max(labels.leaves - 1, 1))
        own = labels.before[pair.pairing]
        if self.loss == "conditional entropy":
            _, of_record, counts = np.unique(
                np.stack([labels.after, own]), axis=1, return_inverse=True, return_counts=True
            )
            among, alike = np.bincount(labels.after)[labels.after], counts[of_record.reshape(-1)]
        else:
            counts = np.bincount(labels.before, minlength=labels.covers.shape[1])
            alike = counts[own]
            among = np.maximum((labels.covers * counts.astype(np.float64)).sum(axis=1)[labels.after], alike)
        return np.asarray(log(among / alike) / log(max(len(pair.before), 2)))
