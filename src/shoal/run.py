"""Carry a plan out: from a table to a finished one that waits to be judged.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only that table is judged, as it would be written.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.accounting import check_accounted, noisy_columns, spent
from shoal.constraints import Constraints
from shoal.constraints.rounding import to_decimals
from shoal.data.hierarchy import Hierarchy
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.data.schema import Schema
from shoal.errors import DataError, ParameterError, Refused
from shoal.facts import Facts, Figure, OfOriginal, unbounded
from shoal.files.table import Table
from shoal.judges.base import Measure
from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.refinement import trees
from shoal.judges.table_pair import TablePair
from shoal.kernels import linear
from shoal.kernels.arrays import Floats
from shoal.methods import registered
from shoal.plan import Plan
from shoal.plan.files import with_files
from shoal.privacy.base import reading_of
from shoal.privacy.gate import Gate
from shoal.progress import Stage
from shoal.replace.decimals import decimals_of
from shoal.step_result import StepAccount, StepResult, groups_by_column, last_partition
from shoal.steps import Step

EXACT = 1e-9
"""Relative change of a moment that is put down to rounding."""

MEASURES, MEASURES_BEFORE = 1 << 20, 1 << 21
"""Keys of the measures' random numbers, on the release and on the original, beyond the number of any step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """A plan carried out: the finished table, and what is needed to judge it.

    Parameters
    ----------
    schema
        The plan's, with the order of ordinal columns whose categories became text.
    """

    plan: Plan
    schema: Schema
    entropy: int
    tell: Stage
    course: "Course"
    constraints: Constraints
    original: Microdata
    before: Records
    finished: Microdata
    released: Records

    @property
    def accounts(self) -> tuple[StepAccount, ...]:
        """What there is to tell of each stage, in order."""
        return self.course.accounts

    @cached_property
    def partition(self) -> Partition | None:
        """The last groups that were formed, of the released records."""
        return last_partition(self.course.results, self.released.rows)

    @cached_property
    def hidden(self) -> dict[str, Partition]:
        """For each column that a step changed, the groups of released records inside which it was replaced."""
        return groups_by_column(self.course.results, self.released.rows)

    @cached_property
    def trees(self) -> dict[str, Hierarchy]:
        """The hierarchies whose nodes released labels may be."""
        return trees(self.plan.schema, self.plan.folder, self.released)

    @cached_property
    def closure(self) -> Closure:
        """The finished table with everything filled in that it and the plan's rules give away."""
        return closure(self.released, self.constraints.deduced, self.trees)

    @cached_property
    def pair(self) -> TablePair:
        """Both tables, as they are judged."""
        return pair_of(self.plan, self.before, self.released, self.partition, self.closure, self.hidden)

    def verdicts(self) -> list[Verdict]:
        self.tell("proving", 0.0)
        models = judged(self.plan, self.pair)
        return models + self.constraints.as_written(self.plan.schema.decimals).check(self.released)

    def risk_before(self) -> tuple[Finding, ...]:
        """The cheap measures of risk, taken on the original as if it were released."""
        self.tell("measuring the original", 0.0)
        rng = _generator(self.entropy, MEASURES_BEFORE)
        pair = TablePair.of(self.before, self.before, missing=reading_of(self.plan.requirements))
        cheap = [measure for measure in taken_by(self.plan) if measure.method_kind == "risk" and measure.cheap]
        return tuple(with_files(measure, self.plan.folder).finding_on(pair, rng) for measure in cheap)

    def findings(self) -> tuple[Finding, ...]:
        return measured(self.plan, self.pair, self.entropy, self.tell)


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

    def with_account(
        self, step: str, facts: Facts, columns: tuple[str, ...] = (), place: int | None = None
    ) -> "Course":
        """The same with one account more."""
        account = StepAccount(step=step, columns=columns, facts=facts, place=place)
        return replace(self, accounts=(*self.accounts, account))


