"""Pictures of a column before and after: released cells drawn over the original's own values.

A label such as "20-29" tells only that a cell was one of ten values. So the label's records are spread evenly over the
values it stands for. A column that lost all information becomes flat, however similar it looks to the original.
"""

from dataclasses import replace

import numpy as np

from shoal.judges.labels import Labels
from shoal.judges.recoded import as_labels
from shoal.kernels.arrays import Bools, Floats, Longs, floats, ints
from shoal.report.evidence import Distribution
from shoal.table.bins import distribution
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
    cells, weights = spread
    return distribution({"original": before, "released": cells}, {"released": weights})


def _spread(before: Variable, after: Variable, place: Longs | None) -> tuple[Variable, Floats] | None:
    """Cells in the original's values, one for each value that a label stands for, with the records each counts."""
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
    counts = np.bincount(after.values[~after.missing], minlength=len(covers))
    sizes = covers.sum(axis=1)
    if (counts > 0)[sizes == 0].any():
        return None
    label, leaf = np.nonzero(covers & (counts > 0)[:, None])
    return _cells(before, plain, leaves, leaf), floats(counts[label] / sizes[label])


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
