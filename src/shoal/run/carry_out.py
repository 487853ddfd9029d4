"""Carry a plan out: from a table to a finished one that waits to be judged.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only that table is judged, as it would be written.
"""

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from shoal.constraints import Constraints
from shoal.judges.base import Measure
from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.refinement import trees, with_trees
from shoal.judges.table_pair import TablePair
from shoal.judges.units import KnownLess, RepeatedIdentifier, repeated, telling_column
from shoal.kernels.arrays import Longs
from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.plan.admission import admit
from shoal.plan.files import with_files
from shoal.plan.steps import PartitionStep, Step
from shoal.privacy.base import ClassModel, PrivacyModel
from shoal.privacy.gate import Gate
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.of_units import UnitModel
from shoal.run.course import Course, HoldBack, concluded
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
from shoal.run.privacy_spent import check_accounted, private_steps, spent
from shoal.table.files.table import Table
from shoal.table.hierarchy import Hierarchy
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.microdata import Microdata
from shoal.table.missing_values import check_some, check_some_left
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.schema import UNITS, Schema, in_order_of
from shoal.table.step_result import StepAccount, StepResult, StepTrace, groups_by_column, last_partition
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.progress import OnProgress
from shoal.vocabulary.registry import registered

InBlocks = Callable[[int, PartitionStep, Records], StepResult]
"""Carries a step, by its number, out on records in blocks."""

MEASURES, MEASURES_BEFORE = 1 << 20, 1 << 21
"""Keys of the measures' random numbers, on the release and on the original, beyond the number of any step."""


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
        return closure(self.released, self.constraints.deduced, self.trees, laws)

    @cached_property
    def pair(self) -> TablePair:
        """Both tables, as they are judged."""
        return pair_of(self.plan, self.before, self.released, self.partition, self.closure, self.hidden)

    @property
    def units(self) -> dict[str, Longs]:
        """For each unit that a requirement counts and no column shows, whose each released record is, by number."""
        counted = [name for model in self.plan.requirements if isinstance(model, ClassModel) for name in model.units]
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
        return models + self.constraints.as_written().check(self.released)

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
    check_accounted(ready, constraints.columns)
    course = _admitted(before, ready, constraints)
    course = course if hold_back is None else hold_back.before_steps(original, course)
    in_blocks = None if run is None else partial(formed_in_blocks, run(ready, entropy), original)
    course, constraints = _after_steps(course, constraints, ready, entropy, tell, in_blocks)
    course = course if hold_back is None else hold_back.after_steps(original, course)
    if loss := spent(result.facts for result in course.results):
        course = course.with_account("privacy loss", loss)
    course = concluded(course, before, ready, constraints, entropy)
    typed = isinstance(table, Table) and table.types_from_cells
    rebuilt = original.rebuild(course.records).without_metadata()
    rebuilt = rebuilt.with_whole_numbers(fractional) if typed else rebuilt
    schema = _in_order(plan.schema, course.records, rebuilt)
    finished = Microdata.finished(rebuilt.native, schema)
    released = replace(finished.encoded, rows=course.records.rows)
    loaded = trees(plan.schema, plan.folder, released)
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
        released=with_trees(released, loaded),
        trees=loaded,
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


def _admitted(records: Records, plan: Plan, constraints: Constraints) -> Course:
    """The input against the constraints, treated as the plan says."""
    change = constraints.admit(records, plan.broken_rules)
    course = Course(records=change.records)
    if not plan.constraints or plan.broken_rules == "refuse":
        return course
    return course.with_account("input constraints", change.facts)  # whether or not a rule was broken, which is private


def _after_steps(
    course: Course, constraints: Constraints, plan: Plan, entropy: int, tell: OnProgress, in_blocks: InBlocks | None
) -> tuple[Course, Constraints]:
    """All steps carried out, each with random numbers of its own; and the constraints as they are met from then on."""
    for number, step in enumerate(plan.steps):
        course = _after_step(course, step, plan, keyed_generator(entropy, number), tell, in_blocks)
        if step.own_cells:  # lengths taken from cells without noise would not be paid for
            constraints = constraints.in_units_of(course.records)
    return course, constraints


def _after_step(
    course: Course, step: Step, plan: Plan, rng: np.random.Generator, tell: OnProgress, in_blocks: InBlocks | None
) -> Course:
    """One step carried out, its groups formed in blocks where they may be."""
    number = len(course.results)
    if in_blocks is not None and isinstance(step, PartitionStep) and not needed_at_once(step, plan):
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


