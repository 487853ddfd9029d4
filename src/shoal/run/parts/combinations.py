"""A step on the distinct combinations of cells: a table of 10^8 records with 10^5 of them costs what 10^5 records do.

The combinations of the columns (and of the strata) are counted, the step is carried out on them once, and every record
gets what its combination got, or is dropped with it.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl

from shoal.plan.steps import Step, settings_of
from shoal.run.one_step import refuse_nothing_left
from shoal.run.parts.part_work import described_after
from shoal.run.parts.steps import After, Run
from shoal.table.microdata import Microdata
from shoal.table.parts.moments import COUNT, combinations_of
from shoal.table.parts.stage import Stage, write_part
from shoal.table.schema import Schema
from shoal.table.step_result import StepAccount

KEPT = "shoal: kept"
"""Whether a combination stays in the table."""


def after_combinations(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step carried out on the combinations of a stage.

    Raises
    ------
    Refused
        If the step refuses, leaves no record, or there are too many combinations.
    """
    columns = tuple(step.columns or schema.names(*step.default_roles))
    strata = tuple(name for name in schema.names("stratum") if name not in columns)
    named = (*columns, *strata)
    counts = run.journal.once(
        f"combinations-{number}", lambda: combinations_of(stage, named, run.memory_for_combinations, step.name)
    )
    described = Schema.model_construct(root={name: schema.columns[name] for name in named})
    table = Microdata.of(counts.drop(COUNT), described, run.folder)
    result = step.method.on_combinations(
        table.records, counts[COUNT].to_numpy(), columns, lambda done: run.tell(step.name, done)
    )
    refuse_nothing_left(step, len(result.records))
    labels: pl.DataFrame = table.rebuild(result.records).frame.to_native()
    kept = counts.drop(COUNT)[result.records.rows.tolist()]
    mapping = kept.hstack([labels[name].alias(f"{KEPT} {name}") for name in columns])
    parts = _recoded(stage, mapping.with_columns(pl.lit(True).alias(KEPT)), columns, strata, run, number)
    new = {name: described_after(result.records[name], schema) for name in columns}
    return After(
        stage=Stage.of(parts, run.engine),
        schema=Schema.model_construct(root=dict(schema.columns) | new),
        account=StepAccount(step=step.name, columns=columns, facts={**settings_of(step.method), **result.facts}),
    )


def _recoded(
    stage: Stage, mapping: pl.DataFrame, columns: Sequence[str], strata: Sequence[str], run: Run, number: int
) -> list[Path]:
    """The parts with the cells that their combinations got, without the records of dropped ones."""
    place = run.journal.place(f"step-{number}")
    paths = [place / path.name for path in stage.parts]
    look = partial(_write_recoded, mapping=mapping, columns=columns, keys=(*columns, *strata))
    for _ in stage.each(look, None, paths):
        pass
    return paths


def _write_recoded(
    chunk: pl.DataFrame, path: Path, mapping: pl.DataFrame, columns: Sequence[str], keys: Sequence[str]
) -> None:
    joined = chunk.join(mapping, on=keys, how="left", nulls_equal=True, maintain_order="left")
    kept = joined.filter(pl.col(KEPT).fill_null(False))
    new = kept.with_columns(pl.col(f"{KEPT} {name}").alias(name) for name in columns)
    write_part(new.select(chunk.columns), path)
