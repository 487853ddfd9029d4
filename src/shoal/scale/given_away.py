"""Missing cells that a large release gives away itself: the laws of `shoal.data.dependencies`, asked by aggregates.

A missing cell that another column determines is no secret. On a table in memory it is filled in, and everything must
hold then as well. A table larger than memory is not filled in: if a column determines one that lacks cells, the release
is refused. Most columns contradict each other in a few records already, and are not looked at further.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.dependencies import LOG_CHANCE, UNITS, log_chance_of
from shoal.data.schema import Schema
from shoal.errors import Refused
from shoal.scale.csv_columns import literal, name_in_sql
from shoal.scale.proof import class_hash
from shoal.scale.session import session
from shoal.scale.stage import OWN, Stage

FIRST = 50_000
"""Records, about, in which a contradiction is looked for first."""

LOOKED_AT = 200_000
"""Records, about, in which it is looked for then: all that have some of the values of a column."""


def refuse_given_away(stage: Stage, schema: Schema, memory: int, spill: Path) -> None:
    """Refuse a released table in which a column determines missing cells of another.

    Raises
    ------
    Refused
        Naming both.
    """
    names = [name for name in stage.schema if name not in OWN]
    for by, on in given_away(stage, schema, memory, spill, names, names):
        raise Refused(
            f"Nothing was released. Column '{by}' determines missing cells of '{on}', so that they are given "
            f"away; a table larger than memory is not judged with such cells filled in. Take one of the two "
            f"columns out, or recode it."
        )


def given_away(
    stage: Stage, schema: Schema, memory: int, spill: Path, names: Sequence[str], lacking: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The columns among some that determine missing cells of others, each with the other.

    Parameters
    ----------
    names
        Columns that are released.
    lacking
        Columns whose missing cells are looked at.
    """
    lacking = _lacking(stage, lacking)
    if not lacking:
        return
    pairs = open_pairs(stage, names, lacking, contradicted)
    if not pairs:
        return
    with session(memory, spill) as connection:
        relation = connection.read_parquet([literal(path) for path in stage.parts], union_by_name=True)
        for by, on in pairs:
            if _determines(relation, by, on, unit=schema.columns[by].role in UNITS):
                yield by, on


def _lacking(stage: Stage, names: Sequence[str]) -> list[str]:
    counts = pl.concat(stage.each(_null_counts, names)).sum().row(0, named=True)
    return [name for name, count in counts.items() if count]


def _null_counts(chunk: pl.DataFrame) -> pl.DataFrame:
    return chunk.null_count()


def open_pairs(
    stage: Stage, names: Sequence[str], others: Sequence[str], contradicted: Callable[[pl.DataFrame], bool]
) -> list[tuple[str, str]]:
    """The pairs of a column and another one whose law no records contradict that are looked at.

    First those with which each part begins, which end most; then all that have some of the values of the column.

    Parameters
    ----------
    contradicted
        Whether some records contradict it, called with the two columns.
    """
    pairs = [(by, on) for by in names for on in others if by != on]
    if not pairs:
        return []
    columns = tuple(dict.fromkeys((*names, *others)))
    first = pl.concat(stage.each(partial(_first_records, count=max(FIRST // len(stage.parts), 1)), columns))
    left = [pair for pair in pairs if not contradicted(first.select(pair))]
    wanted = {by: [on for one, on in left if one == by] for by, _ in left}
    if not wanted:
        return []
    columns = tuple(dict.fromkeys(name for by, on in left for name in (by, on)))
    look = partial(
        _samples_in,
        others=wanted,
        shares=max(stage.records // LOOKED_AT, 1),
        most=max(2 * LOOKED_AT // len(stage.parts), 1),
    )
    seen = list(stage.each(look, columns))
    return [pair for pair in left if not contradicted(pl.concat(part[pair[0]].select(pair) for part in seen))]


def _first_records(chunk: pl.DataFrame, count: int) -> pl.DataFrame:
    return chunk[np.arange(min(count, len(chunk)))]  # a copy: a slice would keep the whole part in memory


def _samples_in(
    chunk: pl.DataFrame, others: Mapping[str, Sequence[str]], shares: int, most: int
) -> dict[str, pl.DataFrame]:
    """Records that have some of the values of a column, at most so many: of few values one is many records."""
    return {
        name: chunk.select(name, *columns)[np.flatnonzero(class_hash(chunk, (name,), shares) == 0)[:most]]
        for name, columns in others.items()
    }


def contradicted(records: pl.DataFrame) -> bool:
    """Whether two records with one cell of the first column have two of the second."""
    known = records.drop_nulls().unique()
    return known[known.columns[0]].n_unique() < len(known)


def _groups(relation: Any, by: str, on: str) -> Any:
    """For each cell of a column: different cells of another, known ones, and records."""
    one, other = name_in_sql(by), name_in_sql(on)
    return relation.filter(f"{one} IS NOT NULL").aggregate(
        f"{one}, count(DISTINCT {other}) AS different, count({other}) AS known, count(*) AS all_records", one
    )


def _determines(relation: Any, by: str, on: str, *, unit: bool) -> bool:
    """Whether one column determines the other, and some cell that is missing with it."""
    one, other = name_in_sql(by), name_in_sql(on)
    groups = _groups(relation, by, on)
    contradicted, fillable = groups.aggregate(
        "count(*) FILTER (different > 1), count(*) FILTER (different = 1 AND known < all_records)"
    ).fetchall()[0]
    if contradicted or not fillable:
        return False
    sizes = groups.filter("known > 0").aggregate("known, count(*)", "known").fetchall()
    if unit:
        return any(size > 1 for size, _ in sizes)
    counts = relation.filter(f"{one} IS NOT NULL AND {other} IS NOT NULL").aggregate(f"count(*), {other}", other)
    return log_chance_of_groups(sizes, [count for count, _ in counts.fetchall()]) < LOG_CHANCE


def log_chance_of_groups(sizes: Sequence[tuple[int, int]], counts: Sequence[int]) -> float:
    """As `shoal.data.dependencies.log_chance_of`, in an order of its own: DuckDB's is none.

    Parameters
    ----------
    sizes
        Records of a group, and how many groups have so many.
    counts
        Records of these that have each value.
    """
    table = np.array(sorted(sizes), dtype=np.int64)
    return log_chance_of(table[:, 0], table[:, 1], np.array(sorted(counts), dtype=np.int64))