def pair_of(
    plan: Plan,
    before: Records | None,
    released: Records,
    partition: Partition | None,
    filled: Closure,
    hidden: Mapping[str, Partition] | None,
    units: Mapping[str, Longs] | None = None,
    *,
    traced: bool = False,
) -> TablePair:
    """Both tables, as a plan has them judged.

    Parameters
    ----------
    partition
        The groups of the last partition step.
    hidden
        As from `groups_by_column`; None where it is not known what was done.
    units, traced
        As in `TablePair`; it is traced where it is known what was done, too.
    """
    repaired = StepTrace(columns=tuple(plan.schema.columns), reads=None)  # a rule may move any cell by any other
    admitted = (repaired,) if plan.constraints and plan.broken_rules == "repair" else ()
    return TablePair.of(
        before,
        released,
        partition,
        filled,
        hidden,
        missing=plan.reading,
        made_anew=plan.made_anew,
        traces=(*admitted, *(step.trace(plan.schema) for step in plan.steps)),
        units=units,
        traced=traced or hidden is not None,
    )


def laws_known(plan: Plan, before: Records | None, released: Records) -> Laws:
    """The laws of the original by which a release is judged.

    None where differential privacy is spent, which would have to pay for a refusal that they lead to.
    """
    return NO_LAWS if before is None or private_steps(plan) else Laws.for_release(before, released)


def judged(plan: Plan, pair: TablePair) -> list[Verdict]:
    """Verdicts on the plan's requirements, for a release and its closure."""
    names = tuple(r.identifier for r in repeated_in(plan, pair) if isinstance(r, RepeatedIdentifier))
    return [of_records(model, model.verdict_on(pair), names) for model in plan.ready.requirements]


def of_records(model: PrivacyModel, verdict: Verdict, repeated: tuple[str, ...]) -> Verdict:
    """A model's verdict, which says that it counts records where identifiers repeat."""
    return replace(verdict, of_records=repeated) if model.counts_records else verdict


def repeated_in(plan: Plan, pair: TablePair) -> tuple[RepeatedIdentifier | KnownLess, ...]:
    """The plan's identifiers that repeat, with what the classes of a release hold of their values."""
    return pair.once("repeated", lambda: tuple(_of_units(plan, pair)))


def _of_units(plan: Plan, pair: TablePair) -> Iterator[RepeatedIdentifier | KnownLess]:
    yield from repeated(pair, plan.schema.names("identifier"), k_asked(plan))
    yield from repeated(pair, plan.schema.names("person"), k_asked(plan), persons=True)
    of_persons = [m for m in plan.requirements if isinstance(m, UnitModel) and m.unit == "person"]
    less = [m for m in of_persons if m.knowing not in (None, "all records")]
    if less and (column := telling_column(pair, "person")) is not None:
        asked = tuple(f"{model.method_name}{model.of_units(model.knowing_of(pair))}" for model in less)
        yield KnownLess(identifier=column, asked=asked, own=column == pair.column_of("person"))
    for model in plan.requirements:
        if isinstance(model, UnitModel) and not model.knows_profiles:
            asked = (f"{model.method_name} of {model.units_in_words}",)
            for name in model.identifiers:
                if pair.column_of(name) is not None:
                    yield KnownLess(identifier=name, asked=asked, own=True, unit=name)
    yield from households_known(plan)


def households_known(plan: Plan) -> Iterator[KnownLess]:
    """The requirements that look at less than all records of a household, though its number is released."""
    models = [m for m in plan.requirements if isinstance(m, UnitModel) and not m.knows_households]
    if models and not set(plan.schema.names("quasi-identifier")) <= set(plan.made_anew):
        for name in set(plan.schema.names("household")) - plan.taken_out:
            asked = tuple(f"{model.method_name} of {model.units_in_words}" for model in models)
            yield KnownLess(identifier=name, asked=asked, own=True, unit="household")


def k_asked(plan: Plan) -> int:
    """The largest k that a requirement asks of classes; 2 where none does."""
    return max((model.k for model in plan.requirements if isinstance(model, KAnonymity)), default=2)


def measured(plan: Plan, pair: TablePair, entropy: int, tell: OnProgress) -> tuple[Finding, ...]:
    """Findings of the measures on a release, each with random numbers of its own."""
    measures = taken_by(plan)
    findings = []
    for number, measure in enumerate(measures):
        tell(f"measuring {measure.method_name}", number / len(measures))
        ready = with_files(measure, plan.folder)
        findings.append(ready.finding_on(pair, keyed_generator(entropy, MEASURES, number)))
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
