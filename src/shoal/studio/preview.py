"""Preview of a step: the columns that it changes, before and after, while its settings are still being chosen."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shoal.judges.class_profile import SMALLEST
from shoal.plan import Output, Plan
from shoal.plan.sections import EditRules
from shoal.run.carry_out import after_steps
from shoal.studio.arguments import Answer
from shoal.table.bins import distribution
from shoal.table.cells import value_counts
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata
from shoal.table.records import Records
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
    return {
        "records": len(before),
        "of": len(table.frame),
        "left": len(after),
        "below": {str(k): [_below(records, keys, k) for records in (before, after)] for k in SMALLEST} if keys else {},
        "columns": [_column(name, before, after, done.original) for name in results[step].changed if name in before],
    }


def _below(records: Records, keys: list[str], k: int) -> int:
    return int((records.classes(keys).of_record < k).sum())


def _column(name: str, before: Records, after: Records, original: Microdata) -> Answer:
    written = [original.rebuild(records).frame[name] for records in (before, after)]
    counts = [value_counts(series) for series in written]
    values = sorted(counts[0].keys() | counts[1].keys(), key=lambda v: (-max(count.get(v, 0) for count in counts), v))
    alike = before[name].continuous == after[name].continuous
    drawn = distribution({"original": before[name], "released": after[name]}) if alike else None
    return {
        "name": name,
        "changed": _changed(*(dict(zip(r.rows.tolist(), w.to_list())) for r, w in zip((before, after), written))),
        "distinct": [len(count) for count in counts],
        "missing": [int(records[name].missing.sum()) for records in (before, after)],
        "values": [[value, *(count.get(value, 0) for count in counts)] for value in values[:MOST_VALUES]],
        "further": max(0, len(values) - MOST_VALUES),
        "picture": drawn,
    }


def _changed(before: Mapping[int, Any], after: Mapping[int, Any]) -> int:
    """Number of cells that changed, in records that are still there."""
    return sum(str(cell) != str(before[row]) for row, cell in after.items())
