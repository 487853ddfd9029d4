"""Carry a plan out: from a table to a finished one that waits to be judged.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only that table is judged, as it would be written.
"""

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.constraints import Constraints
from shoal.constraints.of_persons import PersonRules, persons_of
from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.refinement import trees, with_trees
from shoal.judges.table_pair import TablePair
from shoal.judges.units import KnownLess, RepeatedIdentifier
from shoal.kernels.arrays import Bools, Longs
from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.files import with_files
from shoal.plan.steps import PartitionStep, Step
from shoal.privacy.base import ClassModel
from shoal.run.again import OnOtherRecords
from shoal.run.course import Course, HoldBack, concluded
from shoal.run.judging import MEASURES_BEFORE, judged, laws_known, measured, pair_of, repeated_in, taken_by
from shoal.run.one_step import (
    SEQUENCE,
    blanked_as_before,
    facts_after,
    forms_groups_of_persons,
    keeps_blanks,
    result_of,
    result_within_sequences,
)
from shoal.run.parts.admission import needed_at_once
from shoal.run.parts.in_blocks import Runs, formed_in_blocks
from shoal.run.privacy_spent import bought, check_accounted, makes_records, spent
from shoal.table.files.table import Table
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata
from shoal.table.missing_values import check_some, check_some_left
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.schema import UNITS, Column, Schema, in_order_of
from shoal.table.step_result import StepAccount, StepResult, groups_by_column, last_partition
from shoal.vocabulary.errors import DataError, ParameterError, Refused
from shoal.vocabulary.progress import OnProgress

InBlocks = Callable[[int, PartitionStep, Records], StepResult]
"""Carries a step, by its number, out on records in blocks."""

Numbered = Callable[[Records], Records]
"""Gives the records of a finished table the keys that they are released with."""

