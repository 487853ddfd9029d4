"""Generalised cells that a large release narrows down itself: the laws of `shoal.judges.refinement`, by aggregates.

A cell `Spain` of a household of which another member lives in `Madrid` hides nothing. On a table in memory it is
narrowed down, and everything must hold then as well. A table larger than memory is not: if a column narrows cells of
another down, the release is refused. That can only be where labels overlap, as those of one level never do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from shoal.data.dependencies import LOG_CHANCE, UNITS
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.errors import Refused
from shoal.judges.refinement import Cells, Leaves, trees, under_one
from shoal.scale.csv_columns import literal, name_in_sql
from shoal.scale.given_away import log_chance_of_groups, open_pairs
from shoal.scale.moments import counted
from shoal.scale.session import session
from shoal.scale.stage import OWN, Stage

LABEL = "shoal: label"
"""A label beside its number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
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
    def of(cls, known: pl.Series, schema: Schema, folder: Path) -> Self | None:
        """Those of a column; None where no two of them overlap."""
        described = Schema.model_construct(root={known.name: schema.columns[known.name]})
        released = Microdata.finished(known.to_frame(), described).encoded
        tree = trees(described, folder, released).get(known.name)
        cells = None if tree is None else Cells.of(released[known.name], tree)
        if cells is None or not cells.overlap:
            return None
        frame = pl.DataFrame({LABEL: known}).with_row_index("code")
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

    labels: Labels
    reads: Mapping[int, Any]
    under: Mapping[int, int] | None = None

    def contradicted(self, codes: Sequence[int]) -> bool:
        """Whether records with some labels cannot all follow it."""
        if self.under is None:
            return not frozenset.intersection(*(self.labels.sets[code] for code in codes))
        return len({self.reads[code] for code in codes if code in self.reads}) > 1

    def narrows(self, codes: Sequence[int]) -> bool:
        """Whether it leaves less of one of some labels than it stands for."""
        sets = [self.labels.sets[code] for code in codes]
        if self.under is None:
            return len(set(sets)) > 1
        nodes = {self.reads[code] for code in codes if code in self.reads}
        inside = frozenset(leaf for leaf, node in self.under.items() if node in nodes)
        return any(leaves & inside and leaves - inside for leaves in sets)


def refuse_narrowed(stage: Stage, schema: Schema, folder: Path, memory: int, spill: Path) -> None:
    """Refuse a released table in which a column narrows down generalised cells of another.

    Raises
    ------
    Refused
        Naming both.
    """
    names = [name for name in stage.schema if name not in OWN]
    general = [name for name in names if schema.columns[name].hierarchy is not None]
    labels = {name: known for name in general if (known := Labels.of(counted(stage, name).cells, schema, folder))}
    if not labels:
        return

    def contradicted(records: pl.DataFrame) -> bool:
        known = labels[records.columns[1]]
        return not _open_ways(known, _groups_of(records, known))

    pairs = open_pairs(stage, names, list(labels), contradicted)
    if not pairs:
        return
    with session(memory, spill) as connection:
        files = connection.read_parquet([literal(path) for path in stage.parts], union_by_name=True)
        for by, on in pairs:
            if _narrows(connection, files, by, on, labels[on], unit=schema.columns[by].role in UNITS):
                raise Refused(
                    f"Nothing was released. Column '{by}' narrows down generalised cells of '{on}', so that they are "
                    f"given away; a table larger than memory is not judged with such cells narrowed down. Take one of "
                    f"the two columns out, or generalise '{on}' to one level."
                )


def _groups_of(pairs: pl.DataFrame, labels: Labels) -> list[list[int]]:
    """The different sets of labels that records with one cell of the first column have in the second."""
    by, on = pairs.columns
    known = pairs.drop_nulls().join(labels.frame, left_on=on, right_on=LABEL)
    sets = known.group_by(by).agg(pl.col("code").unique().sort())["code"].unique()
    return [list(codes) for codes in sets.to_list()]


def _open_ways(labels: Labels, groups: Sequence[Sequence[int]]) -> list[Way]:
    """The ways of reading labels that no group contradicts."""
    return [way for way in labels.ways if not any(way.contradicted(codes) for codes in groups)]


def _narrows(connection: Any, files: Any, by: str, on: str, labels: Labels, *, unit: bool) -> bool:
    """Whether a column narrows down some cell of another, by a law that is believed."""
    one, other = name_in_sql(by), name_in_sql(on)
    numbered = connection.from_arrow(labels.frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    known = (
        files.filter(f"{one} IS NOT NULL")
        .project(f"{one} AS cause, {other} AS label")
        .join(numbered.project(f"code, {name_in_sql(LABEL)} AS label"), "label")
    )
    sets = known.aggregate("cause, list_sort(list(DISTINCT code)) AS codes", "cause")
    groups = [codes for (codes,) in sets.project("codes").distinct().fetchall()]
    return any(
        unit or _believed(known, way)
        for way in _open_ways(labels, groups)
        if any(way.narrows(codes) for codes in groups)
    )


def _believed(known: Any, way: Way) -> bool:
    """Whether that no exception is seen is no chance, as for columns in memory."""
    if not way.reads:
        return False
    read = known.filter(f"code IN ({', '.join(map(str, way.reads))})")
    sizes = read.aggregate("cause, count(*) AS n", "cause").aggregate("n, count(*)", "n").fetchall()
    counts: dict[Any, int] = {}
    for code, count in read.aggregate("code, count(*)", "code").fetchall():
        counts[way.reads[code]] = counts.get(way.reads[code], 0) + count
    return bool(sizes) and log_chance_of_groups(sizes, list(counts.values())) < LOG_CHANCE
