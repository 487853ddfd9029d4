"""The strata of a table larger than memory, numbered alike in every part, and the moments of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from shoal.data.joint_moments import JointMoments
from shoal.data.schema import Schema
from shoal.errors import DataError, plural
from shoal.kernels.arrays import Longs
from shoal.scale.moments import COUNT, counts_as_number, numbers
from shoal.scale.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Strata:
    """The strata of a table, in the order of their cells; one of all records where it has no stratum column.

    Parameters
    ----------
    cells
        One row a stratum.
    counts
        Shape (s,); records of each.
    """

    names: tuple[str, ...]
    cells: pl.DataFrame
    counts: Longs

    @classmethod
    def of(cls, stage: Stage, names: tuple[str, ...]) -> Self:
        if not names:
            return cls(names=(), cells=pl.DataFrame(), counts=np.array([stage.records]))
        merged = pl.DataFrame(schema={**{name: stage.schema[name] for name in names}, COUNT: pl.Int64})
        for chunk in stage.chunks(names):
            part = chunk.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT))
            merged = pl.concat([merged, part]).group_by(names).agg(pl.col(COUNT).sum())
        merged = merged.sort(names)
        return cls(names=names, cells=merged.drop(COUNT), counts=merged[COUNT].to_numpy().astype(np.int64))

    def of_records(self, frame: pl.DataFrame) -> Longs:
        """Shape (n,); the stratum of each record."""
        if not self.names:
            return np.zeros(len(frame), dtype=np.int64)
        numbered = self.cells.with_row_index(COUNT)
        joined = frame.select(self.names).join(
            numbered, on=self.names, how="left", nulls_equal=True, maintain_order="left"
        )
        return joined[COUNT].to_numpy().astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class StrataMoments:
    """What a method that works row by row must know of the whole table.

    Parameters
    ----------
    moments
        Of some columns in the whole of each stratum.
    """

    strata: Strata
    moments: tuple[JointMoments, ...]

    @classmethod
    def of(cls, stage: Stage, schema: Schema, columns: Sequence[str], method: str) -> Self | None:
        """Those of some columns; None where one is not continuous, which the method says itself.

        Raises
        ------
        DataError
            If a cell is missing.
        """
        types = stage.schema
        if not columns or not all(counts_as_number(types[name], schema.columns[name]) for name in columns):
            return None
        names = schema.names("stratum")
        strata = Strata.of(stage, names)
        moments = tuple(JointMoments.of_columns(len(columns)) for _ in strata.counts)
        missing = dict.fromkeys(columns, 0)
        for chunk in stage.chunks(tuple(dict.fromkeys((*columns, *names)))):
            variables = [numbers(chunk[name], schema.columns[name]) for name in columns]
            for variable in variables:
                missing[variable.name] += int(variable.missing.sum())
            x = np.column_stack([variable.values for variable in variables])
            stratum = strata.of_records(chunk)
            for number in np.unique(stratum).tolist():
                moments[number].add(x[stratum == number])
        for name, count in missing.items():
            if count:
                raise DataError(
                    f"Column '{name}' has {plural(count, 'missing value')}; {method} needs complete columns. "
                    f"Set missing: drop or impute for it."
                )
        return cls(strata=strata, moments=moments)
