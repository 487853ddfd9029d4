"""A step that needs all records of its columns at once: these are gathered, changed as in memory, and put back."""

from pathlib import Path

import numpy as np
import polars as pl

from shoal.plan.steps import Step
from shoal.run.one_step import result_of
from shoal.run.parts.admission import columns_at_once
from shoal.run.parts.part_work import described_after
from shoal.run.parts.steps import After, Run
from shoal.table.parts.encoding import encoded, rebuilt
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import GROUP, ROW, Stage, write_part
from shoal.table.schema import Schema
from shoal.table.step_result import StepAccount


def after_gathering(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step carried out on the columns of a stage that it looks at, with the random numbers that it has in memory.

    Raises
    ------
    Refused
        If the step refuses, or leaves no record.
    """
    columns = tuple(step.columns or schema.names(*step.default_roles))
    wanted = columns_at_once(step, run.plan)
    names = [name for name in stage.columns if wanted is None or name in wanted]
    frame = pl.concat(stage.chunks((ROW, *names))).sort(ROW)
    described = Schema.model_construct(root={name: schema.columns[name] for name in names})
    table, records = encoded(frame, WholeTable(schema=described), run.folder)
    result = result_of(step, records, columns, run.plan, run.generator(number), run.tell)
    new = rebuilt(frame, table, result.records)
    if result.grouping is not None:
        labels = result.grouping.among(result.records.rows).labels.astype(np.int64)
        new = new.with_columns(pl.Series(GROUP, labels))
    after = {v.name: described_after(v, schema) for v in result.records.variables}
    return After(
        stage=Stage.of(_put_back(run, number, stage, new), run.engine),
        schema=Schema.model_construct(root=dict(schema.columns) | after),
        account=StepAccount(step=step.name, columns=columns, facts=result.facts),
        averaged=frozenset(result.averaged),
    )


def _put_back(run: Run, number: int, stage: Stage, new: pl.DataFrame) -> list[Path]:
    """The parts with the new cells of the records that are left."""
    place = run.journal.place(f"step-{number}", anew=True)
    paths = [place / path.name for path in stage.parts]
    for path, chunk in zip(paths, stage.chunks()):
        kept = chunk.select(ROW, *(name for name in chunk.columns if name not in new.columns))
        changed = kept.join(new, on=ROW, how="inner", maintain_order="left")
        write_part(
            changed.select(
                *chunk.columns, *(name for name in (GROUP,) if name not in chunk.columns and name in new.columns)
            ),
            path,
        )
    return paths
