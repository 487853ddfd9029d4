"""Tables of columns that are modelled together: summed over some, and laid out as those of more.

The axis of a column whose category follows from another one's has the length 1 where both are in a table: the
combinations that it lacks have no records. A detailed code and its broad group take as many cells as the code alone.
"""

from collections.abc import Sequence

import numpy as np

from shoal.mask._marginals.junction_tree import Fixed, FixedCategories
from shoal.table.prelude import Floats, Longs

NOTHING: Fixed = {}


def summed(table: Floats | Longs, columns: Sequence[int], kept: Sequence[int], fixed: Fixed = NOTHING) -> Floats:
    """A table of some columns summed over all but those that are kept, which stay in their order."""
    sources = {fixed[c].by: c for c in kept if c in fixed and fixed[c].by in columns and fixed[c].by not in kept}
    left = [c for c in columns if (c in kept or c in sources) and c not in sources.values()]
    table = table.sum(axis=tuple(place for place, column in enumerate(columns) if column not in left))
    for source, column in sources.items():
        table = _grouped(table, left.index(source), fixed[column])
        left[left.index(source)] = column
    return np.asarray(table.transpose([left.index(column) for column in kept]))


def within(table: Floats, columns: Sequence[int], clique: Sequence[int], fixed: Fixed = NOTHING) -> Floats:
    """A table of some columns, with axes of length 1 for all others of a clique."""
    axes = list(columns)
    for place, column in enumerate(columns):
        if column in fixed and (fixing := fixed[column].by) in clique and table.shape[place] > 1:
            categories = fixed[column].categories
            if fixing in axes:
                along = [-1 if other == fixing else 1 for other in axes]
                table = np.take_along_axis(table, categories.reshape(along), axis=place)
            else:
                table = np.take(table, categories, axis=place)
                axes[place] = fixing
    order = sorted(range(len(axes)), key=lambda place: clique.index(axes[place]))
    sizes = dict(zip(axes, table.shape))
    return table.transpose(order).reshape([sizes.get(column, 1) for column in clique])


def spread(table: Floats, columns: Sequence[int], shape: Sequence[int], fixed: Fixed) -> Floats:
    """A table with all combinations of some columns, those included that fixed columns cannot have."""
    for place, column in enumerate(columns):
        if column in fixed and (fixing := fixed[column].by) in columns:
            along = [-1 if other == fixing else 1 for other in columns]
            sizes = [shape[column] if other == column else size for other, size in zip(columns, table.shape)]
            whole = np.zeros(sizes)
            np.put_along_axis(whole, fixed[column].categories.reshape(along), table, axis=place)
            table = whole
    return table


def _grouped(table: Floats | Longs, axis: int, fixed: FixedCategories) -> Floats:
    """A table whose axis of a column is summed to that of the column which this fixes."""
    order = np.argsort(fixed.categories, kind="stable")
    present, starts = np.unique(fixed.categories[order], return_index=True)
    out = np.zeros([fixed.number if place == axis else size for place, size in enumerate(table.shape)])
    out[(slice(None),) * axis + (present,)] = np.add.reduceat(np.take(table, order, axis=axis), starts, axis=axis)
    return out
