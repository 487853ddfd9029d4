"""Pictures of a column before and after: released cells drawn over the original's own values.

A label such as "20-29" tells only that a cell was one of ten values. So the label's records are spread evenly over the
values it stands for. A column that lost all information becomes flat, however similar it looks to the original.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shoal.judges.labels import Labels
from shoal.judges.recoded import as_labels
from shoal.kernels.arrays import Bools, Floats, Longs, floats, ints, longs
from shoal.report.evidence import Bin, Distribution
from shoal.table.bins import MILLISECONDS, distribution, share
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure


def before_and_after(before: Variable, after: Variable, place: Longs | None) -> Distribution | None:
    """Distributions of a column in both tables, over the values of the original.

    `place`, shape (n',): the original record of each released one, None where that is not known. Returns None where no
    cell is known. Labels that cannot be spread are drawn as values of their own.
    """
    spread = _spread(before, after, place)
    if spread is None:
        return distribution({"original": before, "released": after})
    cells, weights, coarse = spread
    drawn = distribution({"original": before, "released": cells}, {"released": weights})
    for bar in () if drawn is None or not weights.size else drawn["bins"]:
        part = float(weights[coarse & _within(bar, cells)].sum() / weights.sum())
        if bar["table"] == "released" and part:
            bar["coarse"] = share(part)
    return drawn


def _within(bar: Bin, cells: Variable) -> Bools:
    """Shape (cells,); True for the cells that a bin counts; the bin that ends at the greatest value holds it."""
    if "category" in bar:
        category = np.array([str(c) for c in cells.categories]) == bar["category"]
        named: Bools = category[cells.values]
        return named
    values = cells.values * MILLISECONDS.get(cells.unit or "", 1.0)
    last = (values == bar["high"]) & (values == values.max())
    inside: Bools = (values >= bar["low"]) & ((values < bar["high"]) | last)
    return inside


def _spread(before: Variable, after: Variable, place: Longs | None) -> tuple[Variable, Floats, Bools] | None:
    """Cells in the original's values, one for each value that a label stands for, with the records each counts.

    The last is True for the cells that share their label with others.
    """
    covered = Covered.of(before, after, place)
    if covered is None:
        return None
    counts = np.bincount(covered.after[covered.after >= 0], minlength=len(covered.covers))
    sizes = covered.covers.sum(axis=1)
    label, leaf = np.nonzero(covered.covers & (counts > 0)[:, None])
    cells = _cells(before, as_labels(before), covered.leaves, leaf)
    return cells, floats(counts[label] / sizes[label]), sizes[label] > 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covered:
    """Which values of the original each released label stands for.

    Parameters
    ----------
    leaves
        The values, as texts.
    before
        Shape (n,); the value of each original record, -1 for a missing cell.
    after
        Shape (n',); the label of each released record, -1 for a missing cell.
    covers
        Shape (labels, leaves).
    """

    leaves: list[str]
    before: Longs
    after: Longs
    covers: Bools

    @classmethod
    def of(cls, before: Variable, after: Variable, place: Longs | None) -> Self | None:
        """The labels of a column; None if nothing was recoded, or some label cannot be spread."""
        if after.continuous or any(category is None for category in (*before.categories, *after.categories)):
            return None
        plain = as_labels(before)
        plain = replace(plain, categories=tuple(map(str, plain.categories)))
        if set(plain.categories).issuperset(map(str, after.categories)) and not before.continuous:
            return None  # nothing was recoded
        try:
            labels = Labels.of(plain, after)
        except NoFigure:  # too many categories to look at
            return None
        leaves = [path[0] for path in plain.hierarchy.paths] if plain.hierarchy is not None else list(plain.categories)
        covers = labels.covers[:-1, : len(leaves)].copy()
        if place is not None:
            _explain_by_records(covers, labels, after, place)
        carried = np.bincount(after.values[~after.missing], minlength=len(covers)) > 0
        if carried[covers.sum(axis=1) == 0].any():
            return None
        of_original = np.where(labels.before < len(leaves), labels.before, -1)
        of_release = np.where(after.missing, -1, labels.after)
        return cls(leaves=leaves, before=longs(of_original), after=longs(of_release), covers=covers)


def _explain_by_records(covers: Bools, labels: Labels, after: Variable, place: Longs) -> None:
    """Let a label that nothing explains stand for the values of the records that carry it."""
    for label in np.flatnonzero(labels.unexplained[:-1]):
        values = labels.before[place[after.values == label]]
        covers[label] = False
        covers[label, values[values < covers.shape[1]]] = True


def _cells(before: Variable, plain: Variable, leaves: list[str], leaf: Longs) -> Variable:
    if before.continuous:
        return replace(before, values=floats([float(name) for name in leaves])[leaf], hierarchy=None)
    return replace(plain, values=ints(leaf), categories=tuple(leaves), hierarchy=None)
