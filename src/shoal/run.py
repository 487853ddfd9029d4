"""Carry a plan out: from a table to a finished one that waits to be judged.

The order of events is always the same. The table becomes records; the steps change them one after another,
each with random numbers of its own; edit constraints are restored and values rounded; identifiers are taken
out; the records become a table again. Only that table is judged, as it would be written.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoal.constraints import Constraints
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import DataError, ParameterError, PlanError, Refused
from shoal.facts import Facts, Figure, losses
from shoal.judges.base import Measure
from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.methods import registered
from shoal.plan import Plan
from shoal.step_result import StepAccount, StepResult, groups_by_column, last_partition
from shoal.steps import Step

EXACT = 1e-9
"""Relative change of a moment that is put down to rounding."""

MEASURES, MEASURES_BEFORE = 1 << 20, 1 << 21
"""Keys of the measures' random numbers, on the release and on the original, beyond the number of any step."""

Stage = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """A plan carried out: the finished table, and what is needed to judge it."""

    plan: Plan
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
    def closure(self) -> Closure:
        """The finished table with everything filled in that it and the plan's rules give away."""
        return closure(self.released, self.constraints.deduced)

    def verdicts(self) -> list[Verdict]:
        self.tell("proving", 0.0)
        models = judged(self.plan, self.before, self.closure, self.released, self.partition, self.hidden)
        return models + self.constraints.as_written(self.plan.schema.decimals).check(self.released)

    def risk_before(self) -> tuple[Finding, ...]:
        """The cheap measures of risk, taken on the original as if it were released."""
        self.tell("measuring the original", 0.0)
        rng = _generator(self.entropy, MEASURES_BEFORE)
        return tuple(
            m.finding_on(TablePair.of(self.before, self.before), rng)
            for m in taken_by(self.plan)
            if m.method_kind == "risk" and m.cheap
        )

    def findings(self) -> tuple[Finding, ...]:
        pair = TablePair.of(self.before, self.released, self.partition, self.closure)
        return measured(self.plan, pair, self.entropy, self.tell)


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

    def with_account(self, step: str, facts: Facts, columns: tuple[str, ...] = ()) -> "Course":
        """The same with one account more."""
        return replace(self, accounts=(*self.accounts, StepAccount(step=step, columns=columns, facts=facts)))

    @property
    def changed(self) -> set[str]:
        """Columns that a step changed so far."""
        return {name for result in self.results for name in result.changed}


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
    original = table if isinstance(table, Microdata) else Microdata.of(table, plan.schema, plan.folder)
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
    course = _admitted(before, ready, constraints)
    for number, step in enumerate(ready.steps):
        course = _after_step(course, step, ready, _generator(entropy, number), tell)
    course = _finished(_with_loss(course), ready, constraints, _generator(entropy, len(ready.steps)))
    finished = Microdata.finished(original.rebuild(course.records).without_metadata().native, plan.schema)
    return Outcome(
        plan=plan,
        entropy=entropy,
        tell=tell,
        course=course,
        constraints=constraints,
        original=original,
        before=before,
        finished=finished,
        released=replace(finished.encoded, rows=course.records.rows),
    )