def carry_out(
    table: Any, plan: Plan | Mapping[str, Any] | str | Path, seed: int | None, stage: Stage | None
) -> Outcome:
    """Carry a plan out on a table; parameters as in `shoal.protect`.

    Raises
    ------
    InputError
        If the table or the plan cannot be used.
    """
    plan = Plan.of(plan)
    tell = stage or (lambda text, fraction: None)
    original = microdata(table, plan)
    plan = plan.covering(original.frame.columns)
    if not len(original):
        raise DataError("The table has no records. A release needs at least one.")
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ParameterError(f"seed must be an integer of at least 0; got {seed!r}.")
    entropy = secrets.randbits(128) if seed is None else int(seed)
    before = original.records
    if not len(before):
        raise DataError(
            "No record is left after those with missing values were dropped. "
            "Set missing: impute, category or keep for the columns that lack values."
        )
    ready = plan.ready
    constraints = Constraints.parse(plan.constraints, before)
    check_accounted(ready, constraints.columns)
    course = _admitted(before, ready, constraints)
    for number, step in enumerate(ready.steps):
        course = _after_step(course, step, ready, _generator(entropy, number), tell)
        if step.own_cells:  # lengths taken from cells without noise would not be paid for
            constraints = constraints.in_units_of(course.records)
    if loss := spent(result.facts for result in course.results):
        course = course.with_account("privacy loss", loss)
    course = _finished(course, before, ready, constraints, _generator(entropy, len(ready.steps)))
    rebuilt = original.rebuild(course.records).without_metadata()
    schema = _in_order(plan.schema, course.records, rebuilt)
    finished = Microdata.finished(rebuilt.native, schema)
    return Outcome(
        plan=plan,
        schema=schema,
        entropy=entropy,
        tell=tell,
        course=course,
        constraints=constraints,
        original=original,
        before=before,
        finished=finished,
        released=replace(finished.encoded, rows=course.records.rows),
    )


def microdata(table: Any, plan: Plan) -> Microdata:
    """A table as the plan describes it; with what its codes mean, where it was read from a file that says so."""
    if isinstance(table, Microdata):
        return table
    if isinstance(table, Table):
        return Microdata.of(table.frame, plan.schema, plan.folder, table.value_labels)
    return Microdata.of(table, plan.schema, plan.folder)


def _in_order(schema: Schema, records: Records, rebuilt: Microdata) -> Schema:
    """The schema with the order of ordinal columns whose released categories are text that the plan does not order."""
    orders: dict[str, tuple[str, ...]] = {}
    for name in schema.columns.keys() & set(records.names()):
        if schema.columns[name].level == "ordinal" and rebuilt.frame[name].dtype == nw.String:
            present = set(rebuilt.frame[name].unique().to_list())  # of others a release knows nothing
            if present - {None} <= set(map(str, schema.columns[name].order or ())):
                continue
            texts = dict.fromkeys(map(str, records[name].categories))
            orders[name] = tuple(text for text in texts if text in present)
    ordered = {name: schema.columns[name].model_copy(update={"order": order}) for name, order in orders.items()}
    return Schema({**schema.columns, **ordered})


