"""A plan carried out on a table in parts: stage after stage, each finished before the next begins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.plan.steps import MaskStep, Step
from shoal.replace.decimals import MOST, decimal_counts, decimals_among
from shoal.run.one_step import facts_after
from shoal.run.parts.admission import needed_at_once
from shoal.run.parts.blanking import after_blanking
from shoal.run.parts.combinations import after_combinations
from shoal.run.parts.drawing import after_drawing
from shoal.run.parts.finishing import Rounding, finished
from shoal.run.parts.gathering import after_gathering
from shoal.run.parts.sorting import after_sorting
from shoal.run.parts.steps import After, Run, after_step
from shoal.table.parts.intake import taken_in
from shoal.table.parts.moments import counted, counts_as_number, numbers, with_hierarchies
from shoal.table.parts.source import Source
from shoal.table.parts.stage import ROW, Stage
from shoal.table.schema import Column, Schema, in_order_of, unrounded
from shoal.table.step_result import StepAccount
from shoal.vocabulary.facts import ByLabel


@dataclass(frozen=True, kw_only=True)
class LargeOutcome:
    """A plan carried out on a table in parts, before it is judged.

    Parameters
    ----------
    schema
        The plan's, with the order of ordinal columns whose categories became text.
    before
        The table as it came in, missing values treated.
    finished
        As it is to be released, with the rows of the table that came in.
    rows
        Records of the table that came in.
    missing
        What became of missing values.
    private
        By step, where the table was cut into blocks.
    """

    run: Run
    schema: Schema
    before: Stage
    finished: Stage
    rows: int
    missing: Mapping[str, Any]
    accounts: tuple[StepAccount, ...]
    private: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.run.plan


def carried_out(run: Run, source: Source) -> LargeOutcome:
    """Carry a plan out on a source; what an earlier run finished is not done again.

    Raises
    ------
    InputError
        If the table or the plan cannot be used.
    Refused
        If a step refuses.
    """
    plan, journal = run.plan, run.journal
    run.tell("reading", 0.0)
    before, missing, rows = journal.once(
        "intake", lambda: taken_in(source, plan.schema, journal.place("intake", anew=True), run.engine)
    )
    schema = journal.once("hierarchies", lambda: with_hierarchies(before, unrounded(plan.schema), run.folder))
    stage = before
    averaged: set[str] = set()
    changed: set[str] = set()
    accounts: list[StepAccount] = []
    private: ByLabel = {}
    for number, step in enumerate(plan.steps):
        carry = _way_of(step, plan)
        after = journal.once(f"step-{number}", lambda: carry(run, number, step, stage, schema))  # noqa: B023
        stage, schema = after.stage, after.schema
        accounts.append(replace(after.account, facts=facts_after(plan, after.account.facts, accounts), place=number))
        averaged = (averaged - set(after.account.columns)) | after.averaged
        changed |= set(after.account.columns)
        private |= {f"{number + 1} {step.name}": after.private} if after.private else {}
        journal.forget(f"blocks-{number}")
        journal.forget(f"values-{number}")
        if number:
            journal.forget(f"step-{number - 1}")
    run.tell("finishing", 0.0)
    rounding = journal.once("rounding", lambda: _rounding(run, before, stage, averaged, changed))
    whole = source.types_from_cells
    end = journal.once("finishing", lambda: finished(run, stage, schema, rows, rounding, whole_numbers=whole))
    if plan.steps:
        journal.forget(f"step-{len(plan.steps) - 1}")
    return LargeOutcome(
        run=run,
        schema=in_order_of(
            plan.schema,
            {name: schema.columns[name].order or () for name, dtype in end.schema.items() if dtype == pl.String},
            lambda name: set(counted(end, name).cells.to_list()),
        ),
        before=before,
        finished=end,
        rows=rows,
        missing=missing,
        accounts=tuple(accounts),
        private=private,
    )


def _way_of(step: Step, plan: Plan) -> Callable[[Run, int, Step, Stage, Schema], After]:
    """The function that carries a step out on a table in parts."""
    if needed_at_once(step, plan):
        return after_gathering
    if step.method.scales == "combinations":
        blanks = isinstance(step, MaskStep) and step.method.blanks_cells
        return after_blanking if blanks else after_combinations
    if step.method.scales == "sorting":
        return after_sorting
    return after_drawing if isinstance(step, MaskStep) and step.method.draws_units else after_step


def _rounding(run: Run, before: Stage, after: Stage, averaged: set[str], changed: set[str]) -> Rounding:
    """Rounding as the plan says; of averages otherwise to the decimals that they came in with, those of records that
    are released.
    """
    schema, types = run.plan.schema, before.schema
    continuous = {
        name
        for name in (changed | schema.decimals.keys()) & types.keys()
        if schema.columns[name].role != "identifier" and counts_as_number(types[name], schema.columns[name])
    }
    own = {
        name: np.zeros(MOST + 2, dtype=np.int64)
        for name in sorted(averaged & continuous)
        if name not in schema.decimals and not types[name].is_temporal()
    }
    kept = np.concatenate([*after.each(_rows, (ROW,))]) if after.records < before.records else None
    look = partial(_decimals, columns={name: schema.columns[name] for name in own}, kept=kept)
    for seen in before.each(look, (ROW, *own)) if own else ():
        for name in own:
            own[name] += seen[name]
    decimals = {name: places for name, counts in own.items() if (places := decimals_among(counts))}
    planned = {name: places for name, places in schema.decimals.items() if name in continuous}
    return Rounding(own=decimals, planned=planned, types={name: types[name] for name in continuous})


def _rows(chunk: pl.DataFrame) -> Longs:
    return chunk[ROW].to_numpy()


def _decimals(chunk: pl.DataFrame, columns: Mapping[str, Column], kept: Longs | None) -> dict[str, Longs]:
    """The counts of decimals in some columns of a part, among the records of some rows."""
    if kept is not None:
        chunk = chunk.filter(np.isin(_rows(chunk), kept))
    return {name: decimal_counts(numbers(chunk[name], column).values) for name, column in columns.items()}