def _generator(entropy: int, *key: int) -> np.random.Generator:
    """The random numbers of one stage."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


def _admitted(records: Records, plan: Plan, constraints: Constraints) -> Course:
    """The input against the constraints, treated as the plan says."""
    change = constraints.admit(records, plan.broken_rules)
    course = Course(records=change.records)
    return course.with_account("input constraints", change.facts) if change.facts else course


def _after_step(course: Course, step: Step, plan: Plan, rng: np.random.Generator, tell: Stage) -> Course:
    """One step carried out."""
    tell(step.name, 0.0)
    columns = step.columns or plan.schema.names(*step.default_roles)
    if step.own_cells:
        _refuse_shared_cells(step.name, columns, plan, course.changed)
    result = step.carry_out(course.records, columns, rng, lambda fraction: tell(step.name, fraction))
    tell(step.name, 1.0)
    if not len(result.records):
        raise Refused(
            f"Nothing was released. The step {step.name} left no record. Let it ask for less, or leave it out."
        )
    course = replace(course, records=result.records, results=(*course.results, result))
    return course.with_account(step.name, result.facts, columns)


def _refuse_shared_cells(step: str, columns: tuple[str, ...], plan: Plan, changed: set[str]) -> None:
    """Refuse columns whose cells another record's cells may have gone into: noise on many is averaged away."""
    for name in columns:
        if plan.schema.columns[name].missing_policy == "impute":
            raise PlanError(
                f"{step}: missing cells of '{name}' are imputed from other records, whose privacy loss nobody "
                f"accounts for. Set missing: drop or refuse for the column."
            )
        if name in changed:
            raise PlanError(
                f"{step}: an earlier step changed '{name}', so its cells may hold what other records gave, "
                f"and the loss of privacy would exceed epsilon. Let this step come first on the column."
            )


def _with_loss(course: Course) -> Course:
    """Differential privacy composes: the losses of the steps add up."""
    spent = [loss.epsilon for result in course.results for loss in losses(result.facts)]
    if not spent:
        return course
    return course.with_account("privacy loss", {"epsilon of all steps": Figure(value=sum(spent), influence=0)})


def _finished(course: Course, plan: Plan, constraints: Constraints, rng: np.random.Generator) -> Course:
    """Constraints restored and rounded, identifiers out, households renumbered, order shuffled."""
    records = course.records
    if plan.constraints:
        change = constraints.repair(records)
        rounded = constraints.on_bounds(constraints.round(change.records, plan.schema.decimals))
        moved = _moments_moved(records, rounded)
        course, records = course.with_account("constraints and rounding", {**change.facts, **moved}), rounded
    records = records.without(set(plan.schema.names("identifier")) - plan.pseudonyms)
    for name in records.names("household"):
        records = records.with_variables(_renumbered(records[name], rng))
    return replace(course, records=records.take(rng.permutation(len(records))) if plan.output.shuffle else records)


def judged(
    plan: Plan,
    before: Records | None,
    filled: Closure,
    released: Records,
    partition: Partition | None,
    hidden: Mapping[str, Partition] | None,
) -> list[Verdict]:
    """What becomes of the plan's requirements on a release and its closure.

    Parameters
    ----------
    partition
        The groups of the last partition step.
    hidden
        As from `groups_by_column`; None where it is not known what was done.
    """
    return [model.verdict_on(TablePair.of(before, released, partition, filled, hidden)) for model in plan.requirements]


def _moments_moved(before: Records, after: Records) -> dict[str, Any]:
    """What became of promises about means and covariances when records were moved to keep the constraints."""
    names = [v.name for v in before.variables if v.continuous and not v.missing.any()]
    if len(before) < 2 or not names:
        return {}
    x, y = before.raw(names), after.raw(names)
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    x, y = (x - x.mean(axis=0)) / spread, (y - x.mean(axis=0)) / spread
    means = float(np.abs(y.mean(axis=0) - x.mean(axis=0)).max())
    covariances = float(np.abs(np.cov(y, rowvar=False) - np.cov(x, rowvar=False)).max())
    return {
        "largest change of a mean, in standard deviations": means,
        "largest change of a covariance, in products of standard deviations": covariances,
        "exact means survive": means <= EXACT,
        "exact covariances survive": covariances <= EXACT,
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
        findings.append(measure.finding_on(pair, _generator(entropy, MEASURES, number)))
    tell("judging", 1.0)
    return tuple(findings)


def taken_by(plan: Plan) -> list[Measure]:
    """All cheap measures and those that the plan names."""
    cheap = [e.cls() for kind in ("risk", "utility") for e in registered(kind) if e.cls.cheap]
    named = {m.method_name for m in plan.ready.measures}
    return [m for m in cheap if m.method_name not in named] + list(plan.ready.measures)
