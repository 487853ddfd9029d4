"""Facts about a whole table that its parts need: moments, categories, counts, gathered chunk by chunk in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.kernels.arrays import Floats, Longs
from shoal.table.cells import encode
from shoal.table.hierarchy_forms import of_values
from shoal.table.parts.stage import Stage
from shoal.table.schema import Column, Schema
from shoal.table.variable import Variable
from shoal.table.whole_column import WholeColumn
from shoal.vocabulary.errors import Refused

COUNT = "shoal: count"

OF_ALL_VALUES = ("mad", "rank", "log")
"""Standardisations that means, variances and ends of columns are not enough for."""

BYTES_A_CELL = 160
"""Of memory that a step takes for each cell of the combinations that it looks at, beside the cells themselves: 130 were
measured of generalisation with two million combinations of six columns."""


@dataclass(slots=True)
class MergedMoments:
    """Mean and sum of squares about it, merged chunk by chunk (Chan, Golub & LeVeque 1983)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def of(cls, values: Floats) -> "MergedMoments":
        """Moments of some numbers, of which none is missing."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        squares = float(((values - mean) ** 2).sum())
        return cls(count=len(values), mean=mean, squares=squares, low=float(values.min()), high=float(values.max()))

    def join(self, other: "MergedMoments") -> None:
        """More numbers; the order in which they come is a part of the figures."""
        if not other.count:
            return
        total, gap = self.count + other.count, other.mean - self.mean
        self.squares += other.squares + gap * gap * self.count * other.count / total
        self.mean += gap * other.count / total
        self.count = total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    @property
    def deviation(self) -> float:
        """The n - 1 standard deviation; 0 for a constant column."""
        return float(np.sqrt(self.squares / (self.count - 1))) if self.count > 1 and self.high > self.low else 0.0

    def scaled(self, scale: str) -> WholeColumn:
        """The column's standardisation."""
        if scale == "none":
            return WholeColumn()
        return WholeColumn(centre=self.mean, spread=self.deviation if scale == "sd" else self.high - self.low)


def moments_of(stage: Stage, schema: Schema, names: Iterable[str]) -> dict[str, MergedMoments]:
    """Moments of the continuous ones of some columns, in the units in which records count them."""
    wanted = {name: MergedMoments() for name in names}
    look = partial(_moments, columns={name: schema.columns[name] for name in wanted})
    for seen in stage.each(look, tuple(wanted)) if wanted else ():
        for name, moments in wanted.items():
            moments.join(seen[name])
    return wanted


def _moments(chunk: pl.DataFrame, columns: Mapping[str, Column]) -> dict[str, MergedMoments]:
    variables = [numbers(chunk[name], column) for name, column in columns.items()]
    return {variable.name: MergedMoments.of(variable.values[~variable.missing]) for variable in variables}


def numbers(series: pl.Series, column: Column) -> Variable:
    """A column of a frame in numbers."""
    return encode(nw.from_native(series, series_only=True), column, Path())


def counts_as_number(dtype: pl.DataType, column: Column) -> bool:
    """True if a column of this type is continuous."""
    level = column.level or ("nominal" if column.hierarchy is not None else None)
    described = column.model_copy(update={"hierarchy": None, "level": level})
    return numbers(pl.Series("", [], dtype=dtype), described).continuous


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The distinct cells of a column, missing ones left out, and how often each occurs."""

    cells: pl.Series
    counts: Longs
    missing: int = 0


class Tally:
    """Counts the distinct cells of a column, chunk by chunk."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.cells = pl.DataFrame(schema={name: dtype, COUNT: pl.Int64})

    def add(self, cells: pl.DataFrame) -> None:
        """The cells of a chunk, as `combinations_in` counts them."""
        self.cells = pl.concat([self.cells, cells]).group_by(self.name).agg(pl.col(COUNT).sum())

    @property
    def counted(self) -> Counted:
        """All that was counted, in ascending order."""
        cells = self.cells.filter(pl.col(self.name).is_not_null()).sort(self.name)
        missing = self.cells.filter(pl.col(self.name).is_null())[COUNT].sum()
        counts = cells[COUNT].to_numpy().astype(np.int64)
        return Counted(cells=cells[self.name], counts=counts, missing=int(missing))


def counted(stage: Stage, name: str) -> Counted:
    """The distinct cells of one column of a stage."""
    tally = Tally(name, stage.schema[name])
    for cells in stage.each(partial(combinations_in, names=(name,)), (name,)):
        tally.add(cells)
    return tally.counted


