"""Junction trees: which columns are modelled together, so that all marginals that were measured fit into one law."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

Columns = tuple[int, ...]
"""Columns by their numbers, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """Cliques of columns in a tree, where the cliques that hold a column are connected (running intersection)."""

    cliques: tuple[Columns, ...]  # A parent stands before its children
    parents: tuple[int, ...]  # Of each clique by its place; -1 for the first
    separators: tuple[Columns, ...]  # What each clique shares with its parent; the first one's is empty

    @classmethod
    def of(cls, shape: Sequence[int], together: Iterable[Columns], first: Columns = ()) -> "JunctionTree":
        """A tree in which each of some sets of columns is inside a clique; `shape`: the categories of each column.

        `first`: such a set that is to be inside the first clique.
        """
        cliques = maximal(elimination(shape, together))
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
        return cls(cliques=tuple(ordered), parents=tuple(parents), separators=tuple(separators))

    def holding(self, columns: Iterable[int], shape: Sequence[int]) -> int:
        """The place of the smallest clique with all these columns, which some clique must have."""
        wanted = set(columns)
        places = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(places, key=lambda place: (cells(shape, self.cliques[place]), place))


def cells(shape: Sequence[int], columns: Iterable[int]) -> int:
    """Number of combinations of the categories of some columns."""
    return prod(shape[column] for column in columns)


def elimination(shape: Sequence[int], together: Iterable[Columns]) -> list[Columns]:
    """Cliques of a triangulated graph, by eliminating next the column whose clique has the fewest cells."""
    near = {column: {column} for column in range(len(shape))}
    for columns in together:
        for column in columns:
            near[column].update(columns)
    cliques = []
    while near:
        chosen = min(near, key=lambda column: (cells(shape, near[column]), column))
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
