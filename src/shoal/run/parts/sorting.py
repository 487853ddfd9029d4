"""A step that needs the ranks of all values: column by column these are sorted and exchanged (`ranks`), then put back.

Any number of parts, ranges and processes gives the values that a table in memory would have with the same draws.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from shoal.plan.steps import Step, settings_of
from shoal.processes.side_by_side import remembered
from shoal.run.parts.part_work import described_after
from shoal.run.parts.ranks import VALUE, SortingKeys, swapped
from shoal.run.parts.steps import After, Run
from shoal.table.parts.encoding import encoded, rebuilt
from shoal.table.parts.moments import WholeTable, with_categories
from shoal.table.parts.pieces import gathered, piece_path
from shoal.table.parts.stage import ROW, Stage, read_part, write_part
from shoal.table.parts.strata import Strata
from shoal.table.schema import Schema
from shoal.table.step_result import StepAccount
from shoal.vocabulary.facts import ByColumn
from shoal.vocabulary.prelude import Nested


def after_sorting(run: Run, number: int, step: Step, stage: Stage, schema: Schema) -> After:
    """A step carried out on the ranks of a stage, column by column.

    Raises
    ------
    ParameterError
        If a column has no ranks, or too few.
    """
    run.tell(step.name, 0.0)
    columns = tuple(step.columns or schema.names(*step.default_roles))
    whole = run.journal.once(
        f"whole-{number}", lambda: with_categories(stage, WholeTable(schema=schema), columns, run.folder)
    )
    keys = _keys(run, stage, whole, columns)
    empty = pl.DataFrame(schema=stage.schema)
    for key in keys:
        step.method.check_ranked(key.variable(empty))
    rng = run.generator(number)
    counts = [np.sum(list(stage.each(key.counts, key.columns)), axis=0).tolist() for key in keys]
    pairings = [[step.method.pairing(key.name, n, rng) for n in by_stratum] for key, by_stratum in zip(keys, counts)]
    alone: dict[str, int] = {}
    values: dict[str, Path] = {}
    for i, (key, pairing) in enumerate(zip(keys, pairings)):
        values[key.name] = run.journal.place(f"values-{number}") / f"{i}"

        def work() -> int:
            place = run.journal.place(f"sorting-{number}", anew=True)
            into = run.journal.place(f"values-{number}/{i}", anew=True)  # noqa: B023 - is called at once
            return swapped(run, stage, key, pairing, place, into)  # noqa: B023 - is called at once

        alone[key.name] = run.journal.once(f"sorted-{number}-{i}", work)
        run.journal.forget(f"sorting-{number}")
        run.tell(step.name, (i + 1) / (len(keys) + 1))
    parts, unchanged = _put_back(run, number, stage, whole, values)
    facts = ByColumn({name: Nested(step.method.facts_of(alone[name], unchanged[name])) for name in columns})
    described = {key.name: described_after(key.variable(empty), whole.schema) for key in keys}
    return After(
        stage=Stage.of(parts, run.engine),
        schema=Schema.model_construct(root=dict(schema.columns) | described),
        account=StepAccount(step=step.name, columns=columns, facts={**settings_of(step.method), "by column": facts}),
    )


def _keys(run: Run, stage: Stage, whole: WholeTable, columns: tuple[str, ...]) -> list[SortingKeys]:
    """Sorting keys of each column."""
    strata = Strata.of(stage, whole.schema.names("stratum"))
    starts = tuple(np.cumsum((0, *stage.sizes[:-1])).tolist())
    keys = []
    for name in columns:
        described = {n: whole.schema.columns[n] for n in (name, *strata.names)}
        own = WholeTable(schema=Schema.model_construct(root=described))
        keys.append(SortingKeys(name=name, whole=own, folder=run.folder, strata=strata, starts=starts))
    return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """A part whose records get new values.

    Parameters
    ----------
    start
        The row of its first record, counted through all parts.
    """

    number: int
    path: Path
    out: Path
    start: int


def _put_back(
    run: Run, number: int, stage: Stage, whole: WholeTable, values: Mapping[str, Path]
) -> tuple[list[Path], dict[str, int]]:
    """The parts with their new values, and how many cells of each column are what they were."""
    place = run.journal.place(f"step-{number}")
    starts = np.cumsum((0, *stage.sizes[:-1])).tolist()
    jobs = [
        Back(number=n, path=path, out=place / path.name, start=start)
        for n, (path, start) in enumerate(zip(stage.parts, starts))
    ]
    unchanged = dict.fromkeys(values, 0)
    given = {"whole": whole, "folder": run.folder, "values": values}
    for _, counts in run.engine.as_finished(_written, jobs, given):
        for name, count in counts.items():
            unchanged[name] += count
    return [job.out for job in jobs], unchanged


def _written(job: Back) -> dict[str, int]:
    """Write a part with its new values; how many cells of each column are what they were."""
    frame = read_part(job.path)
    table, records = encoded(frame, remembered["whole"], remembered["folder"])
    changed, unchanged = [], {}
    for name, place in remembered["values"].items():
        variable = records[name]
        values = variable.values.copy()
        if (file := piece_path(place, job.number)).exists():  # it has a known cell
            new = gathered(file)
            values[new[ROW].to_numpy() - job.start] = new[VALUE].to_numpy()
        changed.append(variable.with_values(values))
        unchanged[name] = int((values == variable.values).sum())
    write_part(rebuilt(frame, table, records.with_variables(*changed)), job.out)
    return unchanged
