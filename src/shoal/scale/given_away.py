"""Missing cells that a large release gives away itself: the laws of `shoal.data.dependencies`, asked by aggregates.

A missing cell that another column determines is no secret. On a table in memory it is filled in, and everything must
hold then as well. A table larger than memory is not filled in: if a column determines one that lacks cells, the release
is refused. Most columns contradict each other in a few records already, and are not looked at further.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.dependencies import LOG_CHANCE, UNITS, log_chance_of
from shoal.data.schema import Schema
from shoal.errors import Refused
from shoal.scale.csv_columns import name_in_sql
from shoal.scale.moments import counted
from shoal.scale.proof import class_hash
from shoal.scale.session import session
from shoal.scale.stage import OWN, Stage

LOOKED_AT = 200_000
"""Records, about, in which a contradiction is looked for first: all that have some of the values of a column."""


def refuse_given_away(stage: Stage, schema: Schema, memory: int, spill: Path) -> None:
    """Refuse a released table in which a column determines missing cells of another.

    Raises
    ------
    Refused
        Naming both.
    """
    names = [name for name in stage.schema if name not in OWN]
    lacking = _lacking(stage, names)
    if not lacking:
        return
    open_pairs = _uncontradicted(stage, names, lacking)
    if not open_pairs:
        return
    with session(memory, spill) as connection:
        relation = connection.read_parquet([str(path) for path in stage.parts], union_by_name=True)
        for by, on in open_pairs:
            if _determines(relation, stage, by, on, unit=schema.columns[by].role in UNITS):
                raise Refused(
                    f"Nothing was released. Column '{by}' determines missing cells of '{on}', so that they are given "
                    f"away; a table larger than memory is not judged with such cells filled in. Take one of the two "
                    f"columns out, or recode it."
                )


def _lacking(stage: Stage, names: list[str]) -> list[str]:
    missing = dict.fromkeys(names, 0)
    for chunk in stage.chunks(names):
        for name, count in chunk.null_count().row(0, named=True).items():
            missing[name] += count
    return [name for name, count in missing.items() if count]


def _uncontradicted(stage: Stage, names: list[str], lacking: list[str]) -> list[tuple[str, str]]:
    """Pairs of columns in which no two records with one cell of the first and two of the second were seen."""
    shares = max(stage.records // LOOKED_AT, 1)
    seen: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
    for chunk in stage.chunks(names):
        for name in names:
            looked_at = chunk.filter(pl.Series(class_hash(chunk, (name,), shares) == 0))
            seen[name].append(looked_at.select(list(dict.fromkeys((name, *lacking)))))
    pairs = []
    for by in names:
        records = pl.concat(seen[by])
        for on in lacking:
            if on != by:
                known = records.select(by, on).drop_nulls().unique()
                if known[by].n_unique() == len(known):
                    pairs.append((by, on))
    return pairs


def _determines(relation: Any, stage: Stage, by: str, on: str, *, unit: bool) -> bool:
    """Whether one column determines the other, and some cell that is missing with it."""
    one, other = name_in_sql(by), name_in_sql(on)
    groups = relation.filter(f"{one} IS NOT NULL").aggregate(
        f"{one}, count(DISTINCT {other}) AS different, count({other}) AS known, count(*) AS all_records", one
    )
    contradicted, fillable = groups.aggregate(
        "count(*) FILTER (different > 1), count(*) FILTER (different = 1 AND known < all_records)"
    ).fetchall()[0]
    if contradicted or not fillable:
        return False
    sizes = groups.filter("known > 0").aggregate("known, count(*)", "known").fetchall()
    if unit:
        return any(size > 1 for size, _ in sizes)
    table = np.array(sorted(sizes), dtype=np.int64)
    return log_chance_of(table[:, 0], table[:, 1], counted(stage, on).counts) < LOG_CHANCE
