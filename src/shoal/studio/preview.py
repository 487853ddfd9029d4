"""Preview of a step: the columns that it changes, before and after, while its settings are still being chosen."""

from collections.abc import Mapping
from dataclasses import fields, replace

import polars as pl

from shoal.judges.class_profile import SMALLEST
from shoal.judges.table_pair import counterparts
from shoal.kernels.arrays import Longs
from shoal.plan import Output, Plan
from shoal.plan.sections import EditRules
from shoal.plan.steps import Step
from shoal.run.carry_out import after_steps
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import MOVES, SEED, some_of
from shoal.table.bins import distribution
from shoal.table.files.table import Table
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import InputError

MOST_RECORDS = 20_000
"""A sample of so many records is drawn from a larger table, so that the answer comes at once."""

IN_MEMORY, SEARCHED = 3_000, 500
"""As many for a step that weighs all records, or their combinations, at once; and for one that searches for long."""

SHORT: Mapping[str, object] = {"moves": MOVES * SEARCHED, "starts": 1, "effort": 0.1}
"""Parameters that say how long a method searches, where its step states none, and how little is enough here."""

MOST_VALUES = 24
"""Values of a column that are listed, the most frequent first."""


def preview(table: Table, plan: Plan, step: int) -> Answer:
    """Counts before and after one step of a plan, the earlier ones carried out first.

    Raises InputError if the plan has no such step, or the steps cannot be carried out.
    """
    if not 0 <= step < len(plan.steps):
        raise InputError("The plan has no such step.")
    asked = [plan.as_read(given) for given in plan.steps[: step + 1]]
    steps, frame = [_short(given) for given in asked], some_of(table.frame, plan.schema, min(map(_enough, asked)))
    only = replace(plan, steps=tuple(steps), requirements=(), edit_rules=EditRules(), publish=(), output=Output())
    done = after_steps(replace(table, frame=frame), only, SEED, None)
    results = done.course.results
    before, after = results[step - 1].records if step else done.before, results[step].records
    keys = [name for name in before.quasi_identifiers if name in after]
    if any(carried_out.as_a_whole for carried_out in only.steps):
        keys = []  # records made anew stand for nobody
    names = [name for name in dict.fromkeys(results[step].changed) if name in before]
    written = [done.original.rebuild(records.select(names)).native for records in (before, after)]
    place = counterparts(before, after, traced=True)
    return {
        "records": len(before),
        "of": len(table.frame),
        "left": len(after),
        "short": any(given is not own for given, own in zip(steps, asked)),
        "below": {str(k): [_below(records, keys, k) for records in (before, after)] for k in SMALLEST} if keys else {},
        "columns": [_column(before[name], after[name], [f[name] for f in written], place) for name in names],
    }


def _enough(step: Step) -> int:
    """Records on which a step is carried out at once."""
    if hasattr(step.method, "moves") or hasattr(step.method, "starts"):
        return SEARCHED
    return IN_MEMORY if step.method.scales in ("memory", "combinations") else MOST_RECORDS


def _short(step: Step) -> Step:
    """A step with a short search, where its plan says nothing of how long that is."""
    defaults = {f.name: f.default for f in fields(step.method) if f.name in SHORT}
    left = {name for name, value in defaults.items() if getattr(step.method, name) == value}
    if defaults.get("effort", 0.0) is None:  # proposals a record, of which there are few
        left -= {"effort"}
    return replace(step, method=replace(step.method, **{name: SHORT[name] for name in left})) if left else step


def _below(records: Records, keys: list[str], k: int) -> int:
    return int((records.classes(keys).of_record < k).sum())


def _column(before: Variable, after: Variable, written: list[pl.Series], place: Longs | None) -> Answer:
    alike = written[0].dtype == written[1].dtype
    counts = [_counted(series, as_text=not alike) for series in written]
    both = counts[0].join(counts[1], on="cell", how="full", coalesce=True).fill_null(0)
    both = both.sort(pl.max_horizontal("records", "records_right"), "cell", descending=[True, False])
    drawn = distribution({"original": before, "released": after}) if before.continuous == after.continuous else None
    return {
        "name": before.name,
        "changed": len(after) if place is None else _changed(written[0].gather(place), written[1]),
        "distinct": [len(count) for count in counts],
        "missing": [int(variable.missing.sum()) for variable in (before, after)],
        "values": [[str(value), was, now] for value, was, now in both.head(MOST_VALUES).iter_rows()],
        "further": max(0, len(both) - MOST_VALUES),
        "picture": drawn,
    }


def _counted(cells: pl.Series, *, as_text: bool) -> pl.DataFrame:
    """Numbers of records by cell."""
    cells = cells.fill_nan(None) if cells.dtype.is_float() else cells
    counts = cells.rename("cell").drop_nulls().value_counts(name="records")
    if not as_text:
        return counts
    texts = pl.Series("cell", [str(cell) for cell in counts["cell"].to_list()], dtype=pl.String)
    return counts.with_columns(texts).group_by("cell").agg(pl.col("records").sum())


def _changed(before: pl.Series, after: pl.Series) -> int:
    """Number of cells that are written otherwise."""
    if before.dtype == after.dtype:
        return int(before.ne_missing(after).sum())
    return sum(str(cell) != str(other) for cell, other in zip(before.to_list(), after.to_list()))
