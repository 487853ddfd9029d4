"""The lattice of a generalisation as the page draws it: the node that the step takes, and what others would lose."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from shoal.kernels.arrays import Ints
from shoal.mask._generalisation.lattice import Levels, lattice
from shoal.mask._generalisation.task import GeneralisationTask
from shoal.mask.generalise import Generalise
from shoal.plan import Plan
from shoal.run.carry_out import Stepped, after_steps, microdata
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import SEED, only
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import InputError, Refused

MOST_NODES = 400
"""Nodes that are drawn; of a larger lattice those around one node."""

MOST_WORK = 20_000_000
"""Nodes times combinations of values: about a second of work."""

MOST_RECORDS = 100_000
"""A sample of so many records is drawn from a larger table."""


def lattice_of(table: Table, plan: Plan, step: int, around: Sequence[int] | None) -> Answer:
    """The lattice of one step of a plan, the earlier steps carried out first.

    Parameters
    ----------
    around
        Node whose neighbours are wanted where the whole lattice is too large; by default the one that the step takes.

    Raises
    ------
    InputError
        If the plan has no such step, or it is no generalisation.
    """
    if not 0 <= step < len(plan.steps) or not isinstance(method := plan.steps[step].method, Generalise):
        raise InputError("The plan has no generalisation at this place any more. Look at it again.")
    frame = table.frame
    if len(frame) > MOST_RECORDS:
        frame = frame.sample(MOST_RECORDS, seed=SEED)
    some = microdata(replace(table, frame=frame), plan)
    before = _carried_out(some, plan, step)
    records = before.course.records
    names = plan.steps[step].columns or plan.steps[step].changes(plan.schema)
    objective = method.loss if method.loss in ("ncp", "precision", "entropy") else "ncp"
    task = GeneralisationTask.of(records, method.categorical(records, names), {}, objective)
    taken, refusal = _taken(some, plan, step, names)
    heights = [column.height for column in task.columns]
    given = None if around is None else _within(around, heights)
    drawn = lattice(task, method.k, given or taken or tuple(heights), MOST_NODES, MOST_WORK)
    return {
        "columns": [{"name": c.variable.name, "labels": _counted(c.labels)} for c in task.columns],
        "k": method.k,
        "suppression": method.suppression,
        "measure": objective,
        "records": len(records),
        "of records": len(table.frame),
        "of": drawn.of,
        "taken": taken,
        "refusal": refusal,
        "nodes": [asdict(node) for node in drawn.nodes],
    }


def _carried_out(table: Microdata, plan: Plan, steps: int) -> Stepped:
    kept = [step.as_mapping() for step in plan.steps[:steps]]
    return after_steps(table, only(plan, kept), SEED, None)


def _taken(table: Microdata, plan: Plan, step: int, names: Sequence[str]) -> tuple[Levels | None, str]:
    """The node that the step takes, of a step for the whole domain; or the reason why it finds none."""
    try:
        done = _carried_out(table, plan, step + 1)
    except Refused as refusal:
        return None, str(refusal)
    levels = getattr(done.course.results[step].facts.get("levels"), "value", None)
    return (tuple(int(levels[name]) for name in names), "") if isinstance(levels, Mapping) else (None, "")


def _within(levels: Sequence[int], heights: Sequence[int]) -> Levels:
    if len(levels) != len(heights) or any(not 0 <= level <= height for level, height in zip(levels, heights)):
        raise InputError("The lattice has no such node. Look at it again.")
    return tuple(levels)


def _counted(labels: Ints) -> list[int]:
    """Number of labels at each level."""
    return [len(np.unique(level)) for level in labels]
