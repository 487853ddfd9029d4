"""What persons share, counted: the value of what each has, by pieces of which a group keeps the least that any has.

A row is worth one, and each of its cells its column's weight; a table counts the same however many rows it has. A cell
under a hierarchy is worth as much at a node as is not lost there (Xu et al. 2006), so that each node is a piece, worth
the step from it to the node above, and a person has it as often as there are cells under it. For a number there is a
piece for each threshold and side of it, worth the share of the range from it to the next: what the least and the
greatest number of a group leave of the range. Of each piece a group of persons who are made alike can keep as much as
the one who has least of it; so the sum over the pieces is what the group keeps at best, a histogram intersection (Swain
& Ballard 1991), and exact for persons with one row in which each column is taken by itself.

All values are whole numbers, so that no sum depends on its order.
"""

from collections.abc import Iterator

import numpy as np

from shoal.kernels.partition import sharing_groups
from shoal.mask._profiles.people import People
from shoal.partition.blocks import in_blocks
from shoal.table.links import below
from shoal.table.prelude import Floats, Ints, Longs, Partition, Progress, Variable, ints
from shoal.table.variable import check_memory

SCALE = 1 << 30
"""The value of all cells of the column that weighs most, so that no person's value passes the largest int32."""

BLOCK = 1_500
"""Fewest persons of a block: more take longer in proportion, and lose little less."""

THRESHOLDS = 16
"""Thresholds that cut the range of a number, at its quantiles."""

FINE_COUNTS = 64
"""Numbers of rows below a row up to which each is told from the next."""


def groups_of(values: Ints, k: int, progress: Progress = None) -> Partition:
    """Groups of k or more persons that keep much of what they have, of those in shape (u, d)."""
    size = max(BLOCK, k)
    if len(values) < 2 * size:
        return Partition.of(sharing_groups(values, k, progress=progress))
    return in_blocks(
        values / SCALE, size, lambda rows, report: sharing_groups(values[rows], k, progress=report), progress
    )


def values_of(people: People) -> Ints:
    """Shape (u, d); the value of each piece that each person has."""
    u = people.links.sizes[people.root]
    blocks: list[Ints] = []
    scale = SCALE / max([1.0, *(v.weight for name in people.links.sizes for v in people.variables(name))])
    for name, rows in people.links.sizes.items():
        persons, each = people.links.persons[name], scale / max(rows, 1)
        for variable in people.variables(name):
            for times, worth in _pieces(variable, persons, u):
                blocks.append(ints(times * np.rint(worth * variable.weight * each).astype(np.int64)))
        for lower in below(people.links.keys, name):
            hanging = np.bincount(people.links.above[lower], minlength=rows)
            least = np.arange(1, min(int(hanging.max(initial=0)), FINE_COUNTS) + 1)
            times = np.array([np.bincount(persons, weights=hanging >= count, minlength=u) for count in least])
            worth_of_row = int(scale / max(people.links.sizes[lower], 1))
            blocks.append(ints(times.reshape(len(least), u).T.astype(np.int64) * worth_of_row))
    together = np.hstack(blocks) if blocks else ints(np.zeros((u, 0)))
    return ints(together[:, together.max(axis=0, initial=0) > 0])


def _pieces(variable: Variable, persons: Longs, u: int) -> Iterator[tuple[Longs, Floats]]:
    """How often each person has each piece of a column, shape (u, m), and what these are worth, shape (m,)."""
    if not variable.complete:
        yield np.bincount(persons, weights=variable.missing, minlength=u).astype(np.int64)[:, None], np.ones(1)
    present = ~variable.missing
    persons, cells = persons[present], variable.values[present]
    if variable.level == "nominal":
        check_memory(variable, u, variable.width)
        m = len(variable.categories)
        times = np.bincount(persons * m + cells, minlength=u * m).reshape(u, m)
        if variable.hierarchy is None:
            yield times, np.ones(m)
        else:
            places = np.nan_to_num(variable.places(variable)) / np.sqrt(variable.weight)
            worth = 2 * places.max(axis=0, initial=0.0) ** 2
            under = (places > 0).astype(np.int64)
            yield np.column_stack([times[:, under[:, node] > 0].sum(axis=1) for node in range(len(worth))]), worth
        return
    edges = np.unique(np.quantile(cells, np.linspace(0, 1, THRESHOLDS + 1), method="lower")) if len(cells) else cells
    worth = np.diff(edges) / max(float(edges[-1] - edges[0]), 1e-300) if len(edges) > 1 else np.zeros(0)
    if not len(worth):
        yield np.bincount(persons, minlength=u).astype(np.int64)[:, None], np.ones(1)
        return
    place = np.searchsorted(edges, cells, side="right") - 1  # beyond which thresholds
    m = len(edges)
    times = np.bincount(persons * m + place, minlength=u * m).reshape(u, m)
    up = times[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    yield up, worth
    yield times.cumsum(axis=1)[:, :-1], worth