def combinations_in(chunk: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The distinct combinations of some columns of a chunk, and how many records have each."""
    return chunk.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT))


def combinations_of(stage: Stage, names: Sequence[str], memory: int | None = None, step: str = "") -> pl.DataFrame:
    """The distinct combinations of some columns and how many records have each, in ascending order.

    Parameters
    ----------
    memory
        Bytes that a step may take that looks at all of them at once.

    Raises
    ------
    Refused
        As soon as there are too many for it.
    """
    merged = pl.DataFrame(schema={**{name: stage.schema[name] for name in names}, COUNT: pl.Int64})
    for part in stage.each(partial(combinations_in, names=tuple(names)), names):
        merged = pl.concat([merged, part]).group_by(names).agg(pl.col(COUNT).sum())
        if memory is not None and merged.estimated_size() + BYTES_A_CELL * len(merged) * len(names) > memory:
            raise Refused(
                f"Nothing was released. The step {step} looks at all distinct combinations of its columns at once, and "
                f"these {len(names)} columns have more of them than {memory / 1e9:.3g} GB of memory hold (--memory). "
                f"Recode some columns first, give the step fewer, or allow it more memory."
            )
    return merged.sort(names)


def whole_of(counted: Counted, column: Column, folder: Path) -> tuple[Column, WholeColumn]:
    """The distribution of a column's values over the whole table, and the column's description completed from them.

    The description gets the categories in their order, so that a part's codes are the whole's.
    """
    variable = encode(nw.from_native(counted.cells, series_only=True), column, folder)
    place = variable.given
    values, first = np.unique(place, return_inverse=True)
    counts = np.bincount(first.ravel(), weights=counted.counts, minlength=len(values)).astype(np.int64)
    if variable.continuous:
        values = values.astype(np.float64)
        return column, WholeColumn(values=values, counts=counts, missing=counted.missing)
    settled = column.model_copy(update={"level": variable.level, "order": variable.categories})
    if variable.hierarchy is not None:
        settled = settled.model_copy(update={"hierarchy": variable.hierarchy})
    return settled, WholeColumn(values=values.astype(np.int64), counts=counts, missing=counted.missing)


@dataclass(frozen=True, kw_only=True)
class WholeTable:
    """A table's columns as parts of it need them.

    Parameters
    ----------
    schema
        Descriptions in which the order of categories stands where it matters.
    columns
        What is known of the whole of some columns.
    """

    schema: Schema
    columns: Mapping[str, WholeColumn] = field(default_factory=dict)

    @classmethod
    def of(
        cls, stage: Stage, schema: Schema, folder: Path, *, compared: Iterable[str], counts: Iterable[str] = ()
    ) -> "WholeTable":
        """The facts that the parts of a stage need.

        Parameters
        ----------
        compared
            Columns by which distances are taken; all that are numbers are standardised by moments or ends.
        counts
            Columns whose distribution matters.
        """
        described = dict(schema.columns)
        scaled: list[str] = []
        types = stage.schema
        columns: dict[str, WholeColumn] = {}
        for name in dict.fromkeys(compared):
            column = described[name]
            if counts_as_number(types[name], column):
                if column.scale in OF_ALL_VALUES:
                    columns[name] = whole_of(counted(stage, name), column, folder)[1].scaled(column.scale)
                else:
                    scaled.append(name)
            elif column.level == "ordinal" or column.hierarchy is not None:
                described[name], _ = whole_of(counted(stage, name), column, folder)
        for name, moments in moments_of(stage, schema, scaled).items():
            columns[name] = moments.scaled(described[name].scale)
        for name in dict.fromkeys(counts):
            described[name], whole = whole_of(counted(stage, name), described[name], folder)
            column_of = columns.get(name, WholeColumn())
            columns[name] = replace(column_of, values=whole.values, counts=whole.counts, missing=whole.missing)
        return cls(schema=Schema.model_construct(root=described), columns=columns)


def with_hierarchies(stage: Stage, schema: Schema, folder: Path) -> Schema:
    """The columns with their hierarchies made of all values of a table, as a part may lack some, or have none."""
    described = dict(schema.columns)
    present = set(stage.columns)
    for name, column in schema.columns.items():
        if name in present and column.hierarchy is not None and of_values(column.hierarchy):
            cells = nw.from_native(counted(stage, name).cells, series_only=True)
            described[name] = column.model_copy(update={"hierarchy": encode(cells, column, folder).hierarchy})
    return Schema.model_construct(root=described)


def with_categories(stage: Stage, whole: WholeTable, names: Iterable[str], folder: Path) -> WholeTable:
    """The whole with all categories of some columns, so that parts number and order them alike."""
    described = dict(whole.schema.columns)
    types = stage.schema
    for name in names:
        column = described[name]
        if not counts_as_number(types[name], column) and column.order is None:
            described[name], _ = whole_of(counted(stage, name), column, folder)
    return WholeTable(schema=Schema.model_construct(root=described), columns=whole.columns)


def missing_cells(chunk: pl.DataFrame, schema: Schema) -> dict[str, int]:
    """Missing cells of each column of a chunk, where there are any."""
    counts = chunk.null_count().row(0, named=True)
    return {name: count for name, count in counts.items() if count and name in schema.columns}
