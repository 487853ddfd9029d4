"""A sample of a table in parts: drawn once from all units, of which only a number each is remembered."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.plan.steps import Step, settings_of
from shoal.run.one_step import refuse_nothing_left
from shoal.run.parts.part_work import described_after
from shoal.run.parts.steps import After, Run
from shoal.table.parts.encoding import encoded, rebuilt
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import ROW, Stage, write_part
from shoal.table.parts.strata import Strata
from shoal.table.schema import Schema, default_unit
from shoal.table.step_result import StepAccount

HOME = "shoal: home"


def after_drawing(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step that keeps some units of a stage, in their order.

    Raises
    ------
    Refused
        If no record is left.
    """
    run.tell(step.name, 0.0)
    units, stratum = _units(stage, schema)
    drawn = step.method.draw(stratum, run.generator(number))
    kept, factors = drawn.chosen[units], drawn.factors[stratum][units]
    facts = step.method.facts_of(drawn, int(kept.sum()), unit=default_unit(schema.names))
    place = run.journal.place(f"step-{number}", anew=True)
    whole = WholeTable(schema=schema)
    paths: list[Path] = []
    start = 0
    described = dict(schema.columns)
    for path, chunk in zip(stage.parts, stage.chunks()):
        rows = slice(start, start + len(chunk))
        table, records = encoded(chunk, whole, run.folder)
        result = step.method.kept_of(records, kept[rows], factors[rows])
        paths.append(place / path.name)
        write_part(rebuilt(chunk, table, result), paths[-1])
        described |= {name: described_after(result[name], schema) for name in schema.names("weight")}
        start = rows.stop
        run.tell(step.name, start / stage.records)
    following = Stage.of(paths, run.engine)
    refuse_nothing_left(step, following.records)
    columns: Sequence[str] = step.columns or schema.names(*step.default_roles)
    return After(
        stage=following,
        schema=Schema.model_construct(root=described),
        account=StepAccount(step=step.name, columns=tuple(columns), facts={**settings_of(step.method), **facts}),
    )


def _units(stage: Stage, schema: Schema) -> tuple[Longs, Longs]:
    """Shape (n,), the unit of each record; shape (m,), the stratum of each unit, that of its first record.

    Units are records, or the largest numbered ones in the order in which they first appear.
    """
    names, homes = schema.names("stratum"), schema.names(default_unit(schema.names))[:1]
    strata = Strata.of(stage, names)
    stratum = np.concatenate(
        [strata.of_records(chunk) for chunk in stage.chunks((*names, *homes) or stage.columns[:1])]
    )
    if not homes:
        return np.arange(stage.records, dtype=np.int64), stratum
    cells = pl.concat([chunk.select(homes) for chunk in stage.chunks(homes)]).to_series()
    first = cells.to_frame().with_row_index(ROW).group_by(cells.name, maintain_order=True).agg(pl.col(ROW).first())
    numbered = first.select(cells.name).with_row_index(HOME)
    units = cells.to_frame().join(numbered, on=cells.name, how="left", nulls_equal=True, maintain_order="left")
    return units[HOME].to_numpy().astype(np.int64), stratum[first[ROW].to_numpy()]
