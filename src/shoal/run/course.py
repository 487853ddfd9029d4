"""The records of a plan on their way through its stages, and what is done with them after the last step."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from shoal.constraints import Constraints
from shoal.constraints.rounding import to_decimals
from shoal.kernels import linear
from shoal.kernels.arrays import Floats
from shoal.plan import Plan
from shoal.replace.decimals import decimals_of
from shoal.run.order import released_order, unit_numbers
from shoal.run.privacy_spent import makes_records, noisy_columns
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import UNITS
from shoal.table.step_result import StepAccount, StepResult
from shoal.table.variable import Variable
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import ByLabel, Facts, Figure, OfOriginal

EXACT = 1e-9
"""Relative change of a moment that is put down to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """Records on their way through the stages of a plan.

    Parameters
    ----------
    records
        As they are now.
    results
        What the steps gave, in order.
    accounts
        What there is to tell of the stages, the steps among them.
    """

    records: Records
    results: tuple[StepResult, ...] = ()
    accounts: tuple[StepAccount, ...] = ()

    @property
    def averaged(self) -> set[str]:
        """Columns whose cells are averages since they were last changed."""
        averaged: set[str] = set()
        for result in self.results:
            averaged = (averaged - set(result.changed)) | set(result.averaged)
        return averaged

    @property
    def blocks(self) -> dict[str, ByLabel]:
        """By step, where the table was cut into blocks; private."""
        steps = {account.place: account.step for account in self.accounts}
        return {f"{n + 1} {steps[n]}": result.cuts for n, result in enumerate(self.results) if result.cuts}

    def finished(self, released: Records) -> "Course":
        """The same with the records of the finished table alone: nobody asks for those after each step any more."""
        none = released.without(variable.name for variable in released.variables)
        return replace(self, records=released, results=tuple(replace(r, records=none) for r in self.results))

    def with_account(
        self, step: str, facts: Facts, columns: tuple[str, ...] = (), place: int | None = None
    ) -> "Course":
        """The same with one account more."""
        account = StepAccount(step=step, columns=columns, facts=facts, place=place)
        return replace(self, accounts=(*self.accounts, account))


class HoldBack(Protocol):
    """Changes records, before the first step and after the last, by what earlier releases tell of their persons."""

    def as_before(self, plan: Plan) -> Plan:
        """The plan with codes of the last release where steps would search for them."""

    def before_steps(self, original: Microdata, course: Course) -> Course:
        """The records that take part, with the column `SEQUENCE`."""

    def after_steps(self, original: Microdata, course: Course) -> Course:
        """The records with what would tell persons apart held back."""


def _own_decimals(finer: set[str], records: Records, before: Records, plan: Plan) -> dict[str, int]:
    """The decimals that columns came in with, of those that got more of them by averages or by repair.

    Only where the plan gives none, and of columns that had decimals: a mean of whole numbers is no whole number. The
    decimals of cells that got private noise would tell of these.
    """
    numbers = [v for v in records.variables if v.continuous and v.name in finer and v.name in before]
    own = {v.name: decimals_of(before[v.name].values) for v in numbers if before[v.name].continuous and v.unit is None}
    given = plan.schema.decimals.keys() | noisy_columns(plan)
    return {name: places for name, places in own.items() if places and name not in given}


def _planned(records: Records, plan: Plan) -> dict[str, int]:
    """The decimals that the plan gives to columns of numbers with decimals, whether a step changed them or not."""
    floats = {v.name for v in records.variables if v.continuous and v.unit is None and v.given.dtype.kind == "f"}
    return {name: places for name, places in plan.schema.decimals.items() if name in floats}


def _obeying(course: Course, before: Records, plan: Plan, constraints: Constraints) -> Course:
    """The rules restored, and numbers rounded: to the decimals that they came in with unless that breaks a rule."""
    records = course.records
    change = constraints.repair(records)
    moved = any((change.records[name].identity() != records[name].identity()).any() for name in constraints.columns)
    own = _own_decimals(course.averaged | (set(constraints.columns) if moved else set()), records, before, plan)
    try:
        rounded = constraints.round(change.records, {**own, **plan.schema.decimals})
    except Refused:
        if not own:
            raise
        rounded = constraints.round(change.records, plan.schema.decimals)
    rounded = constraints.on_bounds(rounded)
    facts = {**change.facts, **_moments_moved(records, rounded)}
    return replace(course.with_account("constraints and rounding", facts), records=rounded)


def concluded(course: Course, before: Records, plan: Plan, constraints: Constraints, entropy: int) -> Course:
    """Constraints restored and rounded, identifiers out, units renumbered, order shuffled."""
    if len(course.records) < len(before):  # how a record was written that is not released must not show in the others
        left = np.isin(before.rows, course.records.rows)
        before = before.take(left) if left.any() else before  # none is left where all records are made up
    if plan.constraints:
        course = _obeying(course, before, plan, constraints)
        records = course.records
    else:
        own = {**_own_decimals(course.averaged, course.records, before, plan), **_planned(course.records, plan)}
        records = course.records.with_variables(*(to_decimals(course.records[name], own[name]) for name in own))
    records = records.without(plan.taken_out)
    for name in records.names(*UNITS):
        records = records.with_variables(_renumbered(records[name], entropy))
    if makes_records(plan):  # in random order already, which no place of a table's record may touch
        return replace(course, records=records)
    order = released_order(records.rows, entropy if plan.output.shuffle else None)
    return replace(course, records=records.take(order))


def _covariance(x: Floats) -> Floats:
    centred = x - x.mean(axis=0)
    return np.asarray(linear.cross_product(centred, centred) / (len(x) - 1))


def _moments_moved(before: Records, after: Records) -> Facts:
    """Changes of means and covariances by moving records to keep the constraints."""
    names = [v.name for v in before.variables if v.continuous and not v.missing.any()]
    if len(before) < 2 or not names:
        return {}
    x, y = before.raw(names), after.raw(names)
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    x, y = (x - x.mean(axis=0)) / spread, (y - x.mean(axis=0)) / spread
    means = float(np.abs(y.mean(axis=0) - x.mean(axis=0)).max())
    covariances = float(np.abs(_covariance(y) - _covariance(x)).max())
    return {
        "largest change of a mean, in standard deviations": Figure(value=means),
        "largest change of a covariance, in products of standard deviations": Figure(value=covariances),
        "exact means survive": OfOriginal(means <= EXACT),
        "exact covariances survive": OfOriginal(covariances <= EXACT),
    }


def _renumbered(variable: Variable, entropy: int) -> Variable:
    """Numbers of units say what belongs together and nothing else: random numbers from 1 to the units released."""
    present = np.unique(variable.values[variable.values >= 0])
    places = np.full(len(variable.categories) + 1, -1, dtype=np.int32)  # a missing unit, of code -1, stays missing
    places[present] = unit_numbers(len(present), entropy, variable.role) - 1
    return replace(variable, values=places[variable.values], categories=tuple(range(1, len(present) + 1)))
