"""The first pass: a source becomes a stage, missing values treated as the plan says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.table.missing_values import check_nominal, check_some, check_some_left, refuse_empty, refuse_missing
from shoal.table.parts import source as sources
from shoal.table.parts.csv_quotes import IN_MEMORY
from shoal.table.parts.engine import HERE, Engine
from shoal.table.parts.in_place import StageInPlace
from shoal.table.parts.moments import Counted, Tally, combinations_in, counts_as_number, missing_cells, numbers
from shoal.table.parts.source import Source, plain
from shoal.table.parts.stage import OWN, ROW, Stage, write_part
from shoal.table.schema import Schema
from shoal.vocabulary.errors import DataError
from shoal.vocabulary.facts import ByLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Counts taken from a chunk while it became a part.

    Parameters
    ----------
    records, kept
        That came in, and that are in the part.
    missing
        Missing cells of columns that have some.
    cells
        Of each column whose missing cells are filled in, the distinct ones with their counts.
    ways
        Of each column, how missing numbers are written: null, or not-a-number of some bits.
    """

    path: Path
    records: int
    kept: int
    missing: Mapping[str, int]
    cells: Mapping[str, pl.DataFrame]
    ways: Mapping[str, set[int | None]]


def taken_in(
    source: Source, schema: Schema, folder: Path, engine: Engine = HERE, *, judged: bool = False
) -> tuple[Stage, ByLabel, int]:
    """The stage of a source, what became of missing values, and how many records there were.

    Parameters
    ----------
    judged
        Whether the table is to be judged: then null and not-a-number, which can be told apart, may not stand together.

    Raises
    ------
    InputError
        If the table does not fit the schema, or cannot be read.
    """
    _check_names(source, schema)
    tallies: dict[str, Tally] = {}
    missing: dict[str, int] = {}
    ways: dict[str, set[int | None]] = {}
    seen = []
    take = partial(_taken, schema=schema, folder=folder, size=sources.CHUNK, judged=judged)
    for piece in source.each(take, engine):
        seen.append(piece)
        _note_ways_of_missing(piece.ways, ways)
        for name, count in piece.missing.items():
            missing[name] = missing.get(name, 0) + count
        for name, cells in piece.cells.items():
            tallies.setdefault(name, Tally(name, cells.schema[name])).add(cells)
    rows = sum(piece.records for piece in seen)
    dropped = rows - sum(piece.kept for piece in seen)
    if judged and not rows:
        raise DataError("The released table has no records, so nothing can be proved on it. Check the file.")
    check_some(rows)
    for name, count in missing.items():
        if schema.columns[name].missing_policy == "refuse":
            refuse_missing(name, count, schema.columns[name].role)
    stage = Stage.of((piece.path for piece in seen), engine)
    check_some_left(stage.records)
    for name in (name for name in stage.schema if name in schema.columns):
        if schema.columns[name].missing_policy == "category":
            check_nominal(numbers(pl.Series(name, [], dtype=stage.schema[name]), schema.columns[name]))
    _impute(stage, schema, [tally for name, tally in tallies.items() if name in missing])
    facts: ByLabel = {
        name: {"missing": count, "policy": schema.columns[name].missing_policy} for name, count in missing.items()
    }
    return stage, {**facts, **({"records dropped": dropped} if dropped else {})}, rows


def left_in_place(source: Source, schema: Schema, folder: Path, engine: Engine = HERE) -> Stage:
    """The stage of a source that is to be judged; Parquet files are not written anew.

    Raises
    ------
    InputError
        As of `taken_in`.
    """
    if not source.ranges:
        return taken_in(source, schema, folder, engine, judged=True)[0]
    _check_names(source, schema)
    stage = StageInPlace.of_source(source, engine)
    ways_of: dict[str, set[int | None]] = {}
    for chunk in source.ranges if stage.strange else ():
        _note_ways_of_missing(_ways_of_missing(chunk.read(stage.strange)), ways_of)
    return stage


def _check_names(source: Source, schema: Schema) -> None:
    schema.check_covers(source.columns)
    if taken := [name for name in source.columns if name in OWN]:
        raise DataError(f"A column must not be called '{taken[0]}'. Rename it.")


def _taken(chunk: pl.DataFrame, number: int, *, schema: Schema, folder: Path, size: int, judged: bool) -> Taken:
    """A chunk written as a part; each record with its row in the table."""
    policies = {name: column.missing_policy for name, column in schema.columns.items()}
    first = number * size  # all chunks before are full
    frame = plain(chunk).with_columns(pl.Series(ROW, np.arange(first, first + len(chunk))))
    dropping = [name for name, policy in policies.items() if policy == "drop"]
    kept = frame.drop_nulls(dropping) if dropping else frame
    path = folder / f"part-{number:05d}.parquet"
    write_part(kept, path)
    return Taken(
        path=path,
        records=len(frame),
        kept=len(kept),
        missing=missing_cells(frame, schema),
        cells={name: combinations_in(frame, (name,)) for name, policy in policies.items() if policy == "impute"},
        ways=_ways_of_missing(chunk) if judged else {},
    )


def _ways_of_missing(chunk: pl.DataFrame) -> dict[str, set[int | None]]:
    """For each column of a chunk, the ways in which missing numbers are written: null, or not-a-number of some bits."""
    ways: dict[str, set[int | None]] = {}
    for column in chunk:
        if column.dtype.is_float():
            strange = column.filter(column.is_nan().fill_null(False)).cast(pl.Float64).to_numpy()
            bits = np.unique(strange.view(np.int64)).tolist()
            ways[column.name] = {*bits, None} if column.null_count() else set(bits)
    return ways


def _note_ways_of_missing(ways: Mapping[str, set[int | None]], noted: dict[str, set[int | None]]) -> None:
    """Put the ways of a chunk to those of the chunks before; several of one column are an error."""
    for name, seen in ways.items():
        noted[name] = noted.get(name, set()) | seen
        if len(noted[name]) > 1:
            raise DataError(
                f"Column '{name}' has missing cells written in several ways (null, not-a-number of one kind or "
                f"another), by which records can be told apart. {IN_MEMORY}"
            )


def _impute(stage: Stage, schema: Schema, tallies: Sequence[Tally]) -> None:
    """Fill in the median or the most frequent value of some columns, counted before records were dropped."""
    values = {}
    for tally in tallies:
        numeric = counts_as_number(stage.schema[tally.name], schema.columns[tally.name])
        values[tally.name] = _usual(tally.counted, numeric=numeric)
    for _ in stage.each(partial(_filled_in, values=values), None, stage.parts) if values else ():
        pass


def _filled_in(chunk: pl.DataFrame, path: Path, values: Mapping[str, Any]) -> None:
    write_part(chunk.with_columns(pl.col(name).fill_null(pl.lit(value)) for name, value in values.items()), path)


def _usual(counted: Counted, *, numeric: bool) -> Any:
    """The lower median of numbers; of others the most frequent value, the first of equally frequent ones."""
    if not len(counted.cells):
        refuse_empty(counted.cells.name)
    if numeric:
        total = np.cumsum(counted.counts)
        return counted.cells[int(np.searchsorted(total, (int(total[-1]) - 1) // 2, "right"))]
    return counted.cells[int(counted.counts.argmax())]