SharedSteps = Mapping[int, Callable[[Records], StepResult]]
NO_STEPS: SharedSteps = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """A plan carried out: the finished table, and what is needed to judge it.

    Parameters
    ----------
    schema
        The plan's, with the order of ordinal columns whose categories became text.
    trees
        The hierarchies whose nodes released labels may be.
    """

    plan: Plan
    schema: Schema
    entropy: int
    tell: OnProgress
    course: Course
    constraints: Constraints
    person_rules: PersonRules
    original: Microdata
    before: Records
    finished: Microdata
    released: Records
    trees: Mapping[str, Hierarchy]

    @property
    def accounts(self) -> tuple[StepAccount, ...]:
        """Accounts of the stages, in order."""
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
    def closure(self) -> Closure:
        """The finished table with everything filled in that it, the plan's rules and laws of the original give away."""
        laws = laws_known(self.plan, self.before, self.released)
        return closure(self.released, self._deduced, self.trees, laws)

    def _deduced(self, records: Records) -> Records:
        """Records with missing cells filled in by the rules of the plan."""
        return self.person_rules.deduced(self.constraints.deduced(records), self.persons)

    @cached_property
    def persons(self) -> Longs | None:
        """Shape (n,); the person of each released record, whether or not a column says so; None if there are none."""
        return persons_of(self.before, self.released)

    @cached_property
    def pair(self) -> TablePair:
        """Both tables, as they are judged."""
        pair = pair_of(self.plan, self.before, self.released, self.partition, self.closure, self.hidden)
        again = OnOtherRecords(plan=self.plan, original=self.original, carry_out=_released, tell=self.tell)
        return replace(pair, bought=bought(self.plan, self.accounts), again=again)

    @property
    def units(self) -> dict[str, Longs]:
        """For each unit that a requirement counts and no column shows, whose each released record is, by number."""
        counted = [name for model in self.plan.requirements if isinstance(model, ClassModel) for name in model.units]
        counted += ["person"] * bool(self.plan.edit_rules.of_persons)
        names = [name for name in dict.fromkeys(counted) if name not in UNITS or self.pair.column_of(name) is None]
        units_of = {name: self.pair.units_by(name) for name in names}
        return {name: units for name, units in units_of.items() if units is not None}

    @cached_property
    def of_records(self) -> tuple[RepeatedIdentifier | KnownLess, ...]:
        """Identifiers that repeat, so that requirements count records and not persons."""
        return repeated_in(self.plan, self.pair)

    def verdicts(self) -> list[Verdict]:
        self.tell("proving", 0.0)
        models = judged(self.plan, self.pair)
        rules = self.constraints.as_written().check(self.released)
        return models + rules + self.person_rules.check(self.released, self.persons)

    def risk_before(self) -> tuple[Finding, ...]:
        """The cheap measures of risk, taken on the original as if it were released; figures of the table only."""
        self.tell("measuring the original", 0.0)
        rng = keyed_generator(self.entropy, MEASURES_BEFORE)
        pair = TablePair.of(self.before, self.before, missing=self.plan.reading)
        cheap = [measure for measure in taken_by(self.plan) if measure.method_kind == "risk" and measure.cheap]
        findings = (with_files(measure, self.plan.folder).finding_on(pair, rng) for measure in cheap)
        return tuple(replace(finding, record_risk=None, by_record={}) for finding in findings)

    def findings(self) -> tuple[Finding, ...]:
        return measured(self.plan, self.pair, self.entropy, self.tell)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stepped:
    """A plan whose steps were carried out, before rules are restored, cells rounded and records put in order.

    Parameters
    ----------
    ready
        The plan with its files read.
    typed
        True if the table's types were inferred from its cells.
    """

    plan: Plan
    ready: Plan
    entropy: int
    tell: OnProgress
    original: Microdata
    before: Records
    constraints: Constraints
    person_rules: PersonRules
    course: Course
    typed: bool

    def kept(self, rows: Longs) -> "Stepped":
        """The same without the records of all other rows."""
        return replace(self, course=_some(self.course, np.isin(self.course.records.rows, rows)))

    def concluded(self) -> Course:
        """The records as they are released, but for the keys of linked tables."""
        course = self.course
        if loss := spent(result.facts for result in course.results):
            course = course.with_account("privacy loss", loss)
        course = concluded(course, self.before, self.ready, self.constraints, self.entropy)
        change = self.person_rules.repaired(course.records, persons_of(self.before, course.records))
        if change.facts:
            course = course.with_account("constraints over records", change.facts, change.masked)
        return replace(course, records=change.records)

    def outcome(
        self, fractional: Collection[str] = (), numbered: Numbered | None = None, course: Course | None = None
    ) -> Outcome:
        """The finished table; parameters as for `carry_out`.

        `course`: the concluded records, where they are at hand.
        """
        plan, course = self.plan, self.concluded() if course is None else course
        if numbered is not None:
            course = replace(course, records=numbered(course.records))
        if not course.records.variables:
            raise DataError("No column is released, for all are identifiers. Give one another role.")
        rebuilt = self.original.rebuild(course.records, blind=makes_records(plan)).without_metadata()
        rebuilt = rebuilt.with_whole_numbers(fractional) if self.typed else rebuilt
        keys = {v.name: Column(role=v.role) for v in course.records.variables if v.name not in plan.schema.columns}
        schema = Schema.model_construct(root=_in_order(plan.schema, course.records, rebuilt).columns | keys)
        numbers = (rebuilt.frame[name].cast(nw.Int64()) for name in keys)
        finished = Microdata.finished(replace(rebuilt, frame=rebuilt.frame.with_columns(*numbers)).native, schema)
        released = replace(finished.encoded, rows=course.records.rows)
        loaded = trees(plan.schema, plan.folder, released)
        return Outcome(
            plan=plan,
            schema=schema,
            entropy=self.entropy,
            tell=self.tell,
            course=course.finished(released),
            constraints=self.constraints,
            person_rules=self.person_rules,
            original=self.original,
            before=self.before,
            finished=finished,
            released=with_trees(released, loaded),
            trees=loaded,
        )


def carry_out(
    table: Any,
    plan: Plan,
    seed: int | None,
    stage: OnProgress | None,
    fractional: Collection[str] = (),
    run: Runs | None = None,
    hold_back: HoldBack | None = None,
) -> Outcome:
    """Carry a plan out on a table; parameters as in `shoal.protect`.

    Parameters
    ----------
    fractional
        Columns that stay floats though all their released cells are whole, as in another copy they are not.
    run
        Makes the run in which groups are formed in blocks; None where they are formed of the whole table.
    hold_back
        Holds back what would tell persons apart beside earlier releases; None where nothing is held back.

    Raises
    ------
    InputError
        If the table or the plan cannot be used.
    """
    return after_steps(table, plan, seed, stage, run, hold_back=hold_back).outcome(fractional)


def _released(table: Microdata, plan: Plan, seed: int) -> Records:
    return after_steps(table, plan, seed, None).outcome().released


