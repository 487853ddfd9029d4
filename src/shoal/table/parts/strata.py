"""The strata of a table in parts, numbered alike in every part, and the moments of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.table.joint_moments import JointMoments
from shoal.table.parts.moments import COUNT, combinations_of, counts_as_number, numbers
from shoal.table.parts.stage import Stage
from shoal.table.schema import Column, Schema


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
        merged = combinations_of(stage, names)
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
    """Moments of the whole table, by stratum, that a method which works row by row needs.

    Parameters
    ----------
    moments
        Of some columns in the whole of each stratum.
    """

    strata: Strata
    moments: tuple[JointMoments, ...]

    @classmethod
    def of(cls, stage: Stage, schema: Schema, columns: Sequence[str]) -> Self | None:
        """Moments of some columns; None if one is not continuous, which the method itself refuses."""
        types = stage.schema
        if not columns or not all(counts_as_number(types[name], schema.columns[name]) for name in columns):
            return None
        names = schema.names("stratum")
        strata = Strata.of(stage, names)
        moments = tuple(JointMoments.of_columns(len(columns)) for _ in strata.counts)
        look = partial(_seen, strata=strata, columns={name: schema.columns[name] for name in columns})
        for seen in stage.each(look, tuple(dict.fromkeys((*columns, *names)))):
            for number, part in seen.items():
                moments[number].join(part)
        return cls(strata=strata, moments=moments)


def _seen(chunk: pl.DataFrame, strata: Strata, columns: Mapping[str, Column]) -> dict[int, JointMoments]:
    """The moments of some columns in each stratum that occurs in a part."""
    x = np.column_stack([numbers(chunk[name], column).values for name, column in columns.items()])
    stratum = strata.of_records(chunk)
    return {int(number): JointMoments.of(x[stratum == number]) for number in np.unique(stratum)}
