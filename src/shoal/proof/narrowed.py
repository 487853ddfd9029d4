"""Generalised cells that a large release narrows down itself: the laws of `shoal.judges.refinement`, by aggregates.

A cell `Spain` of a household of which another member lives in `Madrid` hides nothing. On a table in memory it is
narrowed down, and everything must hold then as well. A table in parts is not: if a column narrows cells of
another down, without exceptions or with few, the release is refused. That can only be where labels overlap, as those of
one level never do.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from shoal.judges.refinement import Cells, Leaves, most_common, share_with_exceptions, shared, trees, under_one
from shoal.proof.given_away import log_chance_of_groups, open_pairs
from shoal.table.dependencies import EXCEPTIONS, LOG_CHANCE, UNITS, believed
from shoal.table.microdata import Microdata
from shoal.table.parts.csv_columns import name_in_sql
from shoal.table.parts.moments import counted
from shoal.table.parts.session import session
from shoal.table.parts.stage import OWN, Stage
from shoal.table.schema import Schema
from shoal.vocabulary.errors import Refused

Group = Mapping[int, int]
"""How many records with one cell of a column have each label of another, by number."""

LABEL = "shoal: label"
"""A label beside its number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedLabels:
    """The labels of a column, by number, with the leaves that each stands for, and the levels of its hierarchy.

    Parameters
    ----------
    levels
        For each level between leaves and root the node, by number, that each leaf lies under.
    """

    frame: pl.DataFrame
    sets: Sequence[Leaves]
    levels: Sequence[Mapping[int, int]]

    @classmethod
    def of(cls, labels: pl.Series, schema: Schema, folder: Path) -> Self | None:
        """Ranges or nodes of a column; None where no two of them overlap."""
        described = Schema.model_construct(root={labels.name: schema.columns[labels.name]})
        released = Microdata.finished(labels.to_frame(), described).encoded
        tree = trees(described, folder, released).get(labels.name)
        cells = None if tree is None else Cells.of(released[labels.name], tree)
        if cells is None or not cells.overlap:
            return None
        frame = pl.DataFrame({LABEL: labels}).with_row_index("code")
        return cls(frame=frame, sets=[cells.sets[c] for c in cells.variable.values.tolist()], levels=cells.levels)

    @property
    def ways(self) -> "list[Way]":
        """All ways of reading them."""
        single = {code: min(leaves, key=str) for code, leaves in enumerate(self.sets) if len(leaves) == 1}
        ways = [Way(labels=self, reads=single)]
        for under in self.levels:
            nodes = {code: node for code, leaves in enumerate(self.sets) if (node := under_one(under, leaves)) >= 0}
            ways.append(Way(labels=self, reads=nodes, under=under))
        return ways


@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """A law that a column may follow: records with one cell of it have one value, or lie under one node of a level.

    Parameters
    ----------
    reads
        The value, or the node, of each label that says it.
    under
        The level's node of each leaf; None for values.
    """

    labels: NumberedLabels
    reads: Mapping[int, Any]
    under: Mapping[int, int] | None = None

    def read(self, labels: Group) -> Counter[Any]:
        """Number of cells of a group that may have each value, or lie under each node."""
        if self.under is None:
            return shared(labels, self.labels.sets)
        nodes: Counter[Any] = Counter()
        for code, count in labels.items():
            if code in self.reads:
                nodes[self.reads[code]] += count
        return nodes

    def wrong(self, labels: Group) -> int:
        """Cells of a group that do not follow it where as many do as can."""
        counts = self.read(labels)
        cells = sum(labels.values()) if self.under is None else counts.total()
        return cells - max(counts.values(), default=0)

    def narrows(self, labels: Group) -> bool:
        """True if it leaves less of one of some labels than the label stands for."""
        most = self.read(labels).most_common(2)
        if not most or (self.under is not None and len(most) == 2 and most[0][1] == most[1][1]):
            return False
        if self.under is None:
            inside = most_common(labels, self.labels.sets)
        else:
            inside = frozenset(leaf for leaf, node in self.under.items() if node == most[0][0])
        sets = [self.labels.sets[code] for code in labels]
        return any(leaves & inside and leaves - inside for leaves in sets)

    def has_exceptions(self, groups: Sequence[tuple[Group, int]], *, unit: bool) -> bool:
        """True for a law with exceptions."""
        if self.under is None:
            return share_with_exceptions(groups, self.labels.sets, unit=unit)
        sizes: Counter[int] = Counter()
        nodes: Counter[Any] = Counter()
        for labels, times in groups:
            counts = self.read(labels)
            sizes[counts.total()] += times
            nodes.update({node: times * count for node, count in counts.items()})
        wrong = sum(times * self.wrong(labels) for labels, times in groups)
        table = np.array(sorted((size, times) for size, times in sizes.items() if size), dtype=np.int64).reshape(-1, 2)
        counts_of = np.array(sorted(nodes.values()), dtype=np.int64)
        return bool(len(table)) and believed(table[:, 0], table[:, 1], counts_of, wrong, unit=unit)


