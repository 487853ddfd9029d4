"""Preview of a step: the columns that it changes, before and after, while its settings are still being chosen."""

from dataclasses import replace

import narwhals.stable.v2 as nw
import polars as pl

from shoal.judges.class_profile import SMALLEST
from shoal.judges.table_pair import counterparts
from shoal.kernels.arrays import Longs
from shoal.plan import Output, Plan
from shoal.plan.sections import EditRules
from shoal.run.carry_out import after_steps
from shoal.studio.arguments import Answer
from shoal.table.bins import distribution
from shoal.table.cells import value_counts
from shoal.table.files.table import Table
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import InputError

MOST_RECORDS = 20_000
"""A sample of so many records is drawn from a larger table, so that the answer comes at once."""

MOST_VALUES = 24
"""Values of a column that are listed, the most frequent first."""

SEED = 1


def preview(table: Table, plan: Plan, step: int) -> Answer:
    """Counts before and after one step of a plan, the earlier ones carried out first.

    Raises InputError if the plan has no such step, or the steps cannot be carried out.
    """
    if not 0 <= step < len(plan.steps):
        raise InputError("The plan has no such step.")
    frame = table.frame
    if len(frame) > MOST_RECORDS:
        frame = frame.sample(MOST_RECORDS, seed=SEED)
    steps = tuple(map(plan.as_read, plan.steps[: step + 1]))
    only = replace(plan, steps=steps, requirements=(), edit_rules=EditRules(), publish=(), output=Output())
    done = after_steps(replace(table, frame=frame), only, SEED, None)
    results = done.course.results
    before, after = results[step - 1].records if step else done.before, results[step].records
    keys = [name for name in before.quasi_identifiers if name in after]
    if any(carried_out.as_a_whole for carried_out in only.steps):
        keys = []  # records made anew stand for nobody
    names = [name for name in results[step].changed if name in before]
    written = [done.original.rebuild(records.select(names)).native for records in (before, after)]
    place = counterparts(before, after, traced=True)
    return {
        "records": len(before),
        "of": len(table.frame),
        "left": len(after),
        "below": {str(k): [_below(records, keys, k) for records in (before, after)] for k in SMALLEST} if keys else {},
        "columns": [_column(before[name], after[name], [f[name] for f in written], place) for name in names],
    }


def _below(records: Records, keys: list[str], k: int) -> int:
    return int((records.classes(keys).of_record < k).sum())


def _column(before: Variable, after: Variable, written: list[pl.Series], place: Longs | None) -> Answer:
    counts = [value_counts(nw.from_native(series, series_only=True)) for series in written]
    values = sorted(counts[0].keys() | counts[1].keys(), key=lambda v: (-max(count.get(v, 0) for count in counts), v))
    drawn = distribution({"original": before, "released": after}) if before.continuous == after.continuous else None
    return {
        "name": before.name,
        "changed": len(after) if place is None else _changed(written[0].gather(place), written[1]),
        "distinct": [len(count) for count in counts],
        "missing": [int(variable.missing.sum()) for variable in (before, after)],
        "values": [[value, *(count.get(value, 0) for count in counts)] for value in values[:MOST_VALUES]],
        "further": max(0, len(values) - MOST_VALUES),
        "picture": drawn,
    }


def _changed(before: pl.Series, after: pl.Series) -> int:
    """Number of cells that are written otherwise."""
    if before.dtype == after.dtype:
        unequal = before.ne_missing(after)
        before, after = before.filter(unequal), after.filter(unequal)
    return sum(str(cell) != str(other) for cell, other in zip(before.to_list(), after.to_list()))
