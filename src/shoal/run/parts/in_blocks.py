"""Groups of a table that is held whole, formed in blocks as on a table in parts, which its records are meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.plan import Plan
from shoal.plan.steps import PartitionStep
from shoal.run.parts.part_work import described_after
from shoal.run.parts.steps import Run, after_step
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.parts import source
from shoal.table.parts.encoding import encoded
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import GROUP, ROW, Stage, write_part
from shoal.table.records import Records
from shoal.table.schema import Schema, unrounded
from shoal.table.step_result import Grouping, StepResult

Runs = Callable[[Plan, int], Run]
"""Makes the run of a plan with a seed."""


def formed_in_blocks(run: Run, table: Microdata, number: int, step: PartitionStep, records: Records) -> StepResult:
    """A step carried out on records of a table in blocks of near ones.

    Parameters
    ----------
    table
        As it came in.

    Raises
    ------
    Refused
        If the step refuses.
    """
    schema = Schema.model_construct(root={v.name: described_after(v, table.schema) for v in records.variables})
    stage = _written(run, number, replace(table, schema=unrounded(table.schema)), records)
    after = run.journal.once(f"step-{number}", lambda: after_step(run, number, step, stage, schema))
    columns = after.account.columns
    frame = pl.concat(after.stage.chunks((ROW, GROUP, *columns))).sort(ROW)
    described = WholeTable(schema=Schema.model_construct(root={name: after.schema.columns[name] for name in columns}))
    changed = encoded(frame, described, table.folder)[1]
    run.journal.forget(f"records-{number}")
    run.journal.forget(f"blocks-{number}")
    return StepResult(
        records=records.with_variables(*(replace(v, labels=records[v.name].labels) for v in changed.variables)),
        facts=after.account.facts,
        grouping=Grouping(
            columns=columns,
            partition=Partition.of(frame[GROUP].to_numpy()),
            rows=records.rows,
            exchangeable=step.replace.exchangeable,
        ),
        averaged=tuple(sorted(after.averaged)),
        cuts=after.private,
    )


def _written(run: Run, number: int, table: Microdata, records: Records) -> Stage:
    """Records as a stage, in their order."""
    place = run.journal.place(f"records-{number}", anew=True)
    frame = table.rebuild(records).frame.lazy().collect("polars").to_native().with_columns(pl.Series(ROW, records.rows))
    paths: list[Path] = []
    for start in range(0, len(frame), source.CHUNK):
        paths.append(place / f"part-{len(paths):05d}.parquet")
        write_part(frame[start : start + source.CHUNK], paths[-1])
    return Stage.of(paths, run.engine)