def refuse_narrowed(stage: Stage, schema: Schema, folder: Path, memory: int, spill: Path) -> None:
    """Refuse a released table in which a column narrows down generalised cells of another.

    Raises
    ------
    Refused
        Naming both.
    """
    names = [name for name in stage.schema if name not in OWN]
    general = [name for name in names if schema.columns[name].hierarchy is not None]
    labels = {
        name: labels_of
        for name in general
        if (labels_of := NumberedLabels.of(counted(stage, name).cells, schema, folder))
    }
    if not labels:
        return

    def contradicted(records: pl.DataFrame) -> bool:
        by, on = records.columns
        groups = _groups_of(records, labels[on])
        share = 2 * EXCEPTIONS[schema.columns[by].role in UNITS] * sum(sum(g.values()) for g in groups)
        return all(sum(map(way.wrong, groups)) > share for way in labels[on].ways)

    pairs = open_pairs(stage, names, list(labels), contradicted)
    if not pairs:
        return
    with session(memory, spill) as connection:
        files = stage.relation(connection)
        for by, on in pairs:
            if _narrows(connection, files, by, on, labels[on], unit=schema.columns[by].role in UNITS):
                raise Refused(
                    f"Nothing was released. Column '{by}' narrows down generalised cells of '{on}', so that they are "
                    f"given away; a table in parts is not judged with such cells narrowed down. Take one of "
                    f"the two columns out, or generalise '{on}' to one level."
                )


def _groups_of(pairs: pl.DataFrame, labels: NumberedLabels) -> list[Group]:
    """Number of records, for each cell of the first column, with each label in the second."""
    by, on = pairs.columns
    placed = pairs.drop_nulls().join(labels.frame, left_on=on, right_on=LABEL)
    counts = placed.group_by(by, "code").len()
    groups: dict[Any, dict[int, int]] = defaultdict(dict)
    for cause, code, count in counts.iter_rows():
        groups[cause][code] = count
    return list(groups.values())


def _narrows(connection: Any, files: Any, by: str, on: str, labels: NumberedLabels, *, unit: bool) -> bool:
    """True if a column narrows down some cell of another by a law that is statistically supported."""
    cause, label = name_in_sql(by), name_in_sql(on)
    numbered = connection.from_arrow(labels.frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    placed = (
        files.filter(f"{cause} IS NOT NULL")
        .project(f"{cause} AS cause, {label} AS label")
        .join(numbered.project(f"code, {name_in_sql(LABEL)} AS label"), "label")
    )
    cells = placed.aggregate("cause, code, count(*)::BIGINT AS n", "cause, code")
    kinds = cells.aggregate("cause, list_sort(list([code::BIGINT, n])) AS cells", "cause")
    alike = sorted(kinds.aggregate("cells, count(*)", "cells").fetchall())
    groups = [(dict(map(tuple, cells)), times) for cells, times in alike]
    return any(
        _follow(placed, way, groups, unit=unit)
        for way in labels.ways
        if any(way.narrows(labels) for labels, _ in groups)
    )


def _follow(pairs: Any, way: Way, groups: Sequence[tuple[Group, int]], *, unit: bool) -> bool:
    """True if records follow a law, without exceptions or with few."""
    if any(way.wrong(labels) for labels, _ in groups):
        return way.has_exceptions(groups, unit=unit)
    return unit or _believed(pairs, way)


def _believed(pairs: Any, way: Way) -> bool:
    """True if the absence of exceptions is not due to chance, as for columns in memory."""
    if not way.reads:
        return False
    read = pairs.filter(f"code IN ({', '.join(map(str, way.reads))})")
    sizes = read.aggregate("cause, count(*) AS n", "cause").aggregate("n, count(*)", "n").fetchall()
    counts: dict[Any, int] = {}
    for code, count in read.aggregate("code, count(*)", "code").fetchall():
        counts[way.reads[code]] = counts.get(way.reads[code], 0) + count
    return bool(sizes) and log_chance_of_groups(sizes, list(counts.values())) < LOG_CHANCE
