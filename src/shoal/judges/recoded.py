"""The original in the terms of a release that recoded it: each value is replaced by the label that stands for it.

A table of towns and one of regions have no label in common, although perhaps only the wording changed. So before
frequencies are compared, every original value without a released label of its own is replaced by the label that stands
for it: the narrowest one by a hierarchy, an interval or a set; else, if the tables are paired, the new label that most
records with the value have.
"""

from dataclasses import replace

import numpy as np

from shoal.judges.labels import Labels
from shoal.kernels.arrays import Ints, Longs, ints
from shoal.table.hierarchy_builders import number_label
from shoal.table.variable import Variable
from shoal.vocabulary.errors import NoFigure


def as_labels(variable: Variable) -> Variable:
    """The column with numbers as categories, each by the label that it has in intervals and sets."""
    if not variable.continuous:
        return variable
    values, codes = np.unique(variable.values[~variable.missing], return_inverse=True)
    every = np.full(len(variable), -1, dtype=np.int32)
    every[~variable.missing] = codes
    labels = tuple(number_label(value) for value in values.tolist())
    return replace(variable, level="nominal", values=every, categories=labels, unit=None)


def in_terms_of_release(before: Variable, after: Variable, place: Longs | None) -> Variable | None:
    """The original column in the terms of the release; unchanged if the release recoded nothing.

    `place`, shape (n',): the original record of each released one, None where that is not known. Returns None where the
    release has labels that nothing explains, or numbers instead of labels.
    """
    if after.continuous:
        return before if before.continuous else None
    plain = as_labels(before)
    labels = [str(category) for category in after.categories]
    own = {str(category) for category in plain.categories}
    if own.issuperset(labels) or None in plain.categories:
        return plain
    try:
        target = _by_meaning(plain, after)
    except NoFigure:  # too many categories to look at
        return None if before.continuous else plain
    if place is not None:
        target = _by_records(plain, after, place, target, [label not in own for label in labels])
    if before.continuous and (target < 0).any():
        return None
    left = [str(category) for category, code in zip(plain.categories, target) if code < 0]
    target[target < 0] = len(labels) + np.arange(len(left))
    codes = ints(np.append(target, -1)[plain.values])
    return replace(plain, values=codes, categories=(*labels, *left), hierarchy=None)


def _by_meaning(before: Variable, after: Variable) -> Ints:
    """Shape (u,); for each original category the narrowest label that stands for it, -1 for none."""
    standing_for = Labels.of(replace(before, categories=tuple(map(str, before.categories))), after)
    covers = standing_for.covers[:-1]
    paths = () if before.hierarchy is None else before.hierarchy.paths
    leaves = [path[0] for path in paths] or [str(category) for category in before.categories]
    anything = standing_for.unexplained[:-1] | np.array([category is None for category in after.categories], dtype=bool)
    width = np.where(anything, covers.shape[1] + 1, covers.sum(axis=1))
    place = {leaf: number for number, leaf in enumerate(leaves)}
    target = np.full(len(before.categories), -1, dtype=np.int32)
    for number, category in enumerate(before.categories):
        standing = np.flatnonzero(covers[:, place[str(category)]] & (width <= covers.shape[1]))
        if len(standing):
            target[number] = standing[width[standing].argmin()]
    return target


def _by_records(before: Variable, after: Variable, place: Longs, target: Ints, new: list[bool]) -> Ints:
    """For categories that no label stands for, the new label that most of their records carry."""
    values, labels = before.values[place], after.values
    chosen = (values >= 0) & (labels >= 0) & np.append(new, False)[labels] & np.append(target < 0, False)[values]
    counts = np.zeros((len(target), len(new)), dtype=np.int64)
    np.add.at(counts, (values[chosen], labels[chosen]), 1)
    return ints(np.where((target < 0) & (counts.max(axis=1, initial=0) > 0), counts.argmax(axis=1), target))
