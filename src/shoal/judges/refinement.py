"""Refinement: generalised cells narrowed down by other columns.

A generalised cell stands for several values: `Spain` for its towns, `[20, 39]` for twenty ages, `flu | gout` for two
diseases. Which of them it is can be narrowed down by the rest of the table (`shoal.table.dependencies`):

- where a column says which records share their value (a household, a postcode), the value lies in all the sets that
  their cells stand for: one member lives in `Spain`, another in `Madrid | Lyon`, so both live in Madrid;
- where a column determines the node that a value lies under, though not the value, as a province does of a postcode,
  a cell lies under the node of the others with the same province.

That such a law holds is believed on the same evidence as for a missing cell; cells that stand for one value, or lie
under one node, are what can keep it or break it. So are laws with exceptions: the value lies in the sets of as many
cells as can have one in common, and the others are the exceptions. By chance m cells have a leaf in common that lies in
a share q of all cells' sets with probability q^m, so that the bound is that of missing cells with these shares.

A missing cell is filled in only by a full value of others (`shoal.table.dependencies`), never by a set of values: a
requirement decides what a missing cell matches.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoal.kernels.arrays import Bools, Ints, ints
from shoal.table.dependencies import (
    EXCEPTIONS,
    LOG_CHANCE,
    UNITS,
    chance_of,
    determines,
    least_bound,
    log_chance,
    most_frequent,
    nearly_determines,
)
from shoal.table.hierarchy import SEPARATOR, Hierarchy
from shoal.table.hierarchy_forms import leaves_in, of_values
from shoal.table.number_range import NumberRange, numbers_of
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.table.variable import Variable

Leaves = frozenset[Any]
"""Values that a label stands for: leaves of a hierarchy by number, or only itself."""


def trees(schema: Schema, folder: Path, released: Records) -> dict[str, Hierarchy]:
    """Hierarchies whose nodes the labels of released columns may be.

    A hierarchy that is built from values is built from those in the released labels.
    """
    loaded: dict[str, Hierarchy] = {}
    for name, column in schema.columns.items():
        if column.hierarchy is None or name not in released or released[name].continuous:
            continue
        leaves = leaves_in(column.hierarchy, map(str, released[name].categories))
        if leaves or not of_values(column.hierarchy):
            tree = column.load_hierarchy(dict.fromkeys(leaves, 1), folder)
            if tree is not None:
                loaded[name] = tree
    return loaded


def with_trees(released: Records, trees: Mapping[str, Hierarchy]) -> Records:
    """The records with the hierarchy of each nominal confidential column whose cells are all its leaves.

    Distances between confidential values are taken along it; a column with other labels is judged without one.
    """
    columns = [released[name] for name in released.confidential if name in trees and released[name].level == "nominal"]
    return released.with_variables(*(replace(v, hierarchy=trees[v.name]) for v in columns if _of_leaves(v, trees)))


def _of_leaves(variable: Variable, trees: Mapping[str, Hierarchy]) -> bool:
    return not trees[variable.name].missing(str(c) for c in variable.categories if c is not None)


def refined(
    records: Records, trees: Mapping[str, Hierarchy], *, exceptions: bool = False
) -> tuple[Records, tuple[str, ...]]:
    """The records with every cell narrowed down as far as other columns allow, and the columns that did so.

    `trees`: hierarchies whose nodes, or sets of whose leaves, the cells of a column are; `exceptions`: True to use laws
    with exceptions as well. Returns the same records if nothing can be narrowed down.
    """
    sources: dict[str, None] = {}
    for name in [name for name in trees if name in records and not records[name].continuous]:
        cells = Cells.of(records[name], trees[name])
        if not cells.overlap:
            continue
        others = sorted((v for v in records.variables if v.name != name), key=lambda v: v.role not in UNITS)
        for other in others:
            narrowed = cells.narrowed_by(other.codes(), unit=other.role in UNITS, exceptions=exceptions)
            if narrowed is not cells:
                cells, sources = narrowed, sources | {other.name: None}
        if cells.variable is not records[name]:
            records = records.with_variables(cells.variable)
    return records, tuple(sources)


class Cells:
    """The cells of a column as sets of leaves.

    Parameters
    ----------
    variable
        The column.
    tree
        Its hierarchy.
    sets
        For each category the leaves that it stands for; last, for a missing cell, none.
    """

    def __init__(self, variable: Variable, tree: Hierarchy, sets: Sequence[Leaves]) -> None:
        self.variable, self.tree, self.sets = variable, tree, tuple(sets)

    @classmethod
    def of(cls, variable: Variable, tree: Hierarchy) -> "Cells":
        """Every label read: as a node, an interval of the leaves, a set of labels, or else as itself alone."""
        nodes, numbers = tree.nodes(), numbers_of(tree.leaves)
        sets = [_stands_for(str(category), nodes, numbers) for category in variable.categories]
        return cls(variable, tree, [*sets, frozenset()])

    @property
    def overlap(self) -> bool:
        """True if some cell may be narrowed down to the values of another."""
        present = [self.sets[code] for code in np.unique(self.variable.values).tolist() if code >= 0]
        return sum(map(len, present)) > len(frozenset().union(*present))

    @cached_property
    def levels(self) -> list[dict[int, int]]:
        """For each level between leaves and root the node, by number, that each leaf lies under."""
        return [dict(enumerate(self.tree.level_codes(level)[0].tolist())) for level in range(1, self.tree.height)]

    def narrowed_by(self, by: Ints, *, unit: bool, exceptions: bool = False) -> "Cells":
        """The cells narrowed down by a column; the same object if that column tells nothing.

        `by`, `unit`: as in `shoal.table.dependencies.determines`; `exceptions`: True to use laws with exceptions as
        well.
        """
        values = self.variable.values
        bounds = self._common(by, unit=unit, exceptions=exceptions) or {}
        for under in self.levels:
            node = [under_one(under, leaves) for leaves in self.sets]
            codes = ints(node)[values]  # of a missing cell the last, -1
            if determines(by, codes, unit=unit) or (exceptions and nearly_determines(by, codes, unit=unit)):
                for value, number in most_frequent(by, codes).items():
                    inside = frozenset(leaf for leaf, above in under.items() if above == number)
                    bounds[value] = bounds.get(value, inside) & inside
        pairs = {(b, v) for b, v in set(zip(by.tolist(), values.tolist())) if v >= 0 and b in bounds}
        smaller = {(b, v): self.sets[v] & bounds[b] for b, v in pairs}
        smaller = {pair: leaves for pair, leaves in smaller.items() if leaves and leaves != self.sets[pair[1]]}
        return self._with(by, smaller) if smaller else self

    def _common(self, by: Ints, *, unit: bool, exceptions: bool) -> dict[int, Leaves] | None:
        """Leaves that records with each cell of a column may have, by cell; None if the column determines none."""
        values = self.variable.values
        present = (by >= 0) & (values >= 0)
        sets: dict[int, dict[int, int]] = defaultdict(dict)
        pairs, counts = np.unique(np.column_stack([by[present], values[present]]), axis=0, return_counts=True)
        for (cause, value), count in zip(pairs.tolist(), counts.tolist()):
            sets[cause][value] = count
        common = {cause: frozenset.intersection(*(self.sets[v] for v in several)) for cause, several in sets.items()}
        if all(common.values()):
            single = np.array([len(leaves) == 1 for leaves in self.sets])[values] & present
            if unit:
                believed = any(sum(several.values()) > 1 for several in sets.values())
            else:
                believed = bool(single.any()) and log_chance(by[single], self._leaf[values[single]]) < LOG_CHANCE
            return common if believed else None
        if exceptions and share_with_exceptions(((labels, 1) for labels in sets.values()), self.sets, unit=unit):
            return {cause: most_common(labels, self.sets) for cause, labels in sets.items()}
        return None

    @property
    def _leaf(self) -> Ints:
        """By category that stands for one value a number of that value, -1 for other categories."""
        number: dict[Leaves, int] = {}
        return ints([number.setdefault(leaves, len(number)) if len(leaves) == 1 else -1 for leaves in self.sets])

    def _with(self, by: Ints, smaller: Mapping[tuple[int, int], Leaves]) -> "Cells":
        """The column in which some pairs of a cause and a code stand for less."""
        variable, sets = self.variable, list(self.sets[:-1])
        code_of = {leaves: code for code, leaves in reversed(list(enumerate(sets)))}
        categories = list(variable.categories)
        for leaves in smaller.values():
            if leaves not in code_of:
                code_of[leaves] = len(sets)
                categories.append(SEPARATOR.join(sorted(self.tree.paths[leaf][0] for leaf in leaves)))
                sets.append(leaves)
        values = variable.values.copy()
        cells: Bools = np.zeros(len(values), dtype=bool)
        for (cause, code), leaves in smaller.items():
            rows = (by == cause) & (variable.values == code)
            values[rows], cells[rows] = code_of[leaves], True
        narrowed = replace(variable, categories=tuple(categories)).filled_in(values, cells)
        return Cells(narrowed, self.tree, [*sets, self.sets[-1]])


def share_with_exceptions(
    groups: Iterable[tuple[Mapping[int, int], int]], sets: Sequence[Leaves], *, unit: bool
) -> bool:
    """True if the cells of each group have a leaf in common, with few enough exceptions for a law.

    `groups`: how many cells of a group have each label, and how many groups are like it; `sets`: the leaves that each
    label stands for.
    """
    total: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    wrong = telling = 0
    for labels, times in groups:
        total.update({label: times * count for label, count in labels.items()})
        size, most = sum(labels.values()), max(shared(labels, sets).values())
        wrong, telling = wrong + times * (size - most), telling + times * (size if size > 1 else 0)
        sizes[size] += times
    cells, shares = sum(total.values()), _shares(total, sets)
    if not telling or wrong > EXCEPTIONS[unit] * telling or 2 * wrong * cells > (cells - shares[-1]) * telling:
        return False
    table = np.array(sorted(sizes.items()), dtype=np.int64)
    return least_bound(table[:, 0], table[:, 1], np.array(shares) / cells, wrong) < chance_of(unit=unit)


def most_common(labels: Mapping[int, int], sets: Sequence[Leaves]) -> Leaves:
    """The leaves that the largest number of cells of a group may have."""
    counts = shared(labels, sets)
    most = max(counts.values())
    return frozenset(leaf for leaf, count in counts.items() if count == most)


def shared(labels: Mapping[int, int], sets: Sequence[Leaves]) -> Counter[Any]:
    """Number of cells of a group that may have each leaf."""
    counts: Counter[Any] = Counter()
    for label, count in labels.items():
        for leaf in sets[label]:
            counts[leaf] += count
    return counts


def _shares(labels: Mapping[int, int], sets: Sequence[Leaves]) -> list[int]:
    """Numbers of cells that may have each leaf, ascending; leaves that the same labels stand for count as one."""
    inside: dict[Any, list[int]] = defaultdict(list)
    for label in sorted(labels):
        for leaf in sets[label]:
            inside[leaf].append(label)
    return sorted(sum(labels[label] for label in several) for several in set(map(tuple, inside.values())))


def under_one(under: Mapping[int, int], leaves: Leaves) -> int:
    """The node of a level that all of some leaves lie under, -1 if there is none."""
    nodes = {under.get(leaf, -1) for leaf in leaves}
    return nodes.pop() if len(nodes) == 1 else -1


def _stands_for(label: str, nodes: Mapping[str, Leaves], numbers: Sequence[float] | None) -> Leaves:
    """The leaves that a label of a released cell stands for; only itself where it cannot be read."""
    if label in nodes:
        return nodes[label]
    parts = label.split(SEPARATOR)
    if len(parts) > 1 and all(part in nodes for part in parts):
        return frozenset().union(*(nodes[part] for part in parts))
    ends = closed_interval(label)
    if numbers is not None and ends is not None:
        inside = frozenset(number for number, x in enumerate(numbers) if ends[0] <= x <= ends[1])
        return inside or frozenset([label])
    return frozenset([label])


def closed_interval(label: str) -> tuple[float, float] | None:
    """The ends of a label such as `[20, 39]`; None for any other label."""
    span = NumberRange.read(label) if label.startswith("[") and label.endswith("]") else None
    return None if span is None else (span.low, span.high)
