"""Work on one part of a table, in a process of its own: the step's own code on the part's records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Floats
from shoal.kernels.draws import keyed_generator
from shoal.plan.steps import MaskStep, PartitionStep, Step
from shoal.processes.side_by_side import remembered
from shoal.table.packed import Packed
from shoal.table.partition import Partition
from shoal.table.parts.encoding import encoded, frame_of, rebuilt
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import GROUP, write_part
from shoal.table.parts.strata import StrataMoments
from shoal.table.records import Records
from shoal.table.schema import Column, Schema
from shoal.table.variable import Variable
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import Facts

GROUPS_A_PART = 1 << 32
"""Numbers of the groups of one part: the groups of part p are p times this and up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartJob:
    """One part of a step's work.

    Parameters
    ----------
    number
        Of the part; with it the random numbers of a block's groups.
    paths
        Where its records are: a block that was joined with others has several.
    out
        Where they go.
    """

    number: int
    paths: tuple[Path, ...]
    out: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """A step as parts are treated by it.

    Parameters
    ----------
    columns
        That it changes.
    key
        Of its random numbers.
    known
        What a method that wants moments must know of the whole table.
    """

    step: Step
    columns: tuple[str, ...]
    whole: WholeTable
    folder: Path
    entropy: int
    key: int
    known: StrataMoments | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread of one column's coordinates, in a form in which parts add up.

    Parameters
    ----------
    sums, squares
        Shape (m,); of each coordinate.
    counts
        Of the categories of a nominal column without a hierarchy, which has no coordinates here.
    """

    count: int
    weight: float = 1.0
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    squares: Floats = field(default_factory=lambda: np.zeros(0))
    counts: Mapping[Any, int] = field(default_factory=dict)

    @classmethod
    def of(cls, variable: Variable) -> "Spread":
        if variable.level == "nominal" and variable.hierarchy is None:
            counts = np.bincount(variable.values[~variable.missing], minlength=len(variable.categories)).tolist()
            return cls(count=len(variable), weight=variable.weight, counts=dict(zip(variable.categories, counts)))
        x = variable.embedded()
        return cls(count=len(x), sums=x.sum(axis=0), squares=(x**2).sum(axis=0))

    @property
    def total(self) -> float:
        """Sum of squared distances from the mean."""
        if self.counts:
            squares = sum(count**2 for count in self.counts.values())
            return self.weight * (self.count - squares / max(self.count, 1)) / 2  # distance 1 between two categories
        return float((self.squares - self.sums**2 / max(self.count, 1)).sum())

    @classmethod
    def joined(cls, spreads: "Sequence[Spread]") -> "Spread":
        counts: dict[Any, int] = {}
        for spread in spreads:
            for category, count in spread.counts.items():
                counts[category] = counts.get(category, 0) + count
        return cls(
            count=sum(s.count for s in spreads),
            weight=spreads[0].weight,
            sums=np.sum([s.sums for s in spreads], axis=0),
            squares=np.sum([s.squares for s in spreads], axis=0),
            counts=counts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDone:
    """A part after a step.

    Parameters
    ----------
    described
        Columns as they are after the step.
    sizes
        Smallest and largest group and how many there are; None for a mask.
    loss
        Sum of squared errors of the groups.
    spreads
        Of the compared columns before the step.
    averaged
        Columns whose cells are averages now, as in `StepResult`.
    refused
        Why the part alone could not be treated; empty where it was.
    """

    number: int
    out: Path
    records: int = 0
    facts: Facts = field(default_factory=dict)
    described: Mapping[str, Column] = field(default_factory=dict)
    sizes: tuple[int, int, int] | None = None
    loss: float = 0.0
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    averaged: tuple[str, ...] = ()
    refused: str = ""


def treated(job: PartJob) -> PartDone:
    """Carry the remembered step out on a part, and write what comes of it.

    Ours alone are refusals: a part that cannot be treated by itself may be with others.
    """
    work: StepWork = remembered["work"]
    frame = frame_of(job.paths)
    table, records = encoded(frame, work.whole, work.folder)
    key = (work.key, job.number) if isinstance(work.step, PartitionStep) else (work.key,)
    rng = keyed_generator(work.entropy, *key)
    try:
        if work.known is not None and isinstance(work.step, MaskStep):
            stratum = work.known.strata.of_records(frame)
            result = work.step.carry_out_on_part(records, work.columns, rng, stratum, work.known.moments)
        else:
            result = work.step.carry_out(records, work.columns, rng)
    except Refused as reason:
        return PartDone(number=job.number, out=job.out, refused=str(reason))
    out = rebuilt(frame, table, result.records)
    sizes: tuple[int, int, int] | None = None
    loss, spreads = 0.0, dict[str, Spread]()
    if result.grouping is not None and isinstance(work.step, PartitionStep):
        labels = result.grouping.among(result.records.rows).labels.astype(np.int64) + job.number * GROUPS_A_PART
        out = out.with_columns(pl.Series(GROUP, labels))
        sizes, loss, spreads = _figures(records, work, result.grouping.partition)
    write_part(out, job.out)
    described = {v.name: described_after(v, work.whole.schema) for v in result.records.variables}
    return PartDone(
        number=job.number,
        out=job.out,
        records=len(out),
        facts=result.facts,
        described=described,
        sizes=sizes,
        loss=loss,
        spreads=spreads,
        averaged=result.averaged,
    )


def _figures(
    records: Records, work: StepWork, part: Partition
) -> tuple[tuple[int, int, int], float, dict[str, Spread]]:
    by = getattr(work.step, "by", ()) or work.columns
    sizes = (part.k, int(part.sizes.max()), part.n_groups)
    return sizes, Packed.of(records, by).sse(part), {name: Spread.of(records[name]) for name in by}


def described_after(variable: Variable, schema: Schema) -> Column:
    """A column's description after a step: its level, its order and what is left of its hierarchy."""
    column = schema.columns.get(variable.name) or Column(role=variable.role)
    changed = {
        "role": variable.role,
        "level": variable.level,
        "order": variable.categories if variable.level == "ordinal" else None,
        "hierarchy": None if variable.hierarchy is None else variable.hierarchy.of_labels,
    }
    return column.model_copy(update=changed)
