"""The first pass: a source becomes a stage, missing values treated as the plan says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.schema import Schema
from shoal.errors import DataError
from shoal.scale.moments import Counted, Tally, counts_as_number, missing_cells, refuse_missing
from shoal.scale.source import Source, plain
from shoal.scale.stage import OWN, ROW, Stage, read_part, write_part


def taken_in(
    source: Source, schema: Schema, folder: Path, *, judged: bool = False
) -> tuple[Stage, dict[str, Any], int]:
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
    schema.check_covers(source.columns)
    if taken := [name for name in source.columns if name in OWN]:
        raise DataError(f"A column must not be called '{taken[0]}'. Rename it.")
    dropping = [name for name, column in schema.columns.items() if column.missing_policy == "drop"]
    imputed = [name for name, column in schema.columns.items() if column.missing_policy == "impute"]
    tallies: dict[str, Tally] = {}
    missing: dict[str, int] = {}
    parts, rows, dropped = [], 0, 0
    ways: dict[str, set[int | None]] = {}
    for number, chunk in enumerate(source.chunks()):
        if judged:
            _note_ways_of_missing(chunk, ways)
        frame = plain(chunk).with_columns(pl.Series(ROW, np.arange(rows, rows + len(chunk))))
        rows += len(frame)
        for name, count in missing_cells(frame, schema).items():
            missing[name] = missing.get(name, 0) + count
        for name in imputed:
            tallies.setdefault(name, Tally(name, frame.schema[name])).add(frame)
        kept = frame.drop_nulls(dropping) if dropping else frame
        dropped += len(frame) - len(kept)
        parts.append(folder / f"part-{number:05d}.parquet")
        write_part(kept, parts[-1])
    if not rows:
        raise DataError(
            "The released table has no records, so nothing can be proved on it. Check the file."
            if judged
            else "The table has no records. A release needs at least one."
        )
    for name, count in missing.items():
        if schema.columns[name].missing_policy == "refuse":
            refuse_missing(name, count, schema.columns[name].role)
    stage = Stage.of(parts)
    if not stage.parts:
        raise DataError(
            "No record is left after those with missing values were dropped. "
            "Set missing: impute, category or keep for the columns that lack values."
        )
    _impute(stage, schema, [tally for name, tally in tallies.items() if name in missing])
    facts: dict[str, Any] = {
        name: {"missing": count, "policy": schema.columns[name].missing_policy} for name, count in missing.items()
    }
    return stage, {**facts, **({"records dropped": dropped} if dropped else {})}, rows


def _note_ways_of_missing(chunk: pl.DataFrame, ways: dict[str, set[int | None]]) -> None:
    """Note how missing numbers are written, null or not-a-number of some bits; several ways are an error."""
    for column in chunk:
        if not column.dtype.is_float():
            continue
        seen = ways.setdefault(column.name, set())
        seen |= {None} if column.null_count() else set()
        strange = column.filter(column.is_nan().fill_null(False)).cast(pl.Float64).to_numpy()
        seen |= set(np.unique(strange.view(np.int64)).tolist())
        if len(seen) > 1:
            raise DataError(
                f"Column '{column.name}' has missing cells written in several ways (null, not-a-number of one kind or "
                f"another), by which records can be told apart. That is judged only in memory (--engine memory)."
            )


def _impute(stage: Stage, schema: Schema, tallies: Sequence[Tally]) -> None:
    """Fill in the median or the most frequent value of some columns, counted before records were dropped."""
    values = {}
    for tally in tallies:
        numeric = counts_as_number(stage.schema[tally.name], schema.columns[tally.name])
        values[tally.name] = _usual(tally.counted, numeric=numeric)
    for path in stage.parts if values else ():
        frame = read_part(path)
        write_part(frame.with_columns(pl.col(name).fill_null(pl.lit(value)) for name, value in values.items()), path)


def _usual(counted: Counted, *, numeric: bool) -> Any:
    """The lower median of numbers; of others the most frequent value, the first of equally frequent ones."""
    if not len(counted.cells):
        raise DataError(f"Column '{counted.cells.name}' has no value at all, so none can be imputed. Drop the column.")
    if numeric:
        total = np.cumsum(counted.counts)
        return counted.cells[int(np.searchsorted(total, (int(total[-1]) - 1) // 2, "right"))]
    return counted.cells[int(counted.counts.argmax())]