def after_steps(
    table: Any,
    plan: Plan,
    seed: int | None,
    stage: OnProgress | None,
    run: Runs | None = None,
    shared: SharedSteps = NO_STEPS,
    hold_back: HoldBack | None = None,
    present: Bools | None = None,
) -> Stepped:
    """Carry the steps of a plan out on a table; parameters as for `carry_out`.

    `shared`: steps, by their number, that are carried out on several tables at once; `present`, shape (n,): the rows
    that take part, all by default.
    """
    tell = stage or (lambda text, fraction: None)
    original = microdata(table, plan)
    plan = plan.covering(original.frame.columns)
    admit(plan)
    check_seed(seed)
    entropy = secrets.randbits(128) if seed is None else int(seed)
    check_some(len(original))
    before = original.records
    check_some_left(len(before))
    ready = plan.ready if hold_back is None else hold_back.as_before(plan.ready)
    constraints = Constraints.parse(plan.constraints, before)
    person_rules = PersonRules.parse(plan.edit_rules.of_persons, before)
    check_accounted(ready, (*constraints.columns, *person_rules.columns))
    course = _admitted(before, ready, constraints, person_rules)
    course = course if present is None else _some(course, present[course.records.rows])
    course = course if hold_back is None else hold_back.before_steps(original, course)
    in_blocks = None if run is None else partial(formed_in_blocks, run(ready, entropy), original)
    course, constraints = _after_steps(course, constraints, ready, entropy, tell, in_blocks, shared)
    course = course if hold_back is None else hold_back.after_steps(original, course)
    return Stepped(
        plan=plan,
        ready=ready,
        entropy=entropy,
        tell=tell,
        original=original,
        before=before,
        constraints=constraints,
        person_rules=person_rules,
        course=course,
        typed=isinstance(table, Table) and table.types_from_cells,
    )


def check_seed(seed: int | None) -> None:
    """Refuse a seed that is no integer of at least 0."""
    if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ParameterError(f"seed must be an integer of at least 0; got {seed!r}.")


def microdata(table: Any, plan: Plan) -> Microdata:
    """A table as the plan describes it; with what its codes mean, where it was read from a file that says so."""
    if isinstance(table, Microdata):
        return table
    if isinstance(table, Table):
        return Microdata.of(table.frame, plan.schema, plan.folder, table.value_labels)
    return Microdata.of(table, plan.schema, plan.folder)


def _in_order(schema: Schema, records: Records, rebuilt: Microdata) -> Schema:
    texts = (name for name in rebuilt.frame.columns if rebuilt.frame[name].dtype == nw.String)
    categories = {name: records[name].categories for name in texts}
    return in_order_of(schema, categories, lambda name: set(rebuilt.frame[name].unique().to_list()))


def _some(course: Course, chosen: Bools) -> Course:
    """Some of the records. Raises Refused if none is left."""
    if not chosen.any():
        raise Refused(
            "Nothing was released. None of its records is left. Let steps ask for less, or take it out of the plan."
        )
    return replace(course, records=course.records.take(chosen))


def _admitted(records: Records, plan: Plan, constraints: Constraints, person_rules: PersonRules) -> Course:
    """The input against the constraints, treated as the plan says."""
    change = constraints.admit(records, plan.broken_rules)
    of_persons = person_rules.admit(records, plan.broken_rules)
    course = Course(records=change.records)
    if plan.broken_rules == "refuse":
        return course
    if plan.constraints:  # told whether or not a rule was broken, which is private
        course = course.with_account("input constraints", change.facts)
    return course.with_account("input constraints over records", of_persons) if of_persons else course


def _after_steps(
    course: Course,
    constraints: Constraints,
    plan: Plan,
    entropy: int,
    tell: OnProgress,
    in_blocks: InBlocks | None,
    shared: SharedSteps,
) -> tuple[Course, Constraints]:
    """All steps carried out, each with random numbers of its own; and the constraints as they are met from then on."""
    for number, step in enumerate(plan.steps):
        course = _after_step(course, step, plan, keyed_generator(entropy, number), tell, in_blocks, shared)
        if step.own_cells:  # lengths taken from cells without noise would not be paid for
            constraints = constraints.in_units_of(course.records)
    return course, constraints


def _after_step(
    course: Course,
    step: Step,
    plan: Plan,
    rng: np.random.Generator,
    tell: OnProgress,
    in_blocks: InBlocks | None,
    shared: SharedSteps,
) -> Course:
    """One step carried out, its groups formed in blocks where they may be."""
    number = len(course.results)
    if number in shared:
        result = shared[number](course.records)
    elif in_blocks is not None and isinstance(step, PartitionStep) and not needed_at_once(step, plan):
        result = in_blocks(number, step, course.records)
    elif SEQUENCE in course.records and keeps_blanks(step, course.records):
        result = blanked_as_before(step, course.records, step.changes(plan.schema))
    elif SEQUENCE in course.records and forms_groups_of_persons(step, plan):
        result = result_within_sequences(step, course.records, plan, rng, tell)
    else:
        result = result_of(step, course.records, step.changes(plan.schema), plan, rng, tell)
    facts = facts_after(plan, result.facts, course.accounts)
    after = replace(course, records=result.records, results=(*course.results, result))
    return after.with_account(step.name, facts, step.changes(plan.schema), number)