def _generator(entropy: int, *key: int) -> np.random.Generator:
    """The random numbers of one stage."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def _admitted(records: Records, plan: Plan, constraints: Constraints) -> Course:
    """The input against the constraints, treated as the plan says."""
    change = constraints.admit(records, plan.broken_rules)
    course = Course(records=change.records)
    if not plan.constraints or plan.broken_rules == "refuse":
        return course
    return course.with_account("input constraints", change.facts)  # whether or not a rule was broken, which is private


def _after_step(course: Course, step: Step, plan: Plan, rng: np.random.Generator, tell: Stage) -> Course:
    """One step carried out."""
    tell(step.name, 0.0)
    columns = step.columns or plan.schema.names(*step.default_roles)
    result = step.carry_out(course.records, columns, rng, lambda fraction: tell(step.name, fraction))
    tell(step.name, 1.0)
    if not len(result.records):
        raise Refused(
            f"Nothing was released. The step {step.name} left no record. Let it ask for less, or leave it out."
        )
    imputed = any(column.missing_policy == "impute" for column in plan.schema.columns.values())
    facts = unbounded(result.facts) if imputed or course.accounts else result.facts
    course = replace(course, records=result.records, results=(*course.results, result))
    return course.with_account(step.name, facts, columns, len(course.results) - 1)


def _averaged(course: Course) -> set[str]:
    """Columns whose cells are averages since they were last changed."""
    averaged: set[str] = set()
    for result in course.results:
        averaged = (averaged - set(result.changed)) | set(result.averaged)
    return averaged


def _own_decimals(finer: set[str], records: Records, before: Records, plan: Plan) -> dict[str, int]:
    """The decimals that columns came in with, of those that got more of them by averages or by repair.

    Only where the plan gives none, and of columns that had decimals: a mean of whole numbers is no whole number. The
    decimals of cells that got private noise would tell of these.
    """
    numbers = [v for v in records.variables if v.continuous and v.name in finer and v.name in before]
    own = {v.name: decimals_of(before[v.name].values) for v in numbers if before[v.name].continuous and v.unit is None}
    given = plan.schema.decimals.keys() | noisy_columns(plan)
    return {name: places for name, places in own.items() if places and name not in given}


def _obeying(course: Course, before: Records, plan: Plan, constraints: Constraints) -> Course:
    """The rules restored, and numbers rounded: to the decimals that they came in with unless that breaks a rule."""
    records = course.records
    change = constraints.repair(records)
    moved = any((change.records[name].identity() != records[name].identity()).any() for name in constraints.columns)
    own = _own_decimals(_averaged(course) | (set(constraints.columns) if moved else set()), records, before, plan)
    try:
        rounded = constraints.round(change.records, {**own, **plan.schema.decimals})
    except Refused:
        if not own:
            raise
        rounded = constraints.round(change.records, plan.schema.decimals)
    rounded = constraints.on_bounds(rounded)
    facts = {**change.facts, **_moments_moved(records, rounded)}
    return replace(course.with_account("constraints and rounding", facts), records=rounded)


def _finished(
    course: Course, before: Records, plan: Plan, constraints: Constraints, rng: np.random.Generator
) -> Course:
    """Constraints restored and rounded, identifiers out, households renumbered, order shuffled."""
    if len(course.records) < len(before):  # how a record was written that is not released must not show in the others
        before = before.take(np.isin(before.rows, course.records.rows))
    if plan.constraints:
        course = _obeying(course, before, plan, constraints)
        records = course.records
    else:
        own = _own_decimals(_averaged(course), course.records, before, plan)
        records = course.records.with_variables(*(to_decimals(course.records[name], own[name]) for name in own))
    records = records.without(set(plan.schema.names("identifier")) - plan.pseudonyms)
    for name in records.names("household"):
        records = records.with_variables(_renumbered(records[name], rng))
    return replace(course, records=records.take(rng.permutation(len(records))) if plan.output.shuffle else records)


def pair_of(
    plan: Plan,
    before: Records | None,
    released: Records,
    partition: Partition | None,
    filled: Closure,
    hidden: Mapping[str, Partition] | None,
) -> TablePair:
    """Both tables, as a plan has them judged.

    Parameters
    ----------
    partition
        The groups of the last partition step.
    hidden
        As from `groups_by_column`; None where it is not known what was done.
    """
    made_anew = tuple(
        name
        for step in plan.steps
        if step.as_a_whole
        for name in step.columns or plan.schema.names(*step.default_roles)
    )
    return TablePair.of(
        before,
        released,
        partition,
        filled,
        hidden,
        missing=reading_of(plan.requirements),
        made_anew=tuple(dict.fromkeys(made_anew)),
        traced=hidden is not None,
    )


def judged(plan: Plan, pair: TablePair) -> list[Verdict]:
    """What becomes of the plan's requirements on a release and its closure."""
    return [model.verdict_on(pair) for model in plan.ready.requirements]


def _covariance(x: Floats) -> Floats:
    centred = x - x.mean(axis=0)
    return np.asarray(linear.cross_product(centred, centred) / (len(x) - 1))


def _moments_moved(before: Records, after: Records) -> Facts:
    """What became of promises about means and covariances when records were moved to keep the constraints."""
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


def _renumbered(variable: Any, rng: np.random.Generator) -> Any:
    """Household numbers say who lives together and nothing else: random numbers from 1."""
    order = rng.permutation(len(variable.categories))
    numbers = tuple(range(1, len(order) + 1))
    codes = np.where(variable.missing, -1, order[variable.values])  # a missing household stays missing
    return replace(variable, values=codes.astype(np.int32), categories=numbers)


def measured(plan: Plan, pair: TablePair, entropy: int, tell: Stage) -> tuple[Finding, ...]:
    """What the measures say of a release, each with random numbers of its own."""
    measures = taken_by(plan)
    findings = []
    for number, measure in enumerate(measures):
        tell(f"measuring {measure.method_name}", number / len(measures))
        ready = with_files(measure, plan.folder)
        findings.append(ready.finding_on(pair, _generator(entropy, MEASURES, number)))
    tell("judging", 1.0)
    return tuple(findings)


def taken_by(plan: Plan) -> list[Measure]:
    """All cheap measures and those that the plan names, in its requirements too; in the order of their findings."""
    cheap = [e.cls() for kind in ("risk", "utility") for e in registered(kind) if e.cls.cheap]
    named = list(plan.measures)
    for gate in plan.requirements:
        if isinstance(gate, Gate) and not any(gate.measure.same_as(measure) for measure in named):
            named.append(gate.measure)
    names = {measure.method_name for measure in named}
    return [measure for measure in cheap if measure.method_name not in names] + named
