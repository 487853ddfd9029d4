"""From classes of records to the labels that are released, and what these lose.

Labels are nodes of the hierarchy, or tight: what a class holds and no more. The tight label of a class is its value
where it has one, the interval from the least to the greatest where all leaves of the hierarchy are numbers, and the set
of its values else. A tight label stands for the leaves of the hierarchy that lie in it, so a set never loses more than
the node above the class, nor does an interval where nodes are intervals; where it stands for all leaves, the root is
released.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shoal.mask._generalisation.task import KeyColumn
from shoal.table.hierarchy import SEPARATOR
from shoal.table.hierarchy_builders import number_label
from shoal.table.prelude import Floats, Ints, Longs, Variable, ints

Labels = Literal["nodes", "tight"]


def nodes(column: KeyColumn, levels: Ints) -> Variable:
    """Each cell's label at its level."""
    if not levels.any():
        return column.variable
    heights = column.height + 1
    cells = column.leaves.astype(np.int64) * heights + levels
    met = np.bincount(cells, minlength=len(column.paths) * heights) > 0
    labels = [_node(column, *divmod(cell, heights)) for cell in np.flatnonzero(met).tolist()]
    return _relabelled(column, labels, (np.cumsum(met) - 1)[cells])


def tight(column: KeyColumn, levels: Ints, classes: Longs) -> tuple[Variable, Longs]:
    """The column with, for each class, a number from 0, the label of what it holds, and the leaves that each cell's
    label stands for, shape (n,); one value keeps the node of its level."""
    if not levels.any():
        return column.variable, np.ones(len(column.leaves), dtype=np.int64)
    order = np.lexsort((column.leaves, classes))
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    numbers = _numbers(column)
    labels: list[Any] = []
    stand: list[int] = []
    for rows in np.split(order, starts[1:]):
        leaves = np.unique(column.leaves[rows])
        label, count = _hull(column, leaves, numbers, int(levels[rows[0]]))
        labels.append(label)
        stand.append(count)
    place = np.empty(len(classes), dtype=np.int64)
    place[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(order)]))
    return _relabelled(column, labels, place), np.array(stand, dtype=np.int64)[place]


def _hull(column: KeyColumn, leaves: Ints, numbers: Floats | None, level: int) -> tuple[Any, int]:
    """The tight label of some leaves, and how many leaves it stands for."""
    least = column.levels[0]
    units = np.unique(column.labels[least][leaves])  # what is released at the least level that is allowed
    if len(units) == 1 or None in (names := [column.paths[leaf][0] for leaf in leaves]):
        code = column.labels[level][leaves[0]]
        return _node(column, int(leaves[0]), level), int((column.labels[level] == code).sum())
    if numbers is not None and least == 0:
        low, high = numbers[leaves].min(), numbers[leaves].max()
        count = int(((numbers >= low) & (numbers <= high)).sum())
        label = f"[{number_label(low)}, {number_label(high)}]"
    else:
        inside = np.flatnonzero(np.isin(column.labels[least], units))
        count = len(inside)
        names = list(dict.fromkeys(column.paths[leaf][least] for leaf in inside))
        label = SEPARATOR.join(str(name) for name in names)
    return (column.paths[leaves[0]][-1], count) if count == len(column.paths) else (label, count)


def _numbers(column: KeyColumn) -> Floats | None:
    """Shape (leaves,); the numbers that the leaves are, NaN for missing cells; None where some are no numbers."""
    try:
        return np.array([np.nan if path[0] is None else float(path[0]) for path in column.paths])
    except ValueError:
        return None


def _node(column: KeyColumn, leaf: int, level: int) -> Any:
    """A node's label; at level 0 the category as it stands in the table."""
    text = column.paths[leaf][level]
    if level > 0 or text is None:
        return text
    return next((c for c in column.variable.categories if c is not None and str(c) == text), text)


def _relabelled(column: KeyColumn, labels: list[Any], place: Longs) -> Variable:
    """The column with one of some labels in each cell; None is a missing cell."""
    categories = tuple(dict.fromkeys(label for label in labels if label is not None))
    keeps_missing = None in column.variable.categories
    if keeps_missing and None in labels:
        categories = (*categories, None)
    code_of = {label: code for code, label in enumerate(categories)}
    codes = ints([code_of.get(label, -1) for label in labels])
    return replace(column.variable, values=codes[place], level="nominal", categories=categories, hierarchy=None)
