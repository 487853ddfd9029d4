"""Junction trees: which columns are modelled together, so that all marginals that were measured fit into one law."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from shoal.table.prelude import Bools, Longs

Columns = tuple[int, ...]
"""Columns by their numbers, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedCategories:
    """The categories of a column that follow from those of another."""

    by: int  # The other column
    categories: Longs  # By its categories
    number: int  # Of categories that the fixed column has


Fixed = Mapping[int, FixedCategories]
"""By fixed column. A column fixes at most a single other, and is not itself fixed."""


WHOLE = 40
"""Cells of whole tables, in which records are drawn, for each that is fitted: with more, memory would be theirs."""


def fixed_by(possible: Mapping[Columns, Bools]) -> Fixed:
    """The columns that are fixed where some combinations are impossible; those that save most cells first."""
    fixed: dict[int, FixedCategories] = {}
    for columns, free in sorted(possible.items(), key=lambda item: (-item[1].size, item[0])):
        for fixing, column, table in [(*columns, free), (*columns[::-1], free.T)] if len(columns) == 2 else []:
            taken = {*fixed, *(other.by for other in fixed.values())}
            if not {fixing, column} & taken and (table.sum(axis=1) <= 1).all():
                codes = np.argmax(table, axis=1)
                fixed[column] = FixedCategories(by=fixing, categories=codes, number=table.shape[1])
    return fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """Cliques of columns in a tree, where the cliques that hold a column are connected (running intersection)."""

    cliques: tuple[Columns, ...]  # A parent stands before its children
    parents: tuple[int, ...]  # Of each clique by its place; -1 for the first
    separators: tuple[Columns, ...]  # What each clique shares with its parent; the first one's is empty
    fixed: Fixed = field(default_factory=dict)

    @classmethod
    def of(
        cls, shape: Sequence[int], together: Iterable[Columns], first: Columns = (), fixed: Fixed | None = None
    ) -> "JunctionTree":
        """A tree in which each of some sets of columns is inside a clique; `shape`: the categories of each column.

        `first`: such a set that is to be inside the first clique.
        """
        fixed = fixed or {}
        cliques = maximal(elimination(shape, together, fixed))
        order, parents = [next(i for i, clique in enumerate(cliques) if set(first) <= set(clique))], [-1]
        left = [number for number in range(len(cliques)) if number != order[0]]
        while left:
            place, new = min(
                ((place, new) for place in range(len(order)) for new in left),
                key=lambda pair: (-len(_shared(cliques[pair[1]], cliques[order[pair[0]]])), pair),
            )
            order.append(new)
            parents.append(place)
            left.remove(new)
        ordered = [cliques[number] for number in order]
        separators = [()] + [_shared(ordered[i], ordered[parents[i]]) for i in range(1, len(ordered))]
        return cls(cliques=tuple(ordered), parents=tuple(parents), separators=tuple(separators), fixed=fixed)

    def holding(self, columns: Iterable[int], shape: Sequence[int]) -> int:
        """The place of the smallest clique with all these columns, which some clique must have."""
        wanted = set(columns)
        places = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(places, key=lambda place: (cells(shape, self.cliques[place], self.fixed), place))


def lengths(shape: Sequence[int], columns: Iterable[int], fixed: Fixed) -> list[int]:
    """Numbers of categories of some columns; 1 for a column that is fixed by another of them."""
    among = set(columns)
    return [1 if column in fixed and fixed[column].by in among else shape[column] for column in columns]


def cells(shape: Sequence[int], columns: Iterable[int], fixed: Fixed | None = None) -> int:
    """Number of combinations of the categories of some columns, without those that fixed columns cannot have."""
    return prod(lengths(shape, tuple(columns), fixed or {}))


def cells_of_model(shape: Sequence[int], together: Iterable[Columns], fixed: Fixed) -> int:
    """Number of cells of a tree's cliques together, or 1 in `WHOLE` of those of whole tables, if these are more."""
    cliques = maximal(elimination(shape, together, fixed))
    whole = sum(cells(shape, clique) for clique in cliques)
    return max(sum(cells(shape, clique, fixed) for clique in cliques), whole // WHOLE)


def elimination(shape: Sequence[int], together: Iterable[Columns], fixed: Fixed | None = None) -> list[Columns]:
    """Cliques of a triangulated graph, by eliminating next the column whose clique has the fewest cells."""
    near = {column: {column} for column in range(len(shape))}
    for columns in together:
        for column in columns:
            near[column].update(columns)
    cliques = []
    while near:
        chosen = min(near, key=lambda column: (cells(shape, near[column], fixed), column))
        clique = near.pop(chosen)
        cliques.append(tuple(sorted(clique)))
        for other in clique - {chosen}:
            near[other] |= clique
            near[other].discard(chosen)
    return cliques


def maximal(cliques: Iterable[Columns]) -> list[Columns]:
    """The sets that are inside no other, the first first."""
    kept: list[Columns] = []
    for clique in sorted(cliques, key=lambda columns: (-len(columns), columns)):
        if not any(set(clique) <= set(other) for other in kept):
            kept.append(clique)
    return kept


def _shared(clique: Columns, other: Columns) -> Columns:
    return tuple(column for column in clique if column in other)
